// Recent checks, kept in this browser only.
import { drop, keepAll, kept, newId } from "./store.js";
import { LABEL_NAMES } from "./texts.js";

const KEY = "haluagent.recent";
const KEPT = 20;

/** The newest first: {id, when, detection, reference}. What cannot be read counts as nothing. */
export const recent = () => kept(KEY).filter(whole);

/** Whether all is there of a report that the page shows: another version may have kept it, or a hand changed it. */
export function whole(item) {
  const { question, response, hallucination, score, coverage, usage, steps, sentences } = item?.detection ?? {};
  return [item?.reference, question, response].every((text) => typeof text === "string")
    && [score, coverage?.response, usage?.calls, usage?.seconds].every(Number.isFinite)
    && [true, false, null].includes(hallucination) && Array.isArray(steps) && Array.isArray(sentences)
    && sentences.every((entry) => LABEL_NAMES.includes(entry?.label) && Array.isArray(entry.evidence) && Array.isArray(entry.sentence?.span));
}

/** Keeps a report; the oldest give way where there is no room. False where it does not fit at all. */
export function keep(detection, reference) {
  const item = { id: newId(), when: Date.now(), detection, reference };
  const items = [item, ...recent()].slice(0, KEPT);
  while (items.length && !keepAll(KEY, items)) items.pop();
  return items.length > 0;
}

export function forget(id) {
  keepAll(KEY, recent().filter((item) => item.id !== id));
}

export const forgetAll = () => drop(KEY);
