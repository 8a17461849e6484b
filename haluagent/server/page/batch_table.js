// The table of a batch: its rows with their verdicts, and the same as a file.
import { make } from "./dom.js";
import { save, verdictTag } from "./parts.js";
import { t } from "./texts.js";

const STATES = { true: "contradicted", false: "supported", null: "unverified" };
const SIGNS = { ...STATES, error: "unchecked", waiting: "waiting" };
export const OUTCOMES = ["contradicted", "unverified", "supported", "error", "waiting"];

/** What is known of a row: one of OUTCOMES. */
export const outcomeOf = (row) => (row.error ? "error" : row.detection ? STATES[row.detection.hallucination] : "waiting");

export const tagOf = (outcome) => verdictTag(SIGNS[outcome] ?? outcome, t(`batch_${outcome}`));

/** The sentences with a label, with the reasons. They begin with a bracket, so that a spreadsheet never takes one for a formula. */
export function sentencesOf(row, label) {
  const entries = (row.detection?.sentences ?? []).filter((entry) => entry.label === label);
  return entries.map(({ sentence, reason, evidence }) => {
    const why = reason || evidence.map(({ text }) => text).join("; ");
    return `[${sentence.index}] ${sentence.text}${why ? ` (${why})` : ""}`;
  });
}

const ADDED = ["hallucination", "score", "contradicted", "unverified", "error"];
const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** The table as CSV: the columns of the input, and what `haluagent batch` adds to them. */
export function asCsv({ columns }, rows) {
  const others = columns.map((name) => {
    let own = name;
    while (ADDED.includes(own) || (own !== name && columns.includes(own))) own = `input_${own}`;
    return own;
  });
  const lines = rows.map((row) => [
    ...columns.map((name) => row.values[name] ?? ""),
    row.detection?.hallucination ?? "", row.detection?.score ?? "", sentencesOf(row, "contradicted").join("\n"), sentencesOf(row, "unverified").join("\n"), row.error ?? "",
  ]);
  return `\ufeff${[[...others, ...ADDED], ...lines].map((line) => line.map((value) => cell(String(value))).join(",")).join("\r\n")}\r\n`;
}

export const saveCsv = (about, rows) => save("haluagent-batch.csv", "text/csv", asCsv(about, rows));

const HEADS = ["number", "verdict", "score"];

/** The table. `sorted` is [column, up]; `onSort(column)` and `onOpen(row)`, where given, are what its buttons do. */
export function table(rows, { response }, sorted = null, onSort = null, onOpen = null) {
  const head = (name) => make("th", { scope: "col", attributes: { "aria-sort": sorted?.[0] === name ? (sorted[1] ? "ascending" : "descending") : null } },
    onSort ? make("button", { type: "button", className: "plain", attributes: { "data-sort": name }, onclick: () => onSort(name) }, t(`batch_${name}`), sorted?.[0] === name ? (sorted[1] ? " ↑" : " ↓") : "") : t(`batch_${name}`));
  return make("table", {}, make("thead", {}, make("tr", {}, HEADS.map(head), make("th", { scope: "col" }, t("response")))),
    make("tbody", {}, rows.map((row) => make("tr", {}, make("td", {}, String(row.number)), make("td", {}, tagOf(outcomeOf(row))), make("td", {}, row.detection?.score.toFixed(2) ?? ""),
      make("td", {}, onOpen && row.detection ? make("button", { type: "button", className: "claim", onclick: () => onOpen(row) }, (row.values[response] ?? "").slice(0, 300)) : (row.values[response] ?? "").slice(0, 300),
        row.error ? make("p", { className: "hint" }, row.error) : null,
        sentencesOf(row, "contradicted").map((text) => make("p", { className: "wrong" }, text)))))));
}
