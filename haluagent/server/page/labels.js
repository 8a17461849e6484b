// Labels that the reader has given, kept in this browser only, in the form that `haluagent calibrate --claims` reads.
import { drop, keepAll, kept, newId } from "./store.js";

const KEY = "haluagent.labelled";
export const OUTCOMES = ["supported", "contradicted", "not_in_reference"]; // what a reference says of a sentence

/** The claims, the newest last. What cannot be read counts as nothing. */
export const labelled = () => kept(KEY).filter((claim) => OUTCOMES.includes(claim?.label));

/** The label that the reader gave the sentence, or null. */
export function labelOf(check, unit) {
  return labelled().find(same(claimOf(check, unit)))?.label ?? null;
}

/** Gives a sentence a label, or takes it back where it is that one already. False where the browser has no room. */
export function giveLabel(check, unit, label) {
  const claim = { ...claimOf(check, unit), label };
  const before = labelled();
  const others = before.filter((one) => !same(claim)(one));
  const back = before.some((one) => same(claim)(one) && one.label === label);
  return keepAll(KEY, back ? others : [...others, claim]);
}

export const forgetLabels = () => drop(KEY);

const same = (claim) => (one) => ["question", "claim", "text"].every((name) => one[name] === claim[name]);

/** The question is kept where the response is one sentence: one of several is not judged as an answer to it. */
function claimOf({ texts, sentences, detection }, { sentence }) {
  return {
    id: newId(), source: "own", language: detection.language,
    question: sentences.length === 1 ? texts.question : "", claim: sentence.standalone || sentence.text, text: texts.reference,
  };
}
