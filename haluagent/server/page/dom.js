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

/** Makes these the children of an element; null is left out. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

/** Makes an element look like a fresh one of the same name, and changes no more of it than has to: focus, selection and clicks stay. */
export function become(element, fresh) {
  for (const name of element.getAttributeNames()) if (!fresh.hasAttribute(name)) element.removeAttribute(name);
  for (const name of fresh.getAttributeNames()) {
    const value = fresh.getAttribute(name);
    if (element.getAttribute(name) !== value) element.setAttribute(name, value);
  }
  element.onclick = fresh.onclick;
  const children = [...fresh.childNodes];
  while (element.childNodes.length > children.length) element.lastChild.remove();
  children.forEach((child, i) => {
    const old = element.childNodes[i];
    if (!old) element.append(child);
    else if (old.nodeName !== child.nodeName) old.replaceWith(child);
    else if (child instanceof Element) become(old, child);
    else if (old.data !== child.data) old.data = child.data;
  });
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
