// The claims of an answer, each with its label against each reference, and the places in both texts that decide it.
import { work } from "./ask.js";
import { Documents } from "./documents.js";
import { byId, fill, make } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { actions, area, button, choice, onSubmit, queued, view } from "./fields.js";
import { say } from "./notice.js";
import { cost, facts, outcome, paper, saveAsJson, section, showMark, verdictTag, warning } from "./parts.js";
import { claims, current, t } from "./texts.js";

const STATES = { Entailment: "supported", Neutral: "unverified", Contradiction: "contradicted", Abstain: "no_claim" };
const references = new Documents("claims-text", "references");
const { box, form, result } = view("claims", [
  area("claims-question", "question", { rows: 1, optional: true, wide: true, hint: "question_hint" }),
  area("claims-answer", "answer", { rows: 8, hint: "response_hint" }),
  references.box,
  make("div", { className: "choices wide" }, choice("claims-format", "format", ["sentence", "subsentence", "triplet"], "format")),
  actions("check", button("example", example)),
]);
let found = null; // {item, papers, each, failed}: the item for all references together, and the labels against each one, as they come
let selected = null; // the claim whose places are highlighted

onSubmit(form, async ({ signal, tell }) => {
  const [question, response] = [byId("claims-question").value, byId("claims-answer").value];
  if (references.reading) return say("error_reading");
  if (!response.trim()) {
    say("error_empty");
    return byId("claims-answer").focus();
  }
  found = null; // of another answer
  draw();
  let papers = references.found;
  const body = { question, response, format: byId("claims-format").value };
  const given = papers.length ? { reference: papers.map(({ text }) => text) } : {}; // without one, the server searches
  const { result: item } = await work("/v1/claims", { ...body, ...given }, { signal, onEvent: queued(tell) });
  if (!papers.length) papers = (item.reference ?? []).map((text, i) => ({ name: t("found_reference", { n: i + 1 }), text }));
  found = { item, papers, each: papers.length === 1 ? [item.haluagent.claims] : papers.map(() => null), failed: false };
  selected = null;
  draw();
  result.querySelector("h2").focus();
  if (papers.length > 1 && item.claims.length) await against(body, { signal, tell });
});

/** Asks for the labels against each reference alone. */
async function against(body, { signal, tell }) {
  const { item, papers, each } = found;
  try {
    for (const [i, { text }] of papers.entries()) {
      tell("one_reference", { n: i + 1, of: papers.length });
      const alone = { ...body, reference: [text], claims: item.claims };
      each[i] = (await work("/v1/claims", alone, { signal })).result.haluagent.claims;
      draw();
    }
  } finally {
    found.failed = each.includes(null);
    draw();
  }
}

function example() {
  const { question, response, reference } = EXAMPLES[current()];
  byId("claims-question").value = question;
  byId("claims-answer").value = response;
  references.set(reference.split("\n\n").slice(1).map((text, i) => ({ name: t("pasted", { n: i + 1 }), text, left_out: [], pasted: true })));
}

function draw() {
  references.draw();
  result.hidden = !found;
  if (!found) return;
  const { item, papers } = found;
  const own = item.haluagent;
  fill(result,
    outcome(STATES[item.Y] ?? "unverified", item.error ? t("check_none") : t(`claims_${item.Y}`)),
    own.error ?? item.error ? warning(own.error ?? item.error) : null, own.coverage < 1 ? warning(t("not_whole", { text: t("references") })) : null,
    section(t("claims_count", { n: item.claims.length, claims: claims(item.claims.length) }), item.claims.length ? [make("p", { className: "hint" }, t("claims_hint")), table()] : null),
    make("div", { className: "columns even" },
      paper(t("answer"), item.response, claimPlaces(), { id: "claims-paper-answer" }),
      make("div", { className: "texts" }, papers.map(({ name, text }, i) => paper(`R${i + 1} · ${name}`, text, citations(i), { id: `claims-paper-${i}` })))),
    section(t("overview"), facts([t("cost_title"), cost(own.usage, own.seconds)]), saveAsJson("haluagent-claims.json", item)));
}

function table() {
  const { item, papers, each, failed } = found;
  const heads = [t("claim"), t("together"), ...papers.map(({ name }, i) => make("abbr", { title: name }, `R${i + 1}`))];
  const row = (claim, i) => make("tr", { className: i === selected ? "selected" : "" },
    make("th", { scope: "row" }, make("button", { type: "button", className: "claim", onclick: () => choose(i), attributes: { "aria-pressed": String(i === selected) } }, claimText(claim))),
    make("td", {}, label(item.haluagent.claims[i])), each.map((column) => make("td", {}, column ? label(column[i]) : t(failed ? "unchecked" : "waiting"))));
  return make("div", { className: "wide-table", tabIndex: 0, role: "group", attributes: { "aria-label": t("claims_title") } },
    make("table", {}, make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, item.claims.map(row))));
}

const claimText = (claim) => (Array.isArray(claim) ? claim.join(" · ") : claim.content ?? claim);

function label(checked) {
  if (!checked?.label) return make("span", {}, verdictTag("unverified", t("no_label")), checked?.error ? make("span", { className: "hint" }, ` ${checked.error}`) : null);
  const percent = checked.probability === null ? "" : ` ${Math.round(100 * checked.probability)} %`;
  return make("span", {}, verdictTag(STATES[checked.label], t(checked.label)), make("span", { className: "hint" }, percent));
}

/** The places of the claims in the answer: that of the selected one, else all. */
function claimPlaces() {
  const all = found.item.haluagent.claims;
  return (selected === null ? [] : [all[selected]]).map(({ span }) => span).filter(Boolean);
}

/** The places in reference `i` that decide the selected claim there. */
function citations(i) {
  if (selected === null) return [];
  const alone = found.each[i]?.[selected];
  const cited = alone ? alone.citations : found.item.haluagent.claims[selected].citations.filter(({ passage }) => passage === i);
  return cited.map(({ span }) => span);
}

function choose(i) {
  selected = selected === i ? null : i;
  draw();
  result.querySelectorAll("button.claim")[i].focus({ preventScroll: true });
  if (selected !== null) for (const one of result.querySelectorAll(".paper:has(mark)")) showMark(one, null, false);
}

export default { name: "claims", box, draw };
