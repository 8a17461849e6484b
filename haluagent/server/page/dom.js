// How elements are made. Text from outside comes in as a text node and stays text.

/** An element. `properties` are set on it; those of `attributes` by name; children are nodes or strings, null is left out. */
export function make(tag, properties = {}, ...children) {
  const { attributes = {}, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** A link that is safe to follow, or null: only the web, in a tab of its own that knows nothing of this one. */
export function link(address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  return make("a", { href: url.href, target: "_blank", rel: "noopener noreferrer" }, address);
}
