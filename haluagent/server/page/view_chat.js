// A conversation: one answer after another, each with its verdicts below it. Earlier turns stay, and a sentence can be checked again.
import { told, tools, work } from "./ask.js";
import * as store from "./chat_store.js";
import { Check } from "./check.js";
import { Documents } from "./documents.js";
import { become, byId, fill, make } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { actions, area, button, onSubmit, queued, view } from "./fields.js";
import { giveLabel, labelled } from "./labels.js";
import { say } from "./notice.js";
import { saveClaims } from "./report.js";
import { newId } from "./store.js";
import { countsOf } from "./summary.js";
import { current, t } from "./texts.js";
import { turnBox } from "./turn.js";

const GAP = "\n\n"; // between documents, as the server joins them
const documents = new Documents("chat-text", "documents");
const conversation = make("ol", { className: "conversation", attributes: { "data-label": "conversation" } });
const { box, form, result } = view("chat", [
  area("chat-question", "question", { rows: 1, optional: true, wide: true, hint: "question_hint" }),
  area("chat-answer", "answer", { rows: 8, hint: "response_hint" }),
  documents.box,
  actions("check", button("example", example), button("delete_all", forget)),
]);
form.before(conversation);
let turns = store.turns().map(restored); // what is kept, and {check, ending, busy}
let names = []; // of the tools, once they were asked for
const opened = new Map(); // by turn: the sentences whose cards are open
const scheduled = new Set();

const { run, stop } = onSubmit(form, async (how) => {
  const [question, response] = ["chat-question", "chat-answer"].map((id) => byId(id).value.toWellFormed?.() ?? byId(id).value);
  if (documents.reading) return say("error_reading");
  if (!response.trim()) {
    say("error_empty");
    return byId("chat-answer").focus();
  }
  const papers = documents.found.map(({ name, text }) => ({ name, text }));
  const turn = begun({ id: newId(), when: Date.now(), question, response, papers });
  turns.push(turn);
  conversation.append(boxOf(turn));
  byId("chat-question").value = byId("chat-answer").value = "";
  byId(`turn-${turn.id}`).scrollIntoView({ block: "start" });
  await follow(turn, "/v1/detect", { question, response, ...beside(turn) }, how);
  for (const unit of turn.check.sentences) if (unit.state === "contradicted") openedOf(turn).add(unit.sentence.index);
  await known();
  redraw(turn);
  byId(`turn-${turn.id}`)?.querySelector("h2").focus({ preventScroll: true });
});

function textsOf({ question, response, papers }) {
  return { question, response, reference: papers.map(({ text }) => text).join(GAP) };
}

function begun(turn) {
  return { ...turn, check: new Check(textsOf(turn)), ending: null, busy: false };
}

const beside = ({ papers }) => (papers.length ? { reference: papers.map(({ text }) => text) } : {});

/** A turn that was kept; one without a report was left while it was checked, or failed. */
function restored({ detection, ...kept }) {
  const turn = begun(kept);
  if (detection) turn.check = Check.of(detection, textsOf(turn).reference);
  else turn.check.end();
  return turn;
}

/** Has the server work on a turn, and shows and keeps what comes of it. */
async function follow(turn, path, body, { signal, tell }) {
  const before = turn.check.detection;
  const onEvent = (event) => {
    turn.check.apply(event);
    queued(tell)(event);
    changed(turn);
  };
  turn.busy = true;
  save(turn); // a reload does not lose what was typed
  redraw(turn);
  try {
    await work(path, body, { signal, onEvent });
    const { error } = turn.check.detection;
    if (error) say("error_model", { message: error });
  } catch (error) {
    if (before) turn.check = Check.of(before, textsOf(turn).reference); // what came after it counts for nothing
    else turn.check.end();
    turn.ending = error.name === "AbortError" ? "stopped_title" : "failed_title";
    throw error;
  } finally {
    turn.busy = false;
    save(turn);
    redraw(turn);
  }
}

/** Asks about a sentence once more, with one tool or ("") any. */
const again = (turn, index, tool) => run(async (how) => {
  const { check } = turn;
  Object.assign(check.units.get(index), { state: "checking", name: "checking", entry: null });
  const body = { detection: check.detection, sentence: index, ...(tool && { tools: [tool] }), ...beside(turn) };
  await follow(turn, "/v1/recheck", body, how);
  byId(`turn-${turn.id}-${index}`)?.focus({ preventScroll: true });
});

function save(turn) {
  const { id, when, question, response, papers, check } = turn;
  if (turns.includes(turn) && !store.keepTurn({ id, when, question, response, papers, detection: check.detection })) say("error_quota");
}

async function known() {
  if (names.length) return;
  try {
    names = await tools();
  } catch (error) {
    told(error);
  }
}

function openedOf({ id }) {
  if (!opened.has(id)) opened.set(id, new Set());
  return opened.get(id);
}

async function toggle(turn, index) {
  const open = openedOf(turn);
  if (!open.delete(index)) open.add(index);
  redraw(turn);
  if (!names.length) await known().then(() => redraw(turn));
}

function label(turn, unit, chosen) {
  if (!giveLabel(turn.check, unit, chosen)) say("error_quota");
  redraw(turn);
  saving();
}

/** Puts the texts of a turn back into the form, for the same question with another answer. */
function use({ question, response, papers }) {
  byId("chat-question").value = question;
  byId("chat-answer").value = response;
  documents.set(papers.map((paper) => ({ ...paper, left_out: [] })));
  byId("chat-answer").focus();
}

function remove(turn) {
  turns = turns.filter((other) => other !== turn);
  store.forgetTurn(turn.id);
  byId(`turn-${turn.id}`).remove();
  byId("chat-answer").focus();
}

function forget() {
  stop();
  turns = [];
  store.forgetTurns();
  draw();
}

function example() {
  const { question, response, reference } = EXAMPLES[current()];
  byId("chat-question").value = question;
  byId("chat-answer").value = response;
  documents.set([]);
  documents.pasted.value = reference;
}

const boxOf = (turn) => turnBox(turn, openedOf(turn), names, {
  stop, toggle: (index) => toggle(turn, index).catch(told), again: (index, tool) => again(turn, index, tool),
  label: (unit, chosen) => label(turn, unit, chosen), use: () => use(turn), remove: () => remove(turn),
});

function redraw(turn) {
  const old = byId(`turn-${turn.id}`);
  if (old) become(old, boxOf(turn)); // what the reader has focused or selected stays
}

/** Draw soon: many events may come at once. */
function changed(turn) {
  if (scheduled.has(turn)) return;
  scheduled.add(turn);
  setTimeout(() => {
    scheduled.delete(turn);
    redraw(turn);
    if (turn.busy) form.querySelector(".status").textContent = countsOf(turn.check);
  }, 100);
}

function saving() {
  const n = labelled().length;
  result.hidden = !n;
  fill(result, n ? make("div", { className: "actions" }, make("button", { type: "button", onclick: () => saveClaims(labelled()) }, t("export_labels", { n }))) : null);
}

function draw() {
  documents.draw();
  fill(conversation, turns.map(boxOf));
  saving();
}

export default { name: "chat", box, draw };
