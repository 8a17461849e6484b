// What is known of one sentence, and of the response as a whole: for the panel and for the saved report.
import { link, make } from "./dom.js";
import { OUTCOMES } from "./labels.js";
import { textOf } from "./spans.js";
import { reported, sign, stopText, t, word } from "./texts.js";

export function tag(state, name = state) {
  return make("span", { className: `tag ${state}` }, make("span", { className: "sign", attributes: { "aria-hidden": "true" } }, sign(state)), ` ${word(name)}`);
}

/**
 * The card of a sentence. `show(evidence)`, where given, is called to go to an evidence's place in a text. `right`, where given, is
 * the label that the reader has given it, and `right.choose(label)` gives another.
 */
export function card(check, unit, show, right = null) {
  const { sentence, entry, doing } = unit;
  const whole = sentence.index === 0;
  const title = whole ? t("whole_title") : t("sentence", { n: sentence.index });
  const decided = entry && (entry.label === "supported" || entry.label === "contradicted");
  return make("article", { className: `card ${unit.state}`, id: `card-${sentence.index}` },
    make("div", { className: "card-head" }, make("h2", {}, title), tag(unit.state, unit.name)),
    decided ? make("p", { className: "hint" }, t("confidence", { percent: Math.round(entry.confidence * 100) })) : null,
    whole ? null : make("blockquote", {}, sentence.text),
    sentence.standalone && sentence.standalone !== sentence.text ? make("p", { className: "hint" }, reported("read_as", { text: sentence.standalone })) : null,
    entry ? reasons(entry) : null,
    entry ? found(entry, show) : null,
    section(t("steps"), way(check.stepsOf(sentence.index), doing)),
    right && section(t("label_title"), make("p", { className: "hint" }, t("label_hint")), make("div", { className: "filters" },
      OUTCOMES.map((outcome) => outcomeButton(outcome, right)))));
}

function outcomeButton(outcome, { label, choose }) {
  const attributes = { "aria-pressed": String(label === outcome), "data-right": outcome };
  return make("button", { type: "button", className: "filter", attributes, onclick: () => choose(outcome) }, word(outcome));
}

function section(title, ...content) {
  return make("section", {}, make("h3", {}, title), content);
}

/** The evidence of the label, and where the label is not that of its parts, theirs, with what they left open. */
function found(entry, show) {
  const parts = entry.label === "supported" ? [] : entry.parts ?? [];
  const items = [entry, ...parts].flatMap((part) => part.evidence.map((item) => evidence(item, part, show)));
  const open = parts.flatMap((part) => part.open.map((span) => left(entry.sentence, span)));
  return items.length ? section(t("evidence"), make("ul", { className: "evidence" }, items), open) : null;
}

function left({ text, span: [start] }, [from, to]) {
  const open = [...text].slice(from - start, to - start).join(""); // spans count code points
  return make("p", { className: "hint" }, reported("left_open", { text: open }));
}

function reasons(entry) {
  const said = entry.evidence.map((item) => item.text).join("; ");
  const reason = entry.reason || (entry.label === "unverified" ? reported("no_reason") : "");
  const lines = [];
  if (reason && reason !== said) lines.push(make("p", { className: "reason" }, reason));
  if (entry.opinion !== null && entry.opinion !== undefined) {
    lines.push(make("p", { className: "hint" }, reported(entry.label === "unverified" ? "opinion" : "closed_book", { probability: entry.opinion })));
  }
  if (entry.revised_from) {
    const { label, reason: before } = entry.revised_from;
    lines.push(make("p", { className: "revised" }, reported("revised", { label: word(label) }) + (before ? reported("because", { text: before }) : "")));
  }
  return lines.length ? section(t("reason_title"), lines) : null;
}

function evidence(item, entry, show) {
  const text = textOf(item);
  const found = [item.source];
  if (entry.tool && entry.tool !== item.source) found.push(t("via", { tool: entry.tool }));
  if (item.score !== null && item.score !== undefined) found.push(t("similarity", { score: item.score }));
  return make("li", {},
    make("q", {}, item.text),
    make("p", { className: "hint" }, found.join(" · ")),
    item.speaks_to_reader ? make("p", { className: "hint" }, reported("speaks_to_reader").trim()) : null,
    item.url ? make("p", { className: "hint address" }, link(item.url) ?? item.url) : null,
    show && text ? make("button", { type: "button", className: "plain", onclick: () => show(item) }, t("show_in", { text: t(`in_${text}`) })) : null);
}

/** The steps, and what is being done at the moment. */
export function way(steps, doing) {
  if (!steps.length && !doing) return make("p", { className: "hint" }, t("no_steps"));
  return make("ol", { className: "steps" }, steps.map(step), doing ? make("li", {}, parts(doing.thought, doing.call)) : null);
}

function step({ thought, call, result, error, rejected }) {
  return make("li", {}, parts(thought, call),
    result ? line(t("observation"), result.observation) : null,
    error ? line(t(rejected ? "refused" : "failed"), error) : null);
}

function parts(thought, call) {
  return [thought ? line(t("thought"), thought) : null, call ? line(t("action"), make("code", {}, callText(call))) : null];
}

function line(name, text) {
  return make("p", {}, make("b", {}, name), " ", text);
}

function callText({ name, arguments: given }) {
  const value = (item) => (typeof item === "string" && /^S\d+$/.test(item) ? item : JSON.stringify(item));
  return `${name}(${Object.entries(given).map(([key, item]) => `${key}=${value(item)}`).join(", ")})`;
}

/** The report as a whole: score, what was read, what it cost, and what the reader must know. */
export function overview(check) {
  const { detection } = check;
  const loose = check.stepsOf(null);
  return make("article", { className: "card overview" },
    make("div", { className: "card-head" }, make("h2", {}, t("overview"))),
    detection ? facts(detection) : make("p", { className: "hint" }, t("not_yet")),
    detection ? warnings(detection).map((text) => make("p", { className: "warning" }, text)) : null,
    loose.length ? section(t("steps"), way(loose, null)) : null);
}

function facts({ score, coverage, usage }) {
  const percent = (share) => Math.floor(share * 100); // rounded down: 99.6 % read is not all of it
  const shares = { response: percent(coverage.response), reference: percent(coverage.reference ?? 0) };
  const cost = { ...usage, s: usage.calls === 1 ? "" : "s", evaluated: usage.prompt_tokens - usage.cached_tokens, cached: usage.cached_tokens, generated: usage.generated_tokens };
  return make("dl", {},
    make("dt", {}, t("score_title")), make("dd", {}, score.toFixed(2), make("meter", { max: 1, low: 0.34, high: 0.67, optimum: 0, value: score, attributes: { "aria-label": t("score_title") } })),
    make("dt", {}, t("coverage_title")), make("dd", {}, t(coverage.reference === null ? "share_response" : "share", shares)),
    make("dt", {}, t("cost_title")), make("dd", {}, reported("usage", cost)));
}

export function warnings({ coverage, sentences, stop, error }) {
  const found = [];
  for (const text of ["response", "reference"]) {
    if (coverage[text] !== null && coverage[text] < 1) found.push(t("not_whole", { text: t(`in_${text}`) }));
  }
  const believed = (entry) => entry.opinion !== null && entry.label !== "unverified";
  if (sentences.some(believed)) found.push(reported("closed_book_note"));
  if (stop !== "answer") found.push(stopText(stop));
  if (error) found.push(reported("error", { text: error }));
  return found;
}
