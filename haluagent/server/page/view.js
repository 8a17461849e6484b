// The check on the page: summary, the texts with their sentences in place, and the panel.
import { card, overview, tag } from "./card.js";
import { become, byId, make } from "./dom.js";
import { giveLabel, labelled, labelOf } from "./labels.js";
import * as sentences from "./sentences.js";
import { marksIn, pieces, places, textOf } from "./spans.js";
import { countsOf, progressOf, verdictOf } from "./summary.js";
import { current, LABEL_NAMES, sign, t } from "./texts.js";

let check = null;
let selected = null; // the index of the sentence in the panel
let drawn = ""; // what the panel shows
let carded = null; // the sentence whose card it is
let marked = ""; // what is highlighted in question and reference
let only = null; // the label that is filtered for
let ending = null; // why there is no answer: the key of a title
let scheduled = false;
let took = 0; // milliseconds, for the last drawing

export function show(newCheck) {
  check = newCheck;
  selected = only = ending = null;
  drawn = marked = "";
  sentences.clear();
  draw();
}

/** It ended without an answer; `title` is the key of a text. */
export function ended(title) {
  ending = title;
  draw();
}

/** Draw soon: many events may come at once. */
export function changed() {
  if (scheduled) return;
  scheduled = true;
  setTimeout(() => {
    scheduled = false;
    const start = performance.now();
    draw();
    byId("answered").getBoundingClientRect(); // the layout counts as well: with a long text it takes the most
    took = performance.now() - start;
  }, 16 + 3 * took); // a long text leaves time for the reader's own clicks
}

/** Once more, in another language. */
export function redraw() {
  if (check) draw();
}

function draw() {
  summary();
  texts();
  panel();
}

function summary() {
  const [key, state] = verdictOf(check, ending);
  become(byId("verdict"), make("h1", { id: "verdict", className: state, tabIndex: -1 },
    make("span", { className: "sign", attributes: { "aria-hidden": "true" } }, sign(state)), ` ${t(key)}`));
  become(byId("counts"), make("p", { id: "counts" }, countsOf(check)));
  byId("stop").hidden = !check.running;
  byId("again").hidden = check.running;
  byId("recent-button").disabled = check.running; // another check would take the place of this one
  byId("progress").hidden = !check.running;
  const { done, n } = progressOf(check);
  byId("progress").firstElementChild.style.width = `${n ? Math.round((100 * done) / n) : 0}%`;
  const live = check.running ? countsOf(check) : `${t(key)}. ${countsOf(check)}`;
  if (byId("live").textContent !== live) byId("live").textContent = live;
  filters();
}

/** They count sentences, which they choose from: the response as a whole is none. */
function filters() {
  for (const label of ["all", ...LABEL_NAMES]) {
    const count = label === "all" ? check.sentences.length : check.sentences.filter((unit) => unit.state === label).length;
    const attributes = { "aria-pressed": String((only ?? "all") === label), "data-show": label };
    const hidden = label !== "all" && !count && only !== label;
    const fresh = make("button", { type: "button", className: `filter ${label}`, hidden, attributes, onclick: () => filter(label) },
      label === "all" ? t("all") : tag(label), ` ${count}`);
    const old = byId("filters").querySelector(`[data-show="${label}"]`);
    if (old) become(old, fresh);
    else byId("filters").append(fresh);
  }
}

function filter(label) {
  only = label === "all" || only === label ? null : label;
  draw();
}

function texts() {
  const entry = check.units.get(selected)?.entry;
  sentences.draw(check, { selected, only, marks: marksIn("response", check.texts.response, entry) });
  const now = JSON.stringify(entry ?? null);
  if (now === marked) return;
  marked = now;
  for (const [name, id, box] of [["question", "asked", "asked-box"], ["reference", "source", "source-box"]]) {
    const text = check.texts[name];
    byId(box).hidden = !text;
    byId(id).replaceChildren(...pieces(text, 0, text.length, marksIn(name, text, entry)));
  }
}

function panel() {
  const box = byId("panel");
  const unit = check.units.get(selected);
  const whole = check.units.get(0);
  const steps = (unit ? [selected] : [null, 0]).map((index) => check.stepsOf(index).length);
  const kept = check.detection ? labelled().length : 0;
  const right = unit?.entry && check.detection && check.texts.reference ? { label: labelOf(check, unit), choose: (label) => choose(unit, label) } : null;
  const now = JSON.stringify([current(), check.running, steps, unit ?? whole ?? null, kept, right]);
  if (now === drawn) return;
  const content = unit
    ? [make("button", { type: "button", className: "plain close", onclick: close }, t("close")), card(check, unit, goTo, right)]
    : [overview(check), whole && card(check, whole, goTo), check.detection && saving(kept)];
  const fresh = make("aside", { id: "panel", className: unit ? "open" : "", attributes: { "aria-label": t("details"), "data-label": "details" } }, content);
  if (drawn && carded === selected) become(box, fresh); // what the reader has selected or focused stays
  else {
    box.className = fresh.className;
    box.replaceChildren(...fresh.childNodes);
  }
  [drawn, carded] = [now, selected];
}

const saving = (kept) => make("div", { className: "actions" },
  ...["json", "html", ...(kept ? ["labels"] : [])].map((kind) => make("button", { type: "button", attributes: { "data-save": kind } }, t(`export_${kind}`, { n: kept }))));

/** The reader says what the reference says of a sentence. */
function choose(unit, label) {
  if (!giveLabel(check, unit, label)) full();
  draw();
}

let full = () => {};

/** `tell()` is called where the browser has no room for a label. */
export function prepare(tell) {
  full = tell;
}

/** Opens the card of a sentence, or closes it (null). */
export function select(index) {
  const before = selected;
  selected = index;
  draw();
  if (index === null) byId("answered").querySelector(`[data-index="${before}"]`)?.focus({ preventScroll: true });
  else {
    scrollIn(byId("source"));
    if (covered()) byId("answered").querySelector(`[data-index="${index}"]`)?.scrollIntoView({ block: "start" });
  }
}

/** The same, and the card that is open already is closed. */
export function toggle(index) {
  select(index === selected ? null : index);
}

/** Whether the panel lies over the texts, as on a phone. */
const covered = () => getComputedStyle(byId("panel")).position === "fixed";

export function close() {
  if (selected !== null) select(null);
}

/** A scrolled box goes to the highlighted place that starts there, else the first, without moving the page. */
function scrollIn(box, start) {
  const mark = box.querySelector(`mark[data-start="${start}"]`) ?? box.querySelector("mark");
  if (mark) box.scrollTop = mark.offsetTop - box.clientHeight / 3;
  return mark;
}

function goTo(evidence) {
  const name = textOf(evidence);
  const box = byId({ question: "asked", response: "answered", reference: "source" }[name]);
  const mark = scrollIn(box, places(check.texts[name])(evidence.span[0]));
  mark?.scrollIntoView({ block: covered() ? "start" : "center" });
}

/** Focus to the next sentence that is not filtered out (-1: the one before; "first", "last"). */
export function move(from, step) {
  const all = [...byId("answered").querySelectorAll(".sentence:not(.away)")];
  const at = step === "first" ? 0 : step === "last" ? all.length - 1 : all.indexOf(from) + step;
  const next = all[Math.max(0, Math.min(at, all.length - 1))];
  if (!next) return;
  next.focus();
  if (selected !== null && selected !== Number(next.dataset.index)) select(Number(next.dataset.index));
  else draw(); // Tab comes back to it
}
