// Lists that are kept in this browser only.

/** The items under a name. What cannot be read counts as nothing. */
export function kept(name) {
  try {
    const items = JSON.parse(localStorage.getItem(name) ?? "[]");
    return Array.isArray(items) ? items : [];
  } catch {
    return [];
  }
}

/** Replaces the items under a name. False where the browser has no room. */
export function keepAll(name, items) {
  try {
    localStorage.setItem(name, JSON.stringify(items));
    return true;
  } catch {
    return false;
  }
}

export function drop(name) {
  try {
    localStorage.removeItem(name);
  } catch {
    // A browser that lets nothing be kept has nothing to forget.
  }
}

export const newId = () => crypto.getRandomValues(new Uint32Array(2)).join("-");
