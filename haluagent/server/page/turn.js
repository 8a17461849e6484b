// A turn of the conversation: what was asked, and a card for each sentence of the answer.
import { card, tag, warnings } from "./card.js";
import { make } from "./dom.js";
import { labelOf } from "./labels.js";
import { outcome, saveAsJson, warning } from "./parts.js";
import { countsOf, verdictOf } from "./summary.js";
import { t } from "./texts.js";

/**
 * The box of a turn. `opened` are the sentences whose cards are open, `tools` the names to choose from; `can` has what the buttons do:
 * stop(), toggle(index), again(index, tool), label(unit, label), use(), remove().
 */
export function turnBox(turn, opened, tools, can) {
  const { question, response, papers, check, busy, ending } = turn;
  const [key, state] = verdictOf(check, ending);
  const whole = check.units.get(0);
  const units = [...check.sentences, ...(whole ? [whole] : [])];
  return make("li", { className: "turn", id: `turn-${turn.id}` },
    make("div", { className: "paper asked" },
      question ? [make("h3", {}, t("question")), make("p", { className: "text small" }, question)] : null,
      make("h3", {}, t("answer")), make("p", { className: "text small" }, response),
      papers.length ? make("p", { className: "hint" }, t("beside", { names: papers.map(({ name }) => name).join(", ") })) : null),
    outcome(state, t(key)),
    make("p", { className: "hint" }, check.running || check.detection ? countsOf(check) : ""),
    make("div", {}, check.detection ? warnings(check.detection).map(warning) : null),
    make("ol", { className: "sentences" }, units.map((unit) => make("li", {}, sentence(turn, unit, opened.has(unit.sentence.index), tools, can)))),
    make("div", { className: "actions" },
      make("button", { type: "button", hidden: !busy, onclick: can.stop }, t("stop")),
      make("button", { type: "button", hidden: busy, onclick: can.use }, t("use_again")),
      check.detection ? saveAsJson("haluagent.json", check.detection) : null,
      make("button", { type: "button", className: "plain", hidden: busy, onclick: can.remove }, t("delete_one"))));
}

function sentence(turn, unit, open, tools, can) {
  const { check, id } = turn;
  const { index, text } = unit.sentence;
  const toggle = (event) => {
    event.preventDefault(); // a redraw opens and closes it
    can.toggle(index);
  };
  const right = unit.entry && check.detection && check.texts.reference ? { label: labelOf(check, unit), choose: (label) => can.label(unit, label) } : null;
  const about = open ? card(check, unit, null, right) : null;
  about?.removeAttribute("id"); // each turn has a first sentence
  return make("details", { open },
    make("summary", { className: unit.state, id: `turn-${id}-${index}`, onclick: toggle }, tag(unit.state, unit.name), ` ${index ? text : t("whole_title")}`),
    about, open && index && unit.entry && check.detection ? again(turn, index, tools, can) : null);
}

/** The choice of a tool to ask about the sentence once more. */
function again({ id, busy }, index, tools, can) {
  const select = make("select", { id: `again-${id}-${index}`, disabled: busy }, make("option", { value: "" }, t("any_tool")), tools.map((name) => make("option", { value: name }, name)));
  const ask = ({ currentTarget }) => can.again(index, currentTarget.parentNode.querySelector("select").value);
  return make("div", { className: "choice" }, make("label", { htmlFor: select.id }, t("again_with")), select,
    make("button", { type: "button", disabled: busy, onclick: ask }, t("check_again")));
}
