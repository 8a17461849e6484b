// The turns of the conversation, kept in this browser only.
import { whole } from "./history.js";
import { drop, keepAll, kept } from "./store.js";

const KEY = "haluagent.chat";
const KEPT = 50;

/** The oldest first: {id, when, texts, names, detection}; the detection is null where there was no answer. What cannot be read counts as nothing. */
export const turns = () => kept(KEY).filter(readable);

function readable(turn) {
  const { question, response, reference } = turn?.texts ?? {};
  return [turn?.id, question, response, reference].every((text) => typeof text === "string") && Array.isArray(turn.names)
    && (turn.detection === null || whole({ ...turn, reference }));
}

/** Keeps a turn as it is now, beside those of other tabs; the oldest give way where there is no room. False where it does not fit at all. */
export function keepTurn({ id, when, texts, names, check }) {
  const others = turns().filter((turn) => turn.id !== id);
  const items = [...others, { id, when, texts, names, detection: check.detection }].sort((a, b) => a.when - b.when).slice(-KEPT);
  while (items.length && !keepAll(KEY, items)) items.shift();
  return items.some((turn) => turn.id === id);
}

export function forgetTurn(id) {
  keepAll(KEY, turns().filter((turn) => turn.id !== id));
}

export const forgetTurns = () => drop(KEY);
