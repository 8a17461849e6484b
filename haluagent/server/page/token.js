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

/** Asks for it, and says so where the one before was `wrong`. True when one was given, false when the dialog was closed. */
export function askToken(wrong) {
  const dialog = byId("token");
  const form = byId("token-form");
  byId("token-value").value = "";
  byId("token-wrong").hidden = true;
  dialog.showModal();
  byId("token-wrong").hidden = !wrong; // after the dialog is open, so that it is read out
  return new Promise((resolve) => {
    let given = false;
    form.onsubmit = (event) => {
      event.preventDefault();
      const value = byId("token-value").value.trim();
      // A header takes only such characters, and no token has others.
      given = /^[\x21-\x7e]+$/.test(value);
      byId("token-wrong").hidden = given;
      if (!given) return;
      remember(value);
      dialog.close();
    };
    dialog.addEventListener("close", () => resolve(given), { once: true });
  });
}
