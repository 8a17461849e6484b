// The response with each sentence in its place. What stands already is kept: a redraw must not swallow a click or a selection.
import { tag } from "./card.js";
import { become, byId, make } from "./dom.js";
import { pieces, places } from "./spans.js";
import { current } from "./texts.js";

let known = new Map(); // by sentence, and by the gap before it: {node, key}; the key is all that the node shows

// What is off the screen needs no layout where it is a block of its own: a group ends with a line, or when it gets long.
const GROUP = 20;
const LONGEST_GROUP = 60;

/** Another response is shown. */
export function clear() {
  known = new Map();
  byId("answered").replaceChildren();
}

/** Draws the sentences; what lies between them is kept. `only` is the label that is filtered for, `marks` are places to highlight. */
export function draw(check, { selected, only, marks }) {
  const box = byId("answered");
  const text = check.texts.response;
  const place = places(text);
  const next = new Map();
  const groups = [[]];
  let grouped = 0; // sentences in the last group
  const matches = (unit) => only === null || unit.state === only;
  const stop = tabStop(check.sentences.filter(matches), box, selected);
  const language = current();
  let at = 0;
  const gap = (name, end) => {
    if (at === end) return;
    const [from, inside] = [at, within(marks, at, end)];
    groups.at(-1).push(keep(next, `gap ${name}`, `${at} ${end} ${inside.join()}`, () => make("span", {}, pieces(text, from, end, inside))));
    if (grouped >= LONGEST_GROUP || (grouped >= GROUP && text.slice(at, end).includes("\n"))) {
      groups.push([]);
      grouped = 0;
    }
  };
  for (const unit of check.sentences) {
    const [start, end] = unit.sentence.span.map(place);
    if (start < at) continue; // sentences do not overlap; if they did, the text would be shown twice
    const { index } = unit.sentence;
    const inside = within(marks, start, end);
    const look = { index, state: unit.state, name: unit.name, away: !matches(unit), stop: unit === stop, open: index === selected };
    gap(index, start);
    const key = `${start} ${end} ${look.state} ${look.name} ${look.away} ${look.stop} ${look.open} ${language} ${inside.join()}`;
    groups.at(-1).push(keep(next, index, key, () => sentence(look, pieces(text, start, end, inside))));
    grouped += 1;
    at = end;
  }
  gap("end", text.length);
  known = next;
  while (box.children.length > groups.length) box.lastChild.remove();
  while (box.children.length < groups.length) box.append(make("div", { className: "group" }));
  groups.forEach((nodes, i) => order(box.children[i], nodes));
}

/** The one sentence that Tab goes to. */
function tabStop(shown, box, selected) {
  const focused = box.contains(document.activeElement) ? Number(document.activeElement.dataset.index) : null;
  return shown.find((unit) => unit.sentence.index === (focused ?? selected)) ?? shown[0];
}

function within(marks, start, end) {
  if (!marks.length) return marks;
  return marks.filter(([from, to]) => from < end && to > start);
}

/** The node of that name, which shows what `key` says; it is drawn only where that is new. */
function keep(next, name, key, draw) {
  const old = known.get(name);
  if (old && old.key !== key) become(old.node, draw());
  const kept = { node: old?.node ?? draw(), key };
  next.set(name, kept);
  return kept.node;
}

function sentence({ index, state, name, away, stop, open }, content) {
  const attributes = { role: "button", tabindex: stop ? 0 : -1, "data-index": index, "aria-pressed": String(open) };
  return make("span", { className: `sentence ${state}${away ? " away" : ""}`, attributes },
    make("span", { className: "words" }, content), away ? null : ["\u00a0", tag(state, name)]);
}

/** Makes `nodes` the children of `box`; one that stands there already is not touched. */
function order(box, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...box.childNodes]) if (!wanted.has(child)) child.remove();
  let here = box.firstChild;
  for (const node of nodes) {
    if (node === here) here = here.nextSibling;
    else box.insertBefore(node, here);
  }
}
