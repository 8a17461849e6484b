// The views of the page, one at a time: its address names which (`#claims`).
import { byId, make } from "./dom.js";
import { say } from "./notice.js";
import chat from "./view_chat.js";
import batch, { prepare as prepareBatch } from "./view_batch.js";
import check from "./view_check.js";
import claims from "./view_claims.js";
import runs from "./view_runs.js";

const FIRST = "detect"; // it stands in the document
const VIEWS = [chat, check, claims, runs, batch];
const NAMES = [FIRST, ...VIEWS.map(({ name }) => name)];

const named = () => (NAMES.includes(location.hash.slice(1)) ? location.hash.slice(1) : FIRST);

/** Puts the views into the document, and shows the one that the address names. `openReport({detection, reference})` shows a report. */
export function prepare(openReport) {
  byId("main").append(...VIEWS.map(({ box }) => box));
  byId("views").append(...NAMES.map((name) => make("a", { href: `#${name}`, attributes: { "data-text": `view_${name}` } })));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // its address would name no view
    byId("main").focus();
  });
  addEventListener("hashchange", () => {
    say(null);
    show();
    byId("main").focus({ preventScroll: true });
    scrollTo(0, named() === chat.name ? document.body.scrollHeight : 0); // a conversation goes on at its end
  });
  show();
  prepareBatch(openReport);
}

export function go(name) {
  if (named() === name) return;
  history.pushState(null, "", `#${name}`);
  show();
}

function show() {
  for (const name of NAMES) byId(`view-${name}`).hidden = name !== named();
  for (const link of byId("views").children) {
    if (link.hash === `#${named()}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

/** Once more, in another language. */
export function redraw() {
  for (const { draw } of VIEWS) draw();
}
