// What the views show their findings with.
import { make } from "./dom.js";
import { pieces, places } from "./spans.js";
import { reported, sign, t } from "./texts.js";

/** A verdict in one word: a sign, and the text of `key`. `state` is one of the labels of a sentence, which gives its colour. */
export function verdictTag(state, text) {
  return make("span", { className: `tag ${state}` }, make("span", { attributes: { "aria-hidden": "true" } }, sign(state)), ` ${text}`);
}

/** The title of what was found; it takes the focus, so that a screen reader goes on there. */
export function outcome(state, text) {
  return make("h2", { className: `outcome-title ${state}`, tabIndex: -1 }, make("span", { attributes: { "aria-hidden": "true" } }, sign(state)), ` ${text}`);
}

/** A text on paper, with these places in it highlighted: each `[start, end, name]` in code points. */
export function paper(title, text, spans, { id = null, className = "text small scroll" } = {}) {
  const place = places(text);
  const marks = spans.map(([start, end]) => [place(start), place(end)]);
  return make("section", { className: "paper", attributes: { id } }, make("h3", {}, title),
    make("div", { className, tabIndex: 0, role: "group", attributes: { "aria-label": title } }, pieces(text, 0, text.length, marks)));
}

/** Scrolls a paper to its highlighted place that starts there (in UTF-16 units), else the first; and with `page` the page to it. */
export function showMark(box, start = null, page = true) {
  const mark = box.querySelector(`mark[data-start="${start}"]`) ?? box.querySelector("mark");
  const scrolled = box.querySelector(".scroll");
  if (mark && scrolled) scrolled.scrollTop = mark.offsetTop - scrolled.clientHeight / 3;
  if (page) (mark ?? box).scrollIntoView({ block: "center" });
}

export const section = (title, ...content) => make("section", { className: "card" }, make("h3", {}, title), content);

/** A list of names and values; a value may be several nodes. */
export const facts = (...pairs) => make("dl", {}, pairs.map(([name, ...value]) => [make("dt", {}, name), make("dd", {}, value)]));

/** A number in [0, 1] that is good where it is low, or with `good` where it is high. */
export function share(value, label, good = false) {
  return [value.toFixed(2), make("meter", { max: 1, low: 0.34, high: 0.67, optimum: good ? 1 : 0, value, attributes: { "aria-label": label } })];
}

export function cost(usage, seconds) {
  const evaluated = usage.prompt_tokens - usage.cached_tokens;
  return reported("usage", { ...usage, seconds, s: usage.calls === 1 ? "" : "s", evaluated, cached: usage.cached_tokens, generated: usage.generated_tokens });
}

export const warning = (text) => make("p", { className: "warning" }, text);

/** A file that is saved by the browser. */
export function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export const saveAsJson = (name, data) => make("button", { type: "button", onclick: () => save(name, "application/json", `${JSON.stringify(data, null, 2)}\n`) }, t("export_json"));
