// Places in a text. The server counts characters (code points), the browser's strings count UTF-16 units.
import { make } from "./dom.js";

const KEPT = 4;
const counted = new Map(); // by text: it is asked for again and again, and to count a long one takes long

/** What turns a place in code points into one in UTF-16 units. */
export function places(text) {
  if (!counted.has(text)) {
    if (counted.size === KEPT) counted.delete(counted.keys().next().value);
    counted.set(text, count(text));
  }
  return counted.get(text);
}

function count(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (place) => Math.min(place, text.length);
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  return (place) => starts[place] ?? text.length;
}

/** `[start, end)` of `text` as text nodes, the parts inside `marks` (in UTF-16 units, any order) in <mark>. */
export function pieces(text, start, end, marks) {
  const nodes = [];
  let at = start;
  for (const [from, to] of [...marks].sort((a, b) => a[0] - b[0])) {
    const [a, b] = [Math.max(from, at), Math.min(to, end)];
    if (a >= b) continue;
    if (a > at) nodes.push(text.slice(at, a));
    nodes.push(make("mark", { attributes: { "data-start": a } }, text.slice(a, b)));
    at = b;
  }
  if (at < end) nodes.push(text.slice(at, end));
  return nodes;
}

// Tools that work on the response name themselves as the source; their spans lie in the response.
const OF_RESPONSE = ["response", "calculator", "code_interpreter", "date", "translate", "word_count"];

/** The text that an evidence's span lies in: "reference", "question", "response", or null where it is not shown here. */
export function textOf(evidence) {
  if (!evidence.span || evidence.url) return null;
  if (evidence.source === "reference" || evidence.source === "question") return evidence.source;
  return OF_RESPONSE.includes(evidence.source) ? "response" : null;
}

/** The places in one of the three texts that the evidence of an entry points to, in UTF-16 units. */
export function marksIn(name, text, entry) {
  const place = places(text);
  const found = (entry?.evidence ?? []).filter((evidence) => textOf(evidence) === name);
  return found.map(({ span: [start, end] }) => [place(start), place(end)]);
}
