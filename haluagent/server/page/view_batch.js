// Many responses of a table, one after the other. They are asked for by this page: it keeps what was found, and goes on after a reload.
import { Failure } from "./api.js";
import { read, told, work } from "./ask.js";
import * as store from "./batch_store.js";
import { outcomeOf, OUTCOMES, saveCsv, table, tagOf } from "./batch_table.js";
import { byId, fill, make } from "./dom.js";
import { actions, button, choice, onSubmit, view } from "./fields.js";
import { say } from "./notice.js";
import { saveTable } from "./report.js";
import { t } from "./texts.js";

const AT_ONCE = 2; // requests; the server's own limit is for all its users
const SHOWN = 100; // rows, until more are asked for
const ROLES = ["response", "question", "reference"];
const GUESSES = { response: /response|answer|output|回答/i, question: /question|prompt|input|问题/i, reference: /reference|document|context|source|资料/i };

const input = make("input", { type: "file", accept: ".csv,.tsv,.xlsx,.xlsm,.jsonl,.ndjson", hidden: true, tabIndex: -1, attributes: { "data-label": "open_table" } });
const opened = make("p", { className: "hint wide" });
const { box, form, result } = view("batch", [
  make("div", { className: "actions wide" }, button("open_table", () => input.click(), { className: "rest" }), input), opened,
  make("div", { className: "choices wide" }, ROLES.map((role) => choice(`batch-${role}`, role, []))),
  actions("check", button("delete_all", () => forget(), { className: "rest" })),
]);
let batch = null; // {about, rows}; about is {name, opened, columns, response, question, reference, going}
let only = null; // the outcome that is filtered for
let sorted = ["number", true];
let shown = SHOWN;
let left = null; // the key and values of what says how long it still takes
let scheduled = false;
let leaving = false; // the page
let openReport = () => {};

addEventListener("pagehide", () => { leaving = true; });
addEventListener("pageshow", () => { leaving = false; });

input.addEventListener("change", async () => {
  const [file] = input.files;
  input.value = ""; // the same file can be picked again
  if (!file || batch?.about.going) return;
  say(null);
  await change(() => put(file)).catch(told);
});

/** Does what changes the batch, unless one is being checked: two tabs would mix theirs. */
async function change(how) {
  if (!(await store.alone(how))) say("error_batch_busy");
}

async function put(file) {
  const { columns, rows } = await read("table", file, { name: file.name });
  const guessed = ROLES.map((role) => [role, columns.find((name) => name === role) ?? columns.find((name) => GUESSES[role].test(name)) ?? ""]);
  batch = { about: { name: file.name, opened: Date.now(), columns, ...Object.fromEntries(guessed), going: false }, rows: rows.map(({ number, values, problem }) => ({ number, values, error: problem, detection: null })) };
  only = left = null;
  shown = SHOWN;
  await store.replace(batch.about, batch.rows);
  draw();
}

onSubmit(form, async ({ signal }) => {
  if (!batch) return say("error_no_table");
  if (!byId("batch-response").value) return say("error_no_column");
  await change(() => checkAll(signal));
});

async function checkAll(signal) {
  const roles = Object.fromEntries(ROLES.map((role) => [role, byId(`batch-${role}`).value]));
  const { opened } = batch.about;
  take(await store.load()); // another tab may have changed it
  if (!batch || batch.about.opened !== opened) return say("error_other_batch");
  const { about, rows } = batch;
  Object.assign(about, roles);
  await go(true);
  try {
    const waiting = rows.filter((row) => outcomeOf(row) === "waiting").sort((a, b) => (a.failed ?? 0) - (b.failed ?? 0));
    const began = performance.now();
    let done = 0;
    const worker = async () => {
      for (let row = waiting.shift(); row; row = waiting.shift()) {
        await check(row, about, signal);
        await store.keepRow(row);
        done += 1;
        const seconds = (((performance.now() - began) / 1000) * (waiting.length + AT_ONCE - 1)) / done;
        left = seconds < 90 ? ["seconds_left", { n: Math.ceil(seconds) }] : ["minutes_left", { n: Math.ceil(seconds / 60) }];
        changed();
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, () => worker().catch((error) => {
      waiting.length = 0; // the other one ends as well
      throw error;
    })));
    const failed = ends.find(({ status }) => status === "rejected");
    if (failed) throw failed.reason;
  } finally {
    left = null;
    if (!leaving) await go(false); // else the batch goes on when the page is opened again
  }
}

async function go(going) {
  batch.about.going = going;
  await store.keepAbout(batch.about);
  draw();
}

/** Checks one row. What concerns only this row stands in it as its error; anything else is thrown. */
async function check(row, about, signal) {
  const [response, question, reference] = ROLES.map((role) => row.values[about[role]] ?? "");
  const body = { question, response, ...(reference.trim() && { reference }) };
  for (;;) {
    try {
      const { detection } = await work("/v1/detect", body, { signal });
      if (detection.stop === "error") { // the model is away: the row waits, behind those that never failed
        row.failed = (row.failed ?? 0) + 1;
        await store.keepRow(row);
        throw new Failure("model", detection.error);
      }
      row.detection = detection;
      return;
    } catch (error) {
      if (error instanceof Failure && error.type === "busy") await pause(error.after ?? 5, signal);
      else if (error instanceof Failure && ["invalid", "too_large", "deadline", "internal"].includes(error.type)) {
        row.error = error.message;
        return;
      } else throw error;
    }
  }
}

const pause = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(signal.reason);
  }, { once: true });
});

const forget = () => change(async () => {
  await store.forget();
  take(null);
});

/** Shows a batch as it was kept, and returns whether it was being checked. */
function take(kept) {
  batch = kept;
  const going = batch?.about.going ?? false;
  if (going) batch.about.going = false; // not here
  draw();
  return going;
}

/** Draw soon: many rows may be done at once. */
function changed() {
  if (scheduled) return;
  scheduled = true;
  setTimeout(() => {
    scheduled = false;
    draw();
  }, 200);
}

function draw() {
  result.hidden = !batch;
  for (const one of form.querySelectorAll(".rest")) one.disabled = batch?.about.going ?? false;
  opened.textContent = batch ? t("opened", { name: batch.about.name, n: batch.rows.length }) : "";
  if (!batch) return;
  const { about, rows } = batch;
  for (const role of ROLES) columns(byId(`batch-${role}`), about, role);
  const done = rows.filter((row) => outcomeOf(row) !== "waiting").length;
  const matching = rows.filter((row) => only === null || outcomeOf(row) === only).sort(order);
  const focused = result.contains(document.activeElement) ? document.activeElement.dataset : {};
  fill(result,
    make("h2", { className: "outcome-title", tabIndex: -1 }, t("batch_done", { done, n: rows.length }), left && about.going ? ` · ${t(...left)}` : ""),
    make("progress", { max: rows.length, value: done, attributes: { "aria-label": t("batch_done", { done, n: rows.length }) } }),
    make("div", { className: "filters", role: "group", attributes: { "aria-label": t("filter") } }, [null, ...OUTCOMES].map((name) => filter(name, rows))),
    make("div", { className: "actions" }, make("button", { type: "button", onclick: () => saveCsv(about, matching) }, t("save_csv")), make("button", { type: "button", onclick: () => saveTable(table(matching, about)).catch(told) }, t("export_html"))),
    make("div", { className: "wide-table", tabIndex: 0, role: "group", attributes: { "aria-label": t("batch_title") } }, table(matching.slice(0, shown), about, sorted, sort, open)),
    matching.length > shown ? make("button", { type: "button", onclick: more }, t("show_more", { n: matching.length - shown })) : null);
  const again = focused.sort ? `[data-sort="${focused.sort}"]` : focused.only ? `[data-only="${focused.only}"]` : null;
  if (again) result.querySelector(again)?.focus({ preventScroll: true });
}

function columns(select, about, role) {
  const names = about.columns.map((name) => make("option", { value: name }, name));
  fill(select, role === "response" ? null : make("option", { value: "" }, t("no_column")), names);
  select.value = about[role];
  select.disabled = about.going;
  select.onchange = () => { about[role] = select.value; };
}

function filter(name, rows) {
  const n = name === null ? rows.length : rows.filter((row) => outcomeOf(row) === name).length;
  const attributes = { "aria-pressed": String(only === name), "data-only": name ?? "all" };
  return make("button", { type: "button", className: "filter", hidden: name !== null && !n && only !== name, attributes, onclick: () => {
    only = only === name ? null : name;
    draw();
  } }, name === null ? t("all") : tagOf(name), ` ${n}`);
}

function order(a, b) {
  const [column, up] = sorted;
  const value = (row) => (column === "score" ? row.detection?.score ?? -1 : column === "verdict" ? OUTCOMES.indexOf(outcomeOf(row)) : row.number);
  return (value(a) - value(b)) * (up ? 1 : -1) || a.number - b.number;
}

function sort(column) {
  sorted = [column, sorted[0] === column ? !sorted[1] : column !== "score"];
  draw();
}

function more() {
  shown += SHOWN;
  draw();
}

const open = (row) => openReport({ detection: row.detection, reference: row.values[batch.about.reference] ?? "" });

/** Shows the batch of this browser, and goes on with it where the page was left and no other tab does. `show` opens a report. */
export async function prepare(show) {
  openReport = show;
  let kept;
  try {
    kept = await store.load();
  } catch {
    return; // a browser that lets nothing be kept has no batch
  }
  if (!take(kept)) return;
  await store.free();
  if (take(await store.load())) form.requestSubmit();
}

export default { name: "batch", box, draw };
