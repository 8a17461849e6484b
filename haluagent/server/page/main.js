// The page: what the buttons and keys do.
import { told, work } from "./ask.js";
import { Check } from "./check.js";
import { byId } from "./dom.js";
import * as form from "./form.js";
import { keep } from "./history.js";
import { labelled } from "./labels.js";
import * as recent from "./recent.js";
import { say, sayAgain } from "./notice.js";
import { saveClaims, saveHtml, saveJson } from "./report.js";
import { current, switchLanguage, t, translate } from "./texts.js";
import * as view from "./view.js";
import * as views from "./views.js";

let check = null;
let aborting = null;

function open(newCheck) {
  check = newCheck;
  say(null);
  views.go("detect");
  page("result");
  view.show(check);
  byId("verdict").focus({ preventScroll: true });
  scrollTo(0, 0);
}

function page(name) {
  byId("ask").hidden = name !== "ask";
  byId("result").hidden = name !== "result";
}

async function start() {
  const texts = form.texts();
  if (!texts.response.trim()) {
    say("error_empty");
    return byId("response").focus();
  }
  open(new Check(texts));
  aborting = new AbortController();
  try {
    await run(aborting.signal);
    const { stop, error } = check.detection;
    if (stop === "error") say("error_model", { message: error });
    if (!keep(check.detection, texts.reference)) say("error_quota");
  } catch (error) {
    check.end();
    view.ended(error.name === "AbortError" ? "stopped_title" : "failed_title");
    told(error);
  }
}

/** Until the answer. */
function run(signal) {
  const { question, response, reference } = check.texts;
  const body = { question, response, ...(reference.trim() && { reference }) };
  const onEvent = (event) => {
    check.apply(event);
    view.changed();
  };
  return work("/v1/detect", body, { signal, onEvent });
}

function words() {
  translate();
  byId("language").textContent = t("other");
  byId("language").setAttribute("aria-label", t("other_label"));
  byId("language").lang = current() === "zh" ? "en" : "zh-CN";
  sayAgain();
  view.redraw();
  views.redraw();
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  start();
});
byId("stop").addEventListener("click", () => aborting?.abort());
byId("again").addEventListener("click", () => {
  say(null);
  form.fill(check.texts);
  page("ask");
  byId("response").focus();
});
byId("language").addEventListener("click", () => {
  switchLanguage();
  words();
});
byId("answered").addEventListener("click", (event) => {
  const sentence = event.target.closest(".sentence");
  if (sentence && getSelection().isCollapsed) view.toggle(Number(sentence.dataset.index));
});
byId("panel").addEventListener("click", (event) => {
  const kind = event.target.dataset.save;
  if (kind === "json") saveJson(check);
  if (kind === "html") saveHtml(check).catch(() => say("error_network"));
  if (kind === "labels") saveClaims(labelled());
});
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}
document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]") || byId("view-detect").hidden) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !byId("ask").hidden) {
    event.preventDefault();
    return byId("form").requestSubmit();
  }
  if (event.key === "Escape" && !byId("result").hidden) return view.close();
  const sentence = event.target.closest?.(".sentence");
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: "first", End: "last" }[event.key];
  if (sentence && step) view.move(sentence, step);
  else if (sentence && (event.key === "Enter" || event.key === " ")) view.toggle(Number(sentence.dataset.index));
  else return;
  event.preventDefault();
});

const openReport = ({ detection, reference }) => open(Check.of(detection, reference));
views.prepare(openReport);
form.prepare((key, values) => say(key, values));
view.prepare(() => say("error_quota"));
recent.prepare(openReport, words);
words();
