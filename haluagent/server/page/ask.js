// Requests to the server, which may want a token: it is asked for as often as the server wants another one.
import * as api from "./api.js";
import { explain, say } from "./notice.js";
import { askToken, token } from "./token.js";

export const work = (path, body, options) => withToken((given) => api.work(path, body, { ...options, token: given }));

/** The names of the tools that a sentence may be checked with. */
export const tools = () => withToken((given) => api.tools({ token: given }));

/** The text of a document, the run in a JSON text, or the rows of a table: `kind` says which; `query` are its options. */
export function read(kind, data, query, signal) {
  const path = `/v1/read/${kind}?${new URLSearchParams(query)}`;
  return withToken((given) => api.read(path, data, { token: given, signal }));
}

let asked = null; // the dialog that is open: several requests may need it at once

async function withToken(request) {
  for (;;) {
    const given = token();
    try {
      return await request(given);
    } catch (error) {
      if (error.type !== "unauthorized") throw error;
      if (token() !== given) continue; // it was given meanwhile
      asked ??= askToken(given !== null).finally(() => { asked = null; });
      if (!(await asked)) throw new api.Failure("no_token");
    }
  }
}

/** Says why a request failed, or that it was stopped. What nobody foresaw also goes to the console. */
export function told(error) {
  const stopped = error.name === "AbortError";
  const foreseen = stopped || error instanceof api.Failure;
  if (stopped) say("error_stopped");
  else if (foreseen) explain(error);
  else say("error_page");
  if (!foreseen) throw error;
}
