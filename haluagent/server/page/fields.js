// The parts of which the forms are made. Their texts are filled in by `translate()`.
import { make } from "./dom.js";
import { say } from "./notice.js";
import { t } from "./texts.js";
import { told } from "./ask.js";

const words = (key) => ({ "data-text": key });

/** A view: a title, a line about it, a form with these fields, and a box for what is found. */
export function view(name, fields) {
  const result = make("div", { className: "outcome", hidden: true });
  const title = make("h1", { id: `${name}-title`, attributes: words(`${name}_title`) });
  const form = make("form", { className: "form", noValidate: true }, fields);
  const box = make("section", { id: `view-${name}`, className: "view", hidden: true, attributes: { "aria-labelledby": title.id } },
    title, make("p", { className: "lead", attributes: words(`${name}_lead`) }), form, result);
  return { box, form, result };
}

/** A field for text. */
export function area(id, label, { rows = 5, optional = false, wide = false, hint = null } = {}) {
  const attributes = { ...(hint && { "data-placeholder": hint }) };
  return make("div", { className: wide ? "field wide" : "field" },
    make("div", { className: "field-head" }, make("label", { htmlFor: id, attributes: words(label) }),
      optional ? make("span", { className: "hint", attributes: words("optional") }) : null),
    make("textarea", { id, rows, spellcheck: false, attributes }));
}

/** A choice of values; the text of each is `PREFIX_VALUE`, or where there is no prefix the value itself. */
export function choice(id, label, values, prefix = null) {
  const options = values.map((value) => make("option", { value, attributes: prefix ? words(`${prefix}_${value}`) : {} }, prefix ? "" : value));
  return make("div", { className: "choice" }, make("label", { htmlFor: id, attributes: words(label) }), make("select", { id }, options));
}

export function button(text, onclick, { type = "button", className = "" } = {}) {
  return make("button", { type, className, onclick, attributes: words(text) });
}

/** The row of buttons below a form: to submit it, to stop the work, others, and a line that says how far it is. */
export function actions(submit, ...others) {
  return make("div", { className: "actions wide" },
    button(submit, null, { type: "submit", className: "main" }), make("button", { type: "button", hidden: true, className: "stop", attributes: words("stop") }),
    others, make("span", { className: "hint status", role: "status" }));
}

/**
 * Has `work({signal, tell})` done when the form is submitted; `tell(key, values)` says how far it is. Returns what has other work done in
 * the same way, one at a time: `run(work)`, and `stop()`.
 */
export function onSubmit(form, work) {
  const stop = form.querySelector(".stop");
  const submit = form.querySelector("[type=submit]");
  const status = form.querySelector(".status");
  let aborting = null;
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  const abort = () => aborting?.abort();
  stop.addEventListener("click", abort);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run(work);
  });
  const run = async (asked) => {
    if (aborting) return;
    aborting = new AbortController();
    const tell = (key, values) => { status.textContent = t(key, values); };
    const busy = (now) => {
      stop.hidden = !now;
      submit.disabled = now;
    };
    say(null);
    busy(true);
    tell("running_title");
    try {
      await asked({ signal: aborting.signal, tell });
    } catch (error) {
      told(error);
    } finally {
      aborting = null;
      busy(false);
      status.textContent = "";
    }
  };
  return { run, stop: abort };
}

/** What says where the work stands in the queue. */
export const queued = (tell) => (event) => {
  if (event.kind === "waiting") tell(event.before ? "queue" : "queue_next", { n: event.before });
};
