// The run of an agent: its calls as they were made, what each stage of the gate found, and whether the answer may go out.
import { read, work } from "./ask.js";
import { byId, fill, make } from "./dom.js";
import { RUNS } from "./examples.js";
import { actions, area, button, choice, onSubmit, queued, view } from "./fields.js";
import { say } from "./notice.js";
import { outcome, saveAsJson, section, share, showMark, verdictTag } from "./parts.js";
import { FORMS, guess } from "./run_forms.js";
import { pieces, places } from "./spans.js";
import { claims as claimWord, current, t } from "./texts.js";

const ACTIONS = { emit: "supported", revise: "unverified", block: "contradicted" };
const BAD = ["invalid", "fabricated", "never_called", "contradicted", "ungrounded", "diverged"];
const stateOf = (status) => (["valid", "grounded"].includes(status) ? "supported" : BAD.includes(status) ? "contradicted" : "unverified");

const input = make("input", { type: "file", accept: ".json,application/json", hidden: true, tabIndex: -1, attributes: { "data-label": "open_file" } });
const field = area("runs-text", "run", { rows: 12, wide: true, hint: "run_hint" });
field.firstChild.append(button("open_file", () => input.click(), { className: "plain" }));
const { box, form, result } = view("runs", [
  field, input,
  make("div", { className: "choices wide" }, choice("runs-form", "run_form", ["guess", ...FORMS], "form")),
  actions("check", button("example", () => { byId("runs-text").value = RUNS[current()]; })),
]);
let found = null; // {run, report, failed}: the report is null while the run is checked, and where that failed

input.addEventListener("change", () => open(input.files[0]));
field.addEventListener("drop", (event) => {
  event.preventDefault();
  event.stopPropagation();
  document.body.classList.remove("dropping");
  open(event.dataTransfer.files[0]);
});

async function open(file) {
  input.value = ""; // the same file can be picked again
  if (!file) return;
  try {
    byId("runs-text").value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    say(null);
  } catch {
    say("error_file", { name: file.name });
  }
}

onSubmit(form, async ({ signal, tell }) => {
  const text = byId("runs-text").value;
  if (!text.trim()) {
    say("error_no_run");
    return byId("runs-text").focus();
  }
  const chosen = byId("runs-form").value;
  const run = await read("run", text, { source: chosen === "guess" ? guess(text) : chosen }, signal);
  found = { run, report: null, failed: false };
  draw();
  try {
    found.report = (await work("/v1/runs", run, { signal, onEvent: queued(tell) })).result;
  } finally {
    found.failed = !found.report;
    draw();
  }
  result.querySelector("h2").focus();
});

function draw() {
  result.hidden = !found;
  if (!found) return;
  const { run, report, failed } = found;
  const validations = [...(report?.tool_call_validations ?? [])];
  const turns = run.turns.map((turn) => theTurn(turn, validations)); // takes out what is said of its calls
  fill(result,
    report ? outcome(ACTIONS[report.action], t(`action_${report.action}`)) : outcome("unverified", t(failed ? "failed_title" : "running_title")),
    report && make("p", { className: "hint" }, t(`action_${report.action}_why`)),
    make("div", { className: "columns even" },
      make("div", { className: "texts" }, section(t("the_run"), make("ol", { className: "turns" }, turns)), section(t("answer"), make("p", { className: "text small" }, run.answer || t("no_answer")))),
      report && make("div", { className: "texts" }, stages(report, validations),
        section(t("report_title"), make("p", { className: "hint" }, `${run.run_id} · ${t("spec_version", { version: report.version })}`), saveAsJson("haluagent-run.json", report)))));
}

function theTurn({ role, text, calls }, validations) {
  return make("li", {}, make("b", {}, t(`role_${role}`)), text ? make("p", { className: "reason" }, text) : null, calls.map((call) => theCall(call, validations)));
}

/** A call with its result and what was found of it, which is taken out of the list. */
function theCall(call, validations) {
  const at = validations.findIndex((one) => one.tool === call.tool && one.status !== "never_called" && same(one.args, call.arguments));
  const [said] = at < 0 ? [] : validations.splice(at, 1);
  const spans = (found.report?.claims ?? []).flatMap((claim) => claim.evidence_spans).filter((one) => one.call_id === call.id).map((one) => one.span);
  const place = places(call.result ?? "");
  const marks = spans.map(([start, end]) => [place(start), place(end)]);
  return make("div", { className: "call", id: `call-${call.id}` },
    make("p", {}, make("code", {}, callText(call.tool, call.arguments)), " ", said ? verdictTag(stateOf(said.status), t(`status_${said.status}`)) : null),
    said?.errors.map((line) => make("p", { className: "warning" }, line)),
    call.result === null ? make("p", { className: "hint" }, t(call.stopped ? "call_stopped" : "no_result"))
      : make("p", { className: "observed" }, make("span", { className: "hint" }, `${t(call.stopped ? "call_stopped" : call.failed ? "failed" : "observation")} `), pieces(call.result, 0, call.result.length, marks)));
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const callText = (tool, given) => `${tool}(${typeof given === "string" ? given : Object.entries(given).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")})`;

/** What the four stages found. `others` are the validations that belong to no call of the run. */
function stages({ claims, tool_call_validations: calls, consistency_probes: probes, overall_score: score, action }, others) {
  const valid = calls.filter((one) => one.status === "valid").length;
  return [
    section(t("stage_calls", { valid, n: calls.length }), others.map(({ tool, args, status, errors }) => make("div", { className: "call" },
      make("p", {}, make("code", {}, callText(tool, args)), " ", verdictTag(stateOf(status), t(`status_${status}`))), errors.map((line) => make("p", { className: "warning" }, line))))),
    section(t("stage_claims", { n: claims.length, claims: claimWord(claims.length) }), make("ul", { className: "evidence" }, claims.map(theClaim))),
    section(t("stage_probes", { n: probes.length, claims: claimWord(probes.length) }), probes.length ? make("ul", { className: "evidence" }, probes.map(theProbe)) : make("p", { className: "hint" }, t("no_probes"))),
    section(t("stage_gate"), make("p", {}, verdictTag(ACTIONS[action], t(`action_${action}`))), make("p", {}, t("overall_score"), " ", share(score, t("overall_score"), true))),
  ];
}

function theClaim({ text, score, critical, status, evidence_spans: spans }) {
  const callIds = [...new Set(spans.map((one) => one.call_id))];
  return make("li", {}, make("p", {}, text), make("p", {}, verdictTag(stateOf(status), t(`status_${status}`)), " ", share(score, t("grounded_score"), true), critical ? make("span", { className: "hint" }, ` ${t("critical")}`) : null),
    spans.map((one) => make("q", {}, one.text)),
    callIds.map((id) => make("button", { type: "button", className: "plain", onclick: () => showMark(byId(`call-${id}`)) }, t("show_in", { text: spans.find((one) => one.call_id === id).tool }))));
}

function theProbe({ claim, original, probe_answers: answers, agreement }) {
  return make("li", {}, make("p", {}, claim), make("p", { className: "hint" }, t("probe_original", { text: original })), make("ul", {}, answers.map((text) => make("li", {}, text))), make("p", {}, t("agreement"), " ", share(agreement, t("agreement"), true)));
}

export default { name: "runs", box, draw };
