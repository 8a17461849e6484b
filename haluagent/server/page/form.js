// The texts: typed, from files, or the example.
import { byId } from "./dom.js";
import { EXAMPLES } from "./examples.js";
import { current } from "./texts.js";

const FIELDS = ["question", "response", "reference"];

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
    if (byId("view-detect").hidden) return; // the other views have their own places for files
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
