// The page: what the buttons and keys do.
import { detect, Failure } from "./api.js";
import { Check } from "./check.js";
import { byId } from "./dom.js";
import * as form from "./form.js";
import { keep } from "./history.js";
import { labelled } from "./labels.js";
import * as recent from "./recent.js";
import { saveClaims, saveHtml, saveJson } from "./report.js";
import { current, switchLanguage, t, translate } from "./texts.js";
import { askToken, token } from "./token.js";
import * as view from "./view.js";

let check = null;
let aborting = null;
let notice = null; // [key, values] of the message that is shown, so that it can be said in the other language

function say(key, values = {}) {
  notice = key && [key, values];
  byId("notice").hidden = !notice;
  byId("notice").textContent = notice ? t(...notice) : "";
}

function open(newCheck) {
  check = newCheck;
  say(null);
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
    const stopped = error.name === "AbortError";
    const foreseen = stopped || error instanceof Failure;
    stopped ? say("error_stopped") : foreseen ? say(...explain(error)) : say("error_page");
    check.end();
    view.ended(stopped ? "stopped_title" : "failed_title");
    if (!foreseen) throw error;
  }
}

/** Until the answer. A token is asked for as often as the server wants another one. */
async function run(signal) {
  const { question, response, reference } = check.texts;
  const body = { question, response, ...(reference.trim() && { reference }) };
  const onEvent = (event) => {
    check.apply(event);
    view.changed();
  };
  for (;;) {
    try {
      return await detect(body, { token: token(), signal, onEvent });
    } catch (error) {
      if (error.type !== "unauthorized") throw error;
      if (!(await askToken(token() !== null))) throw new Failure("no_token");
    }
  }
}

function explain({ type, message, after }) {
  const known = ["busy", "network", "broken", "model", "invalid", "too_large", "deadline", "stopping", "not_ready", "no_token", "internal"];
  return [`error_${known.includes(type) ? type : "other"}`, { message, after: after ?? 5 }];
}

function words() {
  translate();
  byId("language").textContent = t("other");
  byId("language").setAttribute("aria-label", t("other_label"));
  byId("language").lang = current() === "zh" ? "en" : "zh-CN";
  say(...(notice ?? [null]));
  view.redraw();
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
  if (document.querySelector("dialog[open]")) return;
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

form.prepare((key, values) => say(key, values));
view.prepare(() => say("error_quota"));
recent.prepare(({ detection, reference }) => open(Check.of(detection, reference)), view.redraw);
words();
