// The documents beside an answer: files, which the server reads, and pasted texts.
import { read, told } from "./ask.js";
import { make } from "./dom.js";
import { area, button } from "./fields.js";
import { say } from "./notice.js";
import { t } from "./texts.js";

const TYPES = ".pdf,.docx,.docm,.md,.markdown,.html,.htm,.xhtml,.txt,.text,.rst";

export class Documents {
  #all = []; // {name, text, left_out}; `text` is null while it is read
  #list = make("ul", { className: "attached" });
  #input = make("input", { type: "file", multiple: true, accept: TYPES, hidden: true, tabIndex: -1, attributes: { "data-label": "add_files" } });

  /** `id` is that of the field for pasted text, `label` the key of what the documents are called. */
  constructor(id, label) {
    this.box = area(id, label, { hint: "documents_hint" });
    this.pasted = this.box.querySelector("textarea");
    this.box.firstChild.append(button("add_text", () => this.#paste(), { className: "plain" }), button("add_files", () => this.#input.click(), { className: "plain" }));
    this.box.append(this.#list, this.#input);
    this.#input.addEventListener("change", () => this.#attach([...this.#input.files]));
    this.box.addEventListener("drop", (event) => {
      event.preventDefault();
      event.stopPropagation();
      document.body.classList.remove("dropping");
      this.#attach([...event.dataTransfer.files]);
    });
  }

  /** All that is there to check against: {name, text}. A text in the field counts as well. */
  get found() {
    const pasted = this.pasted.value.trim() ? [this.#pasted()] : [];
    return [...this.#all.filter((one) => one.text !== null), ...pasted];
  }

  get reading() {
    return this.#all.some((one) => one.text === null);
  }

  set(documents) {
    this.#all = documents;
    this.pasted.value = "";
    this.draw();
  }

  #pasted() {
    const n = this.#all.filter((one) => one.pasted).length + 1;
    return { name: t("pasted", { n }), text: this.pasted.value, left_out: [], pasted: true };
  }

  #paste() {
    if (this.pasted.value.trim()) this.set([...this.#all, this.#pasted()]);
    this.pasted.focus();
  }

  async #attach(files) {
    this.#input.value = ""; // the same file can be picked again
    say(null);
    await Promise.all(files.map((file) => this.#read(file)));
  }

  async #read(file) {
    const one = { name: file.name, text: null, left_out: [] };
    this.#all.push(one);
    this.draw();
    try {
      Object.assign(one, await read("document", file, { name: file.name }));
    } catch (error) {
      this.#all = this.#all.filter((other) => other !== one);
      told(error);
    } finally {
      this.draw();
    }
  }

  draw() {
    this.#list.replaceChildren(...this.#all.map((one) => make("li", {},
      make("span", {}, one.name), make("span", { className: "hint" }, one.text === null ? t("reading") : t("characters", { n: [...one.text].length })),
      make("button", { type: "button", className: "plain", attributes: { "aria-label": `${t("remove")}: ${one.name}` }, onclick: () => this.#remove(one) }, t("remove")),
      one.left_out.map((part) => make("p", { className: "warning" }, t("left_out", { part }))))));
  }

  #remove(one) {
    this.#all = this.#all.filter((other) => other !== one);
    this.draw();
    this.box.querySelector("button").focus();
  }
}
