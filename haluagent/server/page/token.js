// The server's token, where it wants one: kept until the tab is closed.
import { byId } from "./dom.js";

const KEY = "haluagent.token";
let kept = null; // where the browser lets nothing be kept

export function token() {
  try {
    return sessionStorage.getItem(KEY) ?? kept;
  } catch {
    return kept;
  }
}

function remember(value) {
  kept = value;
  try {
    sessionStorage.setItem(KEY, value);
  } catch {
    // It holds for this page then.
  }
}

/** Asks for it. True when one was given, false when the dialog was closed. */
export function askToken() {
  const dialog = byId("token");
  const form = byId("token-form");
  byId("token-value").value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    let given = false;
    form.onsubmit = (event) => {
      event.preventDefault();
      const value = byId("token-value").value.trim();
      if (!value) return;
      // A header takes only such characters, and no token has others.
      given = /^[\x21-\x7e]+$/.test(value);
      if (given) remember(value);
      dialog.close();
    };
    dialog.addEventListener("close", () => resolve(given), { once: true });
  });
}
