// The texts: typed, from files, or the example.
import { byId } from "./dom.js";
import { current } from "./texts.js";

const FIELDS = ["question", "response", "reference"];

// One sentence of each is wrong: the year in which the lamp was first lit.
const EXAMPLES = {
  en: {
    question: "What should I know before visiting the lighthouse at Varn Point?",
    response: "The lighthouse at Varn Point stands on a granite cliff. It was first lit in 1912, and its lamp can be seen from 24 nautical miles away. Visitors climb 186 steps to the gallery. A ticket costs 4 crowns. Enjoy the view!",
    reference: "Varn Point Lighthouse\n\nThe tower stands on the granite cliff at the mouth of the Varn. Building began in 1884 and the lamp was first lit on 3 May 1887. The light is visible for 24 nautical miles in clear weather.\n\nVisiting: the gallery is reached by a spiral stair of 186 steps. Open from April to October. Tickets cost 4 crowns a person. 参观者须自备饮用水。",
  },
  zh: {
    question: "参观瓦恩角灯塔之前应该知道些什么？",
    response: "瓦恩角灯塔建在花岗岩悬崖上。它于1912年首次点亮，灯光在24海里外可见。游客需登上186级台阶才能到达观景台。门票每人4克朗。祝您玩得愉快！",
    reference: "瓦恩角灯塔 (Varn Point Lighthouse)\n\n灯塔矗立在瓦恩河口的花岗岩悬崖上。1884年动工，1887年5月3日首次点亮。天气晴朗时，灯光在24海里外可见。\n\n参观须知：经186级螺旋台阶可到达观景台。每年四月至十月开放，门票每人4克朗。Visitors should bring drinking water.",
  },
};

export function texts() {
  return Object.fromEntries(FIELDS.map((name) => [name, byId(name).value.toWellFormed?.() ?? byId(name).value]));
}

export function fill(given) {
  for (const name of FIELDS) byId(name).value = given[name] ?? "";
}

/** `say(key, values)` shows what is wrong with a file; null takes it back. */
export function prepare(say) {
  byId("example").addEventListener("click", () => fill(EXAMPLES[current()]));
  byId("clear").addEventListener("click", () => {
    fill({});
    byId("question").focus();
  });
  let target = null;
  for (const button of document.querySelectorAll("[data-file]")) {
    button.addEventListener("click", () => {
      target = button.dataset.file;
      byId("file").click();
    });
  }
  byId("file").addEventListener("change", async () => {
    const [file] = byId("file").files;
    if (file) await read(file, target, say);
    byId("file").value = ""; // the same file can be picked again
  });
  drops(say);
}

function drops(say) {
  const withFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!withFiles(event)) return;
    event.preventDefault(); // else the browser would open the file in place of the page
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) document.body.classList.remove("dropping");
  });
  document.addEventListener("drop", async (event) => {
    if (!withFiles(event)) return;
    event.preventDefault();
    document.body.classList.remove("dropping");
    const field = event.target.closest?.(".field")?.querySelector("textarea").id;
    for (const file of event.dataTransfer.files) await read(file, field ?? "response", say);
  });
}

async function read(file, field, say) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return say("error_file", { name: file.name });
  }
  say(null);
  if (!file.name.toLowerCase().endsWith(".json")) {
    byId(field).value = text.replace(/\r?\n$/, "");
    return;
  }
  const given = item(text);
  if (given) fill(given);
  else say("error_json", { name: file.name });
}

/** The texts of a file as `haluagent detect --input` takes it, or null: `reference` is a text or a list of texts. */
function item(text) {
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    return null;
  }
  const { question, response, reference } = given ?? {};
  const parts = [reference ?? ""].flat();
  const all = [question ?? "", response, ...parts];
  return all.every((part) => typeof part === "string") ? { question: question ?? "", response, reference: parts.join("\n\n") } : null;
}
