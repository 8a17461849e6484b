// The turns of the conversation, kept in this browser only.
import { whole } from "./history.js";
import { drop, keepAll, kept } from "./store.js";

const KEY = "haluagent.chat";
const KEPT = 50;

/**
 * The oldest first: {id, when, question, response, papers, detection}. Papers are documents, {name, text}; the detection is null where
 * there was no answer. What cannot be read counts as nothing.
 */
export const turns = () => kept(KEY).filter(readable);

function readable(turn) {
  const texts = (of, names) => names.every((name) => typeof of?.[name] === "string");
  return texts(turn, ["id", "question", "response"]) && Array.isArray(turn.papers) && turn.papers.every((paper) => texts(paper, ["name", "text"]))
    && (turn.detection === null || whole({ detection: turn.detection, reference: "" }));
}

/** Keeps a turn as it is now, beside those of other tabs; the oldest give way where there is no room. False where it does not fit at all. */
export function keepTurn(turn) {
  const { id } = turn;
  const items = [...turns().filter((other) => other.id !== id), turn].sort((a, b) => a.when - b.when).slice(-KEPT);
  while (items.length && !keepAll(KEY, items)) items.shift();
  return items.some((kept) => kept.id === id);
}

export function forgetTurn(id) {
  keepAll(KEY, turns().filter((turn) => turn.id !== id));
}

export const forgetTurns = () => drop(KEY);
