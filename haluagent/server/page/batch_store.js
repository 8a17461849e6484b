// The batch that is being checked, kept in this browser so that it goes on after a reload. A report is too large for localStorage.

const open = () => new Promise((resolve, reject) => {
  const request = indexedDB.open("haluagent", 1);
  request.onupgradeneeded = () => {
    request.result.createObjectStore("about");
    request.result.createObjectStore("rows", { keyPath: "number" });
  };
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function change(how) {
  const database = await open();
  try {
    const all = database.transaction(["about", "rows"], "readwrite");
    const found = how(all.objectStore("about"), all.objectStore("rows"));
    await new Promise((resolve, reject) => {
      all.oncomplete = resolve;
      all.onabort = () => reject(all.error);
    });
    return found;
  } finally {
    database.close();
  }
}

const LOCK = "haluagent-batch"; // one of all tabs has it at a time; a page that came over plain HTTP from elsewhere gets none

/** Does `work` unless something is being done under the lock, here or in another tab. Returns whether it was done. */
export async function alone(work) {
  if (!navigator.locks) {
    await work();
    return true;
  }
  return navigator.locks.request(LOCK, { ifAvailable: true }, async (lock) => {
    if (lock) await work();
    return lock !== null;
  });
}

/** Waits until nothing is done under the lock. */
export const free = async () => { await navigator.locks?.request(LOCK, () => {}); };

/** The batch of this browser, {about, rows}, or null. */
export async function load() {
  const [about, rows] = await change((first, second) => [first.get("batch"), second.getAll()]);
  return about.result ? { about: about.result, rows: rows.result } : null;
}

/** Puts another batch in its place. */
export const replace = (about, all) => change((first, rows) => {
  rows.clear();
  first.put(about, "batch");
  for (const row of all) rows.put(row);
});

export const keepAbout = (about) => change((first) => { first.put(about, "batch"); });
export const keepRow = (row) => change((_, rows) => { rows.put(row); });
export const forget = () => change((first, rows) => {
  first.clear();
  rows.clear();
});
