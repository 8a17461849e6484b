// The message over the page, and what each failure says there.
import { byId } from "./dom.js";
import { t } from "./texts.js";

let notice = null; // [key, values] of the message that is shown, so that it can be said in the other language

/** Shows a text of the page; null takes it back. */
export function say(key, values = {}) {
  notice = key && [key, values];
  byId("notice").hidden = !notice;
  byId("notice").textContent = notice ? t(...notice) : "";
}

/** The same message in the language of the interface. */
export const sayAgain = () => say(...(notice ?? [null]));

const KNOWN = ["busy", "network", "broken", "model", "invalid", "too_large", "deadline", "stopping", "not_ready", "no_token", "internal"];

/** Says why there is no answer. */
export function explain({ type, message, after }) {
  say(`error_${KNOWN.includes(type) ? type : "other"}`, { message, after: after ?? 5 });
}
