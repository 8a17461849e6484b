// The words of the interface. Those of the printed report come from the program itself.
import { CLAIMS, LABELS, MARKS, STOPS, WORDS } from "/page/report_words.js";
import { EN } from "./texts_en.js";
import { ZH } from "./texts_zh.js";

const OWN = { en: EN, zh: ZH };

const KEY = "haluagent.language";
let language = stored() ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");

function stored() {
  try {
    const name = localStorage.getItem(KEY);
    return Object.hasOwn(OWN, name) ? name : null;
  } catch {
    return null;
  }
}

export const current = () => language;

export function switchLanguage() {
  language = language === "en" ? "zh" : "en";
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // It holds for this page then.
  }
}

/** A text of the page in the language of the interface, with {name} and {name:.2f} filled in. */
export const t = (key, values = {}) => fill(OWN[language][key], values);

/** The same of the printed report's words. */
export const reported = (key, values = {}) => fill(WORDS[language][key], values);

export const stopText = (stop) => STOPS[language][stop];
export const claims = (n) => CLAIMS[language][n === 1 ? 0 : 1];
export const LABEL_NAMES = Object.keys(MARKS);

/** How a state is told apart without colour: a sign and a word. */
export function sign(state) {
  return MARKS[state] ?? { waiting: "○", checking: "◐", unchecked: "–" }[state];
}
export const word = (state) => LABELS[language][state] ?? t(state);

function fill(text, values) {
  return text.replace(/\{(\w+)(?::\.(\d)f)?\}/g, (_, name, digits) => (digits ? values[name].toFixed(Number(digits)) : values[name]));
}

/** Fills in the texts of what is in the document already. */
export function translate() {
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", t(element.dataset.label));
  for (const element of document.querySelectorAll("[data-placeholder]")) element.placeholder = t(element.dataset.placeholder);
}
