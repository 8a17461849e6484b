// The forms that the run of an agent may have, and a guess which of them a text is.

export const FORMS = ["haluagent", "openai", "openai-responses", "anthropic", "langgraph", "otel", "toolbench", "detection"];

/** The likeliest form of a run's JSON; the server says what does not fit. */
export function guess(text) {
  let given;
  try {
    given = JSON.parse(text);
  } catch {
    return "haluagent";
  }
  const has = (...names) => names.every((name) => given !== null && typeof given === "object" && name in given);
  if (has("run_id", "turns")) return "haluagent";
  if (has("sentences", "steps")) return "detection";
  if (has("conversations") || has("answer_generation")) return "toolbench";
  if (has("resourceSpans") || has("resource_spans")) return "otel";
  const items = [given?.messages ?? given?.items ?? given].flat().filter((item) => item !== null && typeof item === "object");
  const some = (test) => items.some(test);
  if (some((item) => "traceId" in item || "trace_id" in item || "resourceSpans" in item || "context" in item)) return "otel";
  if (has("items") || some((item) => ["function_call", "function_call_output", "message", "mcp_call"].includes(item.type))) return "openai-responses";
  if (some((item) => ["human", "ai"].includes(item.type ?? item[0]) || Array.isArray(item.id))) return "langgraph";
  if (has("system") || some((item) => Array.isArray(item.content) && item.content.some((part) => ["tool_use", "tool_result"].includes(part?.type)))) return "anthropic";
  return "openai";
}
