// What can be saved: the report as JSON, and as a page that needs nothing but itself.
import { card, overview, tag } from "./card.js";
import { make } from "./dom.js";
import { save } from "./parts.js";
import { marksIn, pieces, places } from "./spans.js";
import { current, t } from "./texts.js";

export function saveJson(check) {
  save("haluagent.json", "application/json", `${JSON.stringify(check.detection, null, 2)}\n`);
}

/** Claims, one a line, as `haluagent calibrate --claims` reads them. */
export function saveClaims(claims) {
  save("haluagent-labels.jsonl", "application/jsonl", claims.map((claim) => `${JSON.stringify(claim)}\n`).join(""));
}

export const saveHtml = (check) => savePage("haluagent.html", body(check));

/** The table of a batch as a page. */
export const saveTable = (table) => savePage("haluagent-batch.html", [make("h1", {}, t("report_title")), table]);

async function savePage(name, content) {
  const style = await (await fetch("/page/page.css")).text();
  save(name, "text/html", page(content, style));
}

/** The document as text. Everything in it is made of nodes, so that no text can become markup; it has no script. */
function page(content, style) {
  const root = make("html", { lang: current() === "zh" ? "zh-CN" : "en" });
  const policy = { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'" };
  root.append(
    make("head", {}, make("meta", { attributes: { charset: "utf-8" } }), make("meta", { attributes: policy }),
      make("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }), make("meta", { name: "color-scheme", content: "light dark" }),
      make("title", {}, t("report_title")), STYLE_HERE()),
    make("body", { className: "report" }, make("main", {}, content)));
  return `<!doctype html>\n${root.outerHTML.replace(MARK, () => `<style>${style}</style>`)}\n`;
}

// The page's own policy allows no inline style, not even in a document that is only being written: it goes in at the end.
const MARK = '<meta name="haluagent-style">';
const STYLE_HERE = () => make("meta", { name: "haluagent-style" });

function body(check) {
  const { hallucination } = check.detection;
  const key = hallucination === null ? "unknown_title" : hallucination ? "found_title" : "not_found_title";
  const state = hallucination === null ? "unverified" : hallucination ? "contradicted" : "supported";
  const whole = check.units.get(0);
  const units = [...check.sentences, ...(whole ? [whole] : [])];
  return [
    make("h1", { className: state }, t(key)),
    overview(check),
    ...(check.texts.question ? [paper(t("question"), [check.texts.question])] : []),
    paper(t("response"), response(check)),
    ...units.map((unit) => card(check, unit, null)),
    paper(t("reference"), reference(check)),
  ];
}

function paper(title, content) {
  return content.some((part) => part !== "") ? make("section", { className: "paper" }, make("h2", {}, title), make("div", { className: "text" }, content)) : null;
}

function response(check) {
  const text = check.texts.response;
  const place = places(text);
  const nodes = [];
  let at = 0;
  for (const unit of check.sentences) {
    const [start, end] = unit.sentence.span.map(place);
    if (start < at) continue;
    const words = make("span", { className: "words" }, text.slice(start, end));
    nodes.push(text.slice(at, start), make("a", { className: `sentence ${unit.state}`, href: `#card-${unit.sentence.index}` }, words, "\u00a0", tag(unit.state, unit.name)));
    at = end;
  }
  return [...nodes, text.slice(at)];
}

/** With everything highlighted that an evidence points to. */
function reference(check) {
  const text = check.texts.reference;
  return pieces(text, 0, text.length, check.detection.sentences.flatMap((entry) => marksIn("reference", text, entry)));
}
