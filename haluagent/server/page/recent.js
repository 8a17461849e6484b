// The dialog of recent checks.
import { byId, make } from "./dom.js";
import { forget, forgetAll, recent } from "./history.js";
import { tag } from "./card.js";
import { forgetLabels, labelled } from "./labels.js";
import { current, t } from "./texts.js";

/** `open({detection, reference})` shows a check again; `cleared()` is called when all was deleted. */
export function prepare(open, cleared) {
  byId("recent-button").addEventListener("click", () => {
    list(open);
    byId("recent").showModal();
  });
  byId("recent-clear").addEventListener("click", () => {
    forgetAll();
    forgetLabels();
    cleared();
    list(open);
  });
}

function list(open) {
  const items = recent();
  byId("recent-list").replaceChildren(...items.map((item) => row(item, open)));
  byId("recent-none").hidden = items.length > 0;
  byId("recent-clear").hidden = items.length + labelled().length === 0;
}

function row(item, open) {
  const { detection } = item;
  const state = detection.hallucination === null ? "unverified" : detection.hallucination ? "contradicted" : "supported";
  const title = (detection.question || detection.response).slice(0, 120);
  const when = new Date(item.when).toLocaleString(current());
  const show = make("button", { type: "button", className: "recent-item" },
    make("span", { className: "recent-title" }, title), make("span", { className: "hint" }, `${when} · `, tag(state)));
  const remove = make("button", { type: "button", className: "plain", attributes: { "aria-label": `${t("delete_one")}: ${title}` } }, t("delete_one"));
  show.addEventListener("click", () => {
    byId("recent").close();
    open(item);
  });
  remove.addEventListener("click", () => {
    forget(item.id);
    list(open);
    (byId("recent-list").querySelector("button") ?? byId("recent").querySelector("[data-close]")).focus();
  });
  return make("li", {}, show, remove);
}
