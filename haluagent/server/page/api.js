// The server's events. EventSource cannot send a body, so the stream is read from an ordinary request.

/** Why there is no answer. `type` is the server's, or "network" or "broken"; `after` are seconds to wait. */
export class Failure extends Error {
  constructor(type, message = "", after = null) {
    super(message);
    Object.assign(this, { type, after });
  }
}

/** Calls `onEvent` with each event of the work on a body, and returns the last; throws a Failure, or AbortError when stopped. */
export async function work(path, body, { token, signal, onEvent = () => {} }) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const answer = await post(path, JSON.stringify(body), headers, token, signal);
  const type = answer.headers.get("Content-Type") ?? "";
  if (!answer.ok || !type.startsWith("text/event-stream")) throw await failure(answer);
  let last = null;
  for await (const event of events(answer.body.getReader())) {
    if (event.kind === "error") throw new Failure(event.error.type, event.error.message);
    onEvent(event);
    last = event;
  }
  if (last?.kind !== "answer") throw new Failure("broken");
  return last;
}

/** What the server reads in a file or a text; throws as `work` does. */
export async function read(path, data, { token, signal }) {
  const answer = await post(path, data, { "Content-Type": "application/octet-stream" }, token, signal);
  if (!answer.ok) throw await failure(answer);
  return reach(answer.json(), "broken");
}

/** The names of the tools that a check may be told to use; throws as `work` does. */
export async function tools({ token }) {
  const answer = await ask("/v1/tools", { headers: {} }, token);
  if (!answer.ok) throw await failure(answer);
  const all = (await reach(answer.json(), "broken")).tools;
  return all.filter(({ system }) => !system).map(({ name }) => name);
}

const post = (path, body, headers, token, signal) => ask(path, { method: "POST", headers, body, signal }, token);

function ask(path, { headers, ...options }, token) {
  const known = token ? { ...headers, Authorization: `Bearer ${token}` } : headers;
  return reach(fetch(path, { ...options, headers: known, credentials: "omit", cache: "no-store" }));
}

/** The JSON of each event. Comments, which only keep the connection alive, are passed over. */
async function* events(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reach(reader.read(), "broken");
    if (done) return;
    rest += decoder.decode(value, { stream: true }).replaceAll("\r", "");
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) yield parse(data.map((line) => line.slice(5)).join("\n"));
    }
  }
}

function parse(data) {
  try {
    return JSON.parse(data);
  } catch {
    throw new Failure("broken");
  }
}

async function reach(promise, type = "network") {
  try {
    return await promise;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Failure(type);
  }
}

async function failure(answer) {
  const after = Number.parseInt(answer.headers.get("Retry-After") ?? "", 10);
  let error = {};
  try {
    error = (await answer.json()).error ?? {};
  } catch {
    // Something in between answered, with a page of its own: the status is all there is.
  }
  const type = answer.status === 401 ? "unauthorized" : error.type ?? "http";
  return new Failure(type, error.message ?? `HTTP ${answer.status}`, Number.isNaN(after) ? null : after);
}
