// The check on the page: summary, the texts with their sentences in place, and the panel.
import { card, overview, tag } from "./card.js";
import { byId, make } from "./dom.js";
import { marksIn, pieces, places, textOf } from "./spans.js";
import { claims, current, LABEL_NAMES, reported, sign, t } from "./texts.js";

let check = null;
let selected = null; // the index of the sentence in the panel
let drawn = ""; // what the panel shows
let marked = ""; // what is highlighted in question and reference
let only = null; // the label that is filtered for
let ending = null; // why there is no answer: the key of a title
let scheduled = false;
let took = 0; // milliseconds, for the last drawing

export function show(newCheck) {
  check = newCheck;
  selected = only = ending = null;
  drawn = marked = "";
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
  const [key, state] = verdict();
  byId("verdict").replaceChildren(make("span", { className: "sign", attributes: { "aria-hidden": "true" } }, sign(state)), ` ${t(key)}`);
  byId("verdict").className = state;
  byId("counts").textContent = counts();
  byId("stop").hidden = !check.running;
  byId("again").hidden = check.running;
  byId("progress").hidden = !check.running;
  const share = check.sentences.length ? check.judged.length / check.sentences.length : 0;
  byId("progress").firstElementChild.style.width = `${Math.round(Math.min(share, 1) * 100)}%`;
  const live = check.running ? counts() : `${t(key)}. ${counts()}`;
  if (byId("live").textContent !== live) byId("live").textContent = live;
  filters();
}

function verdict() {
  if (check.running) return ["running_title", "checking"];
  if (!check.detection) return [ending ?? "failed_title", "unchecked"];
  if (check.detection.hallucination === null) return ["unknown_title", "unverified"];
  return check.detection.hallucination ? ["found_title", "contradicted"] : ["not_found_title", "supported"];
}

function counts() {
  if (check.before !== null) return check.before ? t("queue", { n: check.before }) : t("queue_next");
  const [supported, contradicted, unverified] = ["supported", "contradicted", "unverified"].map((label) => check.count(label));
  if (!check.detection) {
    const values = { done: check.judged.length, n: check.units.size, wrong: contradicted };
    return check.units.size ? t(contradicted ? "progress_wrong" : "progress", values) : reported("starting");
  }
  const n = supported + contradicted + unverified;
  const values = { n, claims: claims(n), supported, contradicted, unverified };
  if (check.detection.hallucination) return reported("found", values) + (unverified ? reported("also_unverified", values) : "");
  if (check.detection.hallucination === false) return reported("not_found", values);
  return reported(n ? "unknown" : "nothing", values);
}

function filters() {
  const group = byId("filters");
  const focused = group.contains(document.activeElement) ? document.activeElement.dataset.show : null;
  const shown = LABEL_NAMES.filter((label) => check.count(label) || only === label);
  group.replaceChildren(filter("all", `${t("all")} ${check.units.size}`), ...shown.map((label) => filter(label, tag(label), ` ${check.count(label)}`)));
  if (focused) group.querySelector(`[data-show="${focused}"]`)?.focus();
}

function filter(label, ...content) {
  const attributes = { "aria-pressed": String((only ?? "all") === label), "data-show": label };
  const button = make("button", { type: "button", className: `filter ${label}`, attributes }, content);
  button.addEventListener("click", () => {
    only = label === "all" || only === label ? null : label;
    draw();
  });
  return button;
}

function texts() {
  const entry = check.units.get(selected)?.entry;
  response(entry);
  const now = JSON.stringify(entry ?? null);
  if (now === marked) return;
  marked = now;
  for (const [name, id, box] of [["question", "asked", "asked-box"], ["reference", "source", "source-box"]]) {
    const text = check.texts[name];
    byId(box).hidden = !text;
    byId(id).replaceChildren(...pieces(text, 0, text.length, marksIn(name, text, entry)));
  }
}

/** The response with each sentence in its place; what lies between them is kept. */
function response(entry) {
  const text = check.texts.response;
  const place = places(text);
  const marks = marksIn("response", text, entry);
  const nodes = [];
  let at = 0;
  const box = byId("answered");
  const focused = box.contains(document.activeElement) ? Number(document.activeElement.dataset.index) : null;
  const units = check.sentences;
  const shown = units.filter(matches);
  const stop = shown.find((unit) => unit.sentence.index === (focused ?? selected)) ?? shown[0];
  for (const unit of units) {
    const [start, end] = unit.sentence.span.map(place);
    if (start < at) continue; // sentences do not overlap; if they did, the text would be shown twice
    nodes.push(...pieces(text, at, start, marks), sentence(unit, pieces(text, start, end, marks), unit === stop));
    at = end;
  }
  nodes.push(...pieces(text, at, text.length, marks));
  box.replaceChildren(...nodes);
  if (focused) box.querySelector(`[data-index="${focused}"]`)?.focus({ preventScroll: true });
}

function matches(unit) {
  return only === null || unit.state === only;
}

function sentence(unit, content, stop) {
  const index = unit.sentence.index;
  const open = String(index === selected);
  const attributes = { role: "button", tabindex: stop ? 0 : -1, "data-index": index, "aria-pressed": open };
  return make("span", { className: `sentence ${unit.state}${matches(unit) ? "" : " away"}`, attributes },
    make("span", { className: "words" }, content), matches(unit) ? ["\u00a0", tag(unit.state)] : null);
}

function panel() {
  const box = byId("panel");
  const unit = check.units.get(selected);
  const now = JSON.stringify([current(), check.steps.length, check.running, unit ?? [...check.units.keys()], check.units.get(0)]);
  if (now === drawn) return; // what the reader has selected or focused stays
  drawn = now;
  box.classList.toggle("open", Boolean(unit));
  const inside = box.contains(document.activeElement);
  if (unit) {
    const button = make("button", { type: "button", className: "plain close", onclick: close }, t("close"));
    box.replaceChildren(button, card(check, unit, goTo));
  } else {
    const whole = check.units.get(0);
    box.replaceChildren(overview(check), ...(whole ? [card(check, whole, goTo)] : []), ...(check.detection ? [saving()] : []));
  }
  if (inside && unit) box.querySelector(".close").focus({ preventScroll: true });
}

const saving = () => make("div", { className: "actions" },
  ...["json", "html"].map((kind) => make("button", { type: "button", attributes: { "data-save": kind } }, t(`export_${kind}`))));

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
  for (const item of all) item.tabIndex = item === next ? 0 : -1;
  next.focus();
  if (selected !== null && selected !== Number(next.dataset.index)) select(Number(next.dataset.index));
}
