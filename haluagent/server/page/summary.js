// What is known of a check, in a title and a line.
import { claims, reported, t } from "./texts.js";

/** The title of a check and its state; `ending` is the key of the title where it ended without an answer. */
export function verdictOf(check, ending = null) {
  if (check.running) return ["running_title", "checking"];
  if (!check.detection) return [ending ?? "failed_title", "unchecked"];
  if (check.detection.hallucination === null) return ["unknown_title", "unverified"];
  return check.detection.hallucination ? ["found_title", "contradicted"] : ["not_found_title", "supported"];
}

/** How far a check is, or how many sentences have which label. */
export function countsOf(check) {
  if (check.before !== null) return check.before ? t("queue", { n: check.before }) : t("queue_next");
  if (!check.detection) {
    const values = progressOf(check);
    return values.n ? t(values.wrong ? "progress_wrong" : "progress", values) : reported("starting");
  }
  const [supported, contradicted, unsaid, unverified] = ["supported", "contradicted", "not_in_reference", "unverified"].map((name) => check.count(name));
  const n = supported + contradicted + unsaid + unverified;
  const values = { n, claims: claims(n), supported, contradicted, unsaid, unverified };
  const open = ["unsaid", "unverified"].filter((name) => values[name]);
  const { hallucination } = check.detection;
  const first = hallucination === null ? open.shift() ?? "nothing" : hallucination ? "found" : "not_found";
  return [first, ...open.map((name) => `also_${name}`)].map((name) => reported(name, values)).join("");
}

export function progressOf(check) {
  const judged = check.sentences.filter((unit) => unit.entry);
  return { done: judged.length, n: check.sentences.length, wrong: judged.filter((unit) => unit.state === "contradicted").length };
}
