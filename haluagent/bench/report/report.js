"use strict";
// Text from the data only ever becomes text nodes: nothing here sets markup.
const rows = JSON.parse(document.getElementById("rows").textContent);
const PAGE = 100;
const NAMES = {right: "right", missed: "missed", alarm: "false alarm", none: "no verdict", failed: "failed",
  found: "hallucination", clear: "no hallucination"};  // the last two of a row without a gold label
const MARKS = {contradicted: "✗", supported: "✓", unverified: "?", no_claim: "·"};
const FIELDS = {set: "dataset", method: "method", language: "language"};
const controls = Object.fromEntries([...Object.keys(FIELDS), "outcome", "label", "text"]
  .map(id => [id, document.getElementById(id)]).filter(([, control]) => control));
const list = document.getElementById("list"), further = document.getElementById("further");
const byItem = new Map();  // what all methods said of an item
let found = [], shown = 0;

for (const row of rows) {
  const key = row.dataset + "\u0000" + row.id;
  if (!byItem.has(key)) byItem.set(key, []);
  byItem.get(key).push(row);
  row.others = byItem.get(key);
  row.outcome = row.error != null ? "failed" : row.verdict === null ? "none" :
    !("wrong" in row) ? (row.verdict ? "found" : "clear") :
    row.verdict === row.wrong ? "right" : row.wrong ? "missed" : "alarm";
}

function make(tag, name, ...children) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children.filter(child => child !== null && child !== undefined && child !== ""));
  return element;
}

const tag = (name, text) => make("span", "tag " + name, text);
const said = value => value === null || value === undefined ? "no verdict" : value ? "hallucination" : "no hallucination";
const report = row => row.detection || (row.others.find(other => other.detection) || {}).detection;
const COLOURS = {missed: "wrong", alarm: "wrong", found: "wrong", clear: "right"};
const colour = outcome => COLOURS[outcome] || outcome;
const score = (row, digits = 2) => row.score == null ? "no score" : `score ${row.score.toFixed(digits)}`;
const FAITHFUL = {found: "not faithful", clear: "faithful"};  // of an answer beside its documents
const named = row => row.reasons && FAITHFUL[row.outcome] || NAMES[row.outcome];
const labelTag = label => tag(label, `${MARKS[label]} ${label.replace("_", " ")}`);

function searched(row) {
  if (row.searched === undefined) {
    const seen = report(row) || {};
    const entries = (seen.sentences || []).flatMap(entry => [entry.reason, ...(entry.evidence || []).map(one => one.text)]);
    const steps = (seen.steps || []).flatMap(one => [one.thought, one.call && one.call.name, one.error]);
    const parts = [row.dataset, row.id, row.name, seen.question, seen.response, row.error, ...(row.reasons || []), ...entries, ...steps];
    row.searched = parts.join("\n").toLowerCase();
  }
  return row.searched;
}

function matches(row) {
  const outcome = controls.outcome.value, label = controls.label && controls.label.value;
  return Object.entries(FIELDS).every(([id, field]) => !controls[id] || !controls[id].value || row[field] === controls[id].value)
    && (!label || ((report(row) || {}).sentences || []).some(one => one.label === label))
    && (!outcome || row.outcome === outcome || colour(row.outcome) === outcome)
    && controls.text.value.toLowerCase().split(/\s+/).every(word => searched(row).includes(word));
}

function filter() {
  found = rows.filter(matches);
  shown = 0;
  list.replaceChildren();
  document.getElementById("count").textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown`;
  showMore();
}

function showMore() {
  list.append(...found.slice(shown, shown + PAGE).map(item));
  shown = Math.min(shown + PAGE, found.length);
  further.hidden = shown === found.length;
}

function item(row) {
  const seen = report(row);
  const summary = make("summary", "", tag(colour(row.outcome), named(row)),
    make("span", "name", row.name ?? `${row.dataset} ${row.id} · ${row.method}`),
    make("span", "preview", seen ? seen.response.slice(0, 300) : ""),
    make("span", "number", score(row)));
  const details = make("details", "item", summary);
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(body(row));
  });
  return details;
}

function body(row) {
  const seen = row.detection;
  const verdicts = "wrong" in row ? ["Gold label: ", make("b", "", said(row.wrong)), " · verdict: ", make("b", "", said(row.verdict))]
    : ["Verdict: ", make("b", "", named(row))];
  const parts = [make("p", "small", ...verdicts, ` · ${score(row, 3)}`, seen && seen.stop ? ` · stopped: ${seen.stop.replace("_", " ")}` : null)];
  if (row.error != null) parts.push(make("p", "", tag("failed", "error"), " ", row.error));
  if (seen && seen.error && seen.error !== row.error) parts.push(make("p", "", tag("failed", "error"), " ", seen.error));
  const shared = report(row);
  if (shared) {
    parts.push(heading("Question"), make("div", "text", shared.question || "(none)"), heading("Response"),
      make("div", "text", ...(seen ? coloured(seen) : [shared.response])));
  }
  if (row.claims) parts.push(heading("Gold labels by sentence"), claims(row, shared));
  if (row.reasons) parts.push(heading("Reasons"), make("ul", "entries", ...row.reasons.map(reason => make("li", "", reason))));
  if (row.evidence) parts.push(heading("Evidence"), ...row.evidence.map(evidence));
  if (seen && seen.sentences) parts.push(heading("Sentences"), make("ul", "entries", ...seen.sentences.map(entry)));
  if (seen && seen.steps) parts.push(heading("Steps"), make("ol", "steps", ...seen.steps.map(step)));
  parts.push(heading("Usage"), make("p", "small", usage(row.usage), ` · ${(row.seconds || 0).toFixed(1)} s from start to end`));
  if (row.others.length > 1) parts.push(heading("All methods on this item"), make("p", "", ...row.others.flatMap(other =>
    [tag(colour(other.outcome), `${other.method}: ${said(other.verdict)}, ${other.score.toFixed(2)}`), " "])));
  const whole = make("div", "body", ...parts);
  whole.lang = row.language;  // Chinese and Japanese share characters: the font depends on the language
  return whole;
}

const heading = text => make("h4", "", text);

// Spans count characters as Python does, so the text is cut by code points.
function coloured(seen) {
  const characters = Array.from(seen.response), parts = [];
  let place = 0;
  const entries = (seen.sentences || []).filter(one => one.sentence.index > 0);
  for (const one of entries.sort((a, b) => a.sentence.span[0] - b.sentence.span[0])) {
    const [start, end] = one.sentence.span;
    if (start < place) continue;
    const mark = make("mark", one.label, make("sup", "", `S${one.sentence.index}`), characters.slice(start, end).join(""));
    mark.title = one.label.replace("_", " ");
    parts.push(characters.slice(place, start).join(""), mark);
    place = end;
  }
  return [...parts, characters.slice(place).join("")];
}

function claims(row, shared) {
  const lines = shared ? shared.response.split("\n") : [];
  return make("ul", "entries", ...row.claims.map((claim, number) => make("li", "small",
    lines.length === row.claims.length ? lines[number] + " " : `${number + 1}. `, make("span", "soft", "gold: "),
    claim.wrong === null || claim.wrong === undefined ? "none" : claim.wrong ? "wrong" : "right", " · ", labelTag(claim.label))));
}

function entry(one) {
  const sentence = one.sentence;
  return make("li", "", labelTag(one.label), ` ${sentence.index ? "S" + sentence.index : "whole response"} `, sentence.index ? sentence.text : "",
    make("div", "small soft", one.tool ? `by ${one.tool}, ` : "", `confidence ${(one.confidence ?? 1).toFixed(2)}`,
      one.opinion != null ? `, the model’s own belief that it is true ${one.opinion.toFixed(2)}` : ""),
    sentence.standalone && sentence.standalone !== sentence.text ? make("div", "small", "read as: ", sentence.standalone) : null,
    one.reason ? make("div", "small", make("span", "soft", "reason: "), one.reason) : null,
    ...[one, ...(one.label === "supported" ? [] : one.parts || [])].flatMap((part) => part.evidence || []).map(evidence),
    one.revised_from ? make("div", "small", make("span", "soft", "before reflection: "), labelTag(one.revised_from.label), " ", one.revised_from.reason) : null);
}

function evidence(one) {
  const line = make("div", "small", make("span", "soft", `evidence (${one.source}): `), one.text);
  if (one.url && /^https?:\/\//.test(one.url)) {
    const link = make("a", "", one.url);
    link.href = one.url;
    link.rel = "noopener noreferrer";
    line.append(" ", link);
  }
  return line;
}

function step(one) {
  const call = one.call ? `${one.call.name}(${Object.entries(one.call.arguments || {}).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")})` : "";
  const result = one.result;
  return make("li", "", make("div", "small soft", [one.sentence != null ? `S${one.sentence}` : "", one.usage ? usage(one.usage) : ""].filter(Boolean).join(" · ")),
    one.thought ? make("div", "", make("span", "soft", "thought: "), one.thought) : null,
    call ? make("div", "", make("span", "soft", "action: "), make("code", "", call)) : null,
    result ? make("div", "observation small", make("span", "soft", "observation: "), result.observation) : null,
    result && result.label ? make("div", "small", labelTag(result.label), ` confidence ${(result.confidence ?? 1).toFixed(2)}`) : null,
    one.error != null ? make("div", "small", tag("failed", one.rejected ? "rejected" : "error"), " ", one.error) : null);
}

function usage(given) {
  const {calls = 0, prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0, seconds = 0} = given || {};
  return `${calls} model calls, ${prompt_tokens - cached_tokens} tokens evaluated, ${cached_tokens} cached, ${generated_tokens} generated, ${seconds.toFixed(1)} s`;
}

// The filters stand in the address, so that a view can be kept and shared: #items&set=…&outcome=wrong
function fromAddress() {
  if (!location.hash.startsWith("#items")) return false;
  const given = new URLSearchParams(location.hash.slice(1));
  for (const [name, control] of Object.entries(controls)) {
    const value = given.get(name);
    if (value !== null) control.value = value;
  }
  return given.size > 1;
}

function changed() {
  const given = new URLSearchParams(Object.entries(controls).map(([name, control]) => [name, control.value]));
  history.replaceState(null, "", "#items&" + given);
  filter();
}

for (const [id, field] of Object.entries(FIELDS)) {
  if (controls[id]) for (const name of new Set(rows.map(row => row[field]).filter(Boolean))) controls[id].append(new Option(name, name));
}
if (controls.method && rows.some(row => row.method === "haluagent")) controls.method.value = "haluagent";
for (const control of Object.values(controls)) control.addEventListener("input", changed);
document.getElementById("filters").addEventListener("submit", event => event.preventDefault());
further.addEventListener("click", showMore);
addEventListener("hashchange", () => {
  if (fromAddress()) {
    filter();
    document.getElementById("items").scrollIntoView();
  }
});
const given = fromAddress();
filter();
if (given) document.getElementById("items").scrollIntoView();
