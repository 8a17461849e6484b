// An answer beside documents: PASS where it says nothing beyond them and nothing against them.
import { actions, area, button, choice, onSubmit, queued, view } from "./fields.js";
import { work } from "./ask.js";
import { Documents } from "./documents.js";
import { byId, fill, make } from "./dom.js";
import { say } from "./notice.js";
import { cost, facts, outcome, paper, saveAsJson, section, share, showMark, warning } from "./parts.js";
import { places } from "./spans.js";
import { current, reported, t } from "./texts.js";
import { EXAMPLES } from "./examples.js";

const GAP = "\n\n"; // the server joins documents with it
const STATES = { PASS: "supported", FAIL: "contradicted", null: "unverified" };
const documents = new Documents("check-text", "documents");
const { box, form, result } = view("check", [
  area("check-question", "question", { rows: 1, optional: true, wide: true, hint: "question_hint" }),
  area("check-answer", "answer", { rows: 8, hint: "response_hint" }),
  documents.box,
  make("div", { className: "choices wide" }, choice("check-mode", "mode", ["fast", "judge", "agent"], "mode")),
  actions("check", button("example", example)),
]);
let found = null; // {report, papers}: papers are the documents that were checked against

onSubmit(form, async ({ signal, tell }) => {
  const [question, answer] = [byId("check-question").value, byId("check-answer").value];
  const papers = documents.found;
  if (documents.reading) return say("error_reading");
  if (!answer.trim()) return missing("check-answer", "error_empty");
  if (!papers.length) return missing("check-text", "error_no_documents");
  found = null; // of another answer
  draw();
  const body = { question, answer, documents: papers.map(({ text }) => text), mode: byId("check-mode").value };
  const { result: report } = await work("/v1/check", body, { signal, onEvent: queued(tell) });
  found = { report, papers };
  draw();
  result.querySelector("h2").focus();
});

function missing(id, key) {
  say(key);
  byId(id).focus();
}

function example() {
  const { question, response, reference } = EXAMPLES[current()];
  byId("check-question").value = question;
  byId("check-answer").value = response;
  documents.set([]);
  documents.pasted.value = reference;
}

function draw() {
  documents.draw();
  result.hidden = !found;
  if (!found) return;
  const { report, papers } = found;
  const spans = spansIn(report.evidence, papers);
  const texts = papers.map(({ name, text }, i) => paper(name, text, spans.filter((one) => one?.paper === i).map(({ span }) => span), { id: `check-paper-${i}` }));
  fill(result,
    outcome(STATES[report.verdict], t(`check_${report.verdict ?? "none"}`)),
    make("div", { className: "columns" },
      make("div", { className: "texts" }, paper(t("answer"), report.answer, [], { className: "text small" }), texts),
      make("div", { className: "side" },
        section(t("overview"), report.error ? warning(report.error) : null, report.coverage < 1 ? warning(t("not_whole", { text: t("documents") })) : null,
          facts([t("fail_probability"), ...share(report.score, t("fail_probability"))], [t("mode"), t(`mode_${report.mode}`)], [t("cost_title"), cost(report.usage, report.seconds)]),
          saveAsJson("haluagent-check.json", report)),
        report.reasoning.length ? section(t("reason_title"), make("ul", { className: "reasons" }, report.reasoning.map((line) => make("li", {}, line)))) : null,
        report.evidence.length ? section(t("evidence"), make("ul", { className: "evidence" }, report.evidence.map((item, i) => evidence(item, spans[i], papers)))) : null)));
}

function evidence(item, at, papers) {
  const show = at && (() => showMark(byId(`check-paper-${at.paper}`), places(papers[at.paper].text)(at.span[0])));
  return make("li", {}, make("q", {}, item.text), item.speaks_to_reader ? make("p", { className: "hint" }, reported("speaks_to_reader").trim()) : null,
    show ? make("button", { type: "button", className: "plain", onclick: show }, t("show_in", { text: papers[at.paper].name })) : null);
}

/** Where each evidence stands: {paper, span}, or null. The server counts in the documents joined to one text. */
function spansIn(evidence, papers) {
  const lengths = papers.map(({ text }) => [...text].length);
  return evidence.map(({ span }) => {
    if (!span) return null;
    let start = 0;
    for (const [i, length] of lengths.entries()) {
      if (span[0] < start + length) return { paper: i, span: [span[0] - start, span[1] - start] };
      start += length + GAP.length;
    }
    return null;
  });
}

export default { name: "check", box, draw };
