// Recent checks, kept in this browser only.
import { LABEL_NAMES } from "./texts.js";

const KEY = "haluagent.recent";
const KEPT = 20;

/** The newest first: {id, when, detection, reference}. What cannot be read counts as nothing. */
export function recent() {
  try {
    const items = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(items) ? items.filter(whole) : [];
  } catch {
    return [];
  }
}

/** Whether all is there that the page shows: another version may have kept it, or a hand changed it. */
function whole(item) {
  const { question, response, hallucination, score, coverage, usage, steps, sentences } = item?.detection ?? {};
  return [item?.reference, question, response].every((text) => typeof text === "string")
    && [score, coverage?.response, usage?.calls, usage?.seconds].every(Number.isFinite)
    && [true, false, null].includes(hallucination) && Array.isArray(steps) && Array.isArray(sentences)
    && sentences.every((entry) => LABEL_NAMES.includes(entry?.label) && Array.isArray(entry.evidence) && Array.isArray(entry.sentence?.span));
}

/** Keeps a report; the oldest give way where there is no room. False where it does not fit at all. */
export function keep(detection, reference) {
  const item = { id: crypto.getRandomValues(new Uint32Array(2)).join("-"), when: Date.now(), detection, reference };
  const items = [item, ...recent()].slice(0, KEPT);
  while (items.length && !write(items)) items.pop();
  return items.length > 0;
}

export function forget(id) {
  write(recent().filter((item) => item.id !== id));
}

export function forgetAll() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // A browser that lets nothing be kept has nothing to forget.
  }
}

function write(items) {
  try {
    localStorage.setItem(KEY, JSON.stringify(items));
    return true;
  } catch {
    return false;
  }
}
