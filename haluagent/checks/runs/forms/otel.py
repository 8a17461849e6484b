"""Converting OpenTelemetry's spans of generative AI (semantic conventions 1.37 and later) to runs.

The attributes gen_ai.system_instructions, gen_ai.input.messages, gen_ai.output.messages and gen_ai.tool.definitions are
read from spans of inference, as JSON text or as data; gen_ai.tool.name, gen_ai.tool.call.id, gen_ai.tool.call.arguments
and gen_ai.tool.call.result from `execute_tool` spans. Instrumentations record them only if told to.
"""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Unpack

from haluagent.checks.runs.forms.assemble import Assembly, RunHeader
from haluagent.checks.runs.forms.merge import Merge
from haluagent.checks.runs.forms.plain import arguments_of, dump, load, name_of, objects, plain, text_of, tools_of
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError

CONTENT = {
    "conversation": "gen_ai.conversation.id",
    "input": "gen_ai.input.messages",
    "output": "gen_ai.output.messages",
}


class Span(NamedTuple):
    attributes: dict[str, Any]
    start: str  # sorts chronologically
    failed: bool
    trace: str
    place: str

    def data(self, name: str) -> Any:
        """Return an attribute that holds data, which spans may give as JSON text."""
        value = self.attributes.get(name)
        if not isinstance(value, str):
            return value
        try:
            return load(value)
        except ValueError:
            raise ConfigError(f"{self.place}: {name} is not JSON: was it cut off?") from None


def from_otel(spans: Any, **about: Unpack[RunHeader]) -> AgentRun:
    """Convert the spans of one trace to a run.

    `spans` is OTLP's JSON, a list of its spans, or spans of the Python SDK (objects, or the data of their `to_json`),
    in any order. The model's last answer is the answer. A tool's span gives the result if no message does, and says
    whether it failed. Raise a `ConfigError` that names the span, also if no span has messages.
    """
    found = sorted(
        (_span(span, f"spans[{number}]") for number, span in enumerate(_listed(spans))), key=lambda span: span.start
    )
    traces = sorted({span.trace for span in found if span.trace})
    if len(traces) > 1:
        raise ConfigError(f"the spans are of {len(traces)} traces: give those of one")
    inference = [span for span in found if _operation(span) != "execute_tool" and _has_messages(span)]
    # The span of an agent repeats what those of its model say.
    asked = {span.place for span in inference if _operation(span) != "invoke_agent"} or {
        span.place for span in inference
    }
    if not asked:
        raise ConfigError(
            "no span has gen_ai.input.messages or gen_ai.output.messages: have the instrumentation record the content of messages"
        )
    made, merge = Assembly(), Merge()
    tools: dict[str, Any] = {}
    for span in found:
        if _operation(span) == "execute_tool":
            _tool_span(made, span)
        elif span.place in asked:
            _inference(made, merge, span)
        definitions = objects(span.data("gen_ai.tool.definitions") or [], f"{span.place}: gen_ai.tool.definitions")
        tools |= {str(tool.get("name")): tool for tool in definitions}
    about.setdefault("run_id", traces[0] if traces else None)
    return made.run(tools_of(list(tools.values()), "gen_ai.tool.definitions"), about)


def _inference(made: Assembly, merge: Merge, span: Span) -> None:
    made.instruct(text_of(span.data("gen_ai.system_instructions")))
    sent = _parts(span, CONTENT["input"])
    for (role, part, place), new in zip(sent, merge.new([_key(role, part) for role, part, _ in sent]), strict=True):
        if new:
            _add(made, role, part, place)
    for role, part, place in _parts(span, CONTENT["output"]):
        merge.said(_key(role, part))
        _add(made, role, part, place)


def _parts(span: Span, name: str) -> list[tuple[str, dict[str, Any], str]]:
    """Return the parts of an attribute's messages, each with its role and place.

    The texts of one message are one part.
    """
    found = []
    for number, message in enumerate(objects(span.data(name) or [], f"{span.place}: {name}")):
        place = f"{span.place}: {name}[{number}]"
        role = name_of(message, "role", place)
        texts: list[str] = []
        rest = []
        for part in objects(message.get("parts") or [], f"{place}.parts"):
            kind = name_of(part, "type", f"{place}.parts")
            if kind == "text":
                texts.append(text_of(part.get("content")))
            elif kind in ("tool_call", "tool_call_response"):
                rest.append((role, part, place))
        text = ("" if role == "assistant" else "\n").join(texts)
        found += [(role, {"type": "text", "content": text}, place)] if text else []
        found += rest
    return found


def _key(role: str, part: dict[str, Any]) -> Hashable:
    """Return what identifies a part across requests: a call and its result have an id, and are written in several
    ways."""
    if part["type"] == "text":
        return (role, part["content"])
    named = part.get("id") or [part.get("name"), arguments_of(part.get("arguments")), part.get("response")]
    return (part["type"], dump(named))


def _add(made: Assembly, role: str, part: dict[str, Any], place: str) -> None:
    given = part.get("id") if isinstance(part.get("id"), str) else None
    if part["type"] == "tool_call":
        tool, arguments = name_of(part, "name", place), arguments_of(part.get("arguments"))
        before = made.calls_of_id[given].all if given else []
        if not any((call.tool, call.arguments) == (tool, arguments) for call in before):
            made.call(given, tool, arguments)  # otherwise its span came before
    elif part["type"] == "tool_call_response":
        result = text_of(part.get("response", part.get("result")))
        if given:
            _told(made, given, result, place)
        else:
            _first_open(made, result, place)
    elif role == "system":
        made.instruct(part["content"])
    elif role in ("user", "assistant"):
        made.say("user" if role == "user" else "assistant", part["content"])


def _told(made: Assembly, given: str, result: str, place: str) -> None:
    """Set the result that a message gives, on the first call of that id for which no message has.

    It replaces the result of a span, because what the model read counts.
    """
    same = made.calls_of_id[given]
    call = next((call for call in same.all if not call.told), None) or next(reversed(same.all), None)
    if call is None:
        made.result(given, result, False, place)  # raises the error that it was not called
    else:
        made.answer(call, result, call.failed)
        call.told = True


def _first_open(made: Assembly, result: str, place: str) -> None:
    """Set a result that names no call on the first call without one."""
    call = made.calls.first_open()
    if call is None:
        raise ConfigError(f"{place} is a result, and no call waits for one")
    made.answer(call, result, False)


def _tool_span(made: Assembly, span: Span) -> None:
    tool = name_of(span.attributes, "gen_ai.tool.name", span.place)
    given = span.attributes.get("gen_ai.tool.call.id")
    if isinstance(given, str) and given:
        call = next(reversed(made.calls_of_id[given].all), None)
    else:
        call = None if given else made.calls_of_tool[tool].last_open()
    if call is None:
        arguments = span.attributes.get("gen_ai.tool.call.arguments")
        call = made.call(given if isinstance(given, str) else None, tool, arguments_of(arguments))
    result = span.attributes.get("gen_ai.tool.call.result")
    if result is None and span.failed:
        result = span.attributes.get("error.type") or "error"
    if result is not None:
        made.answer(call, call.result or text_of(result), span.failed)
    call.failed = span.failed


def _operation(span: Span) -> str:
    return str(span.attributes.get("gen_ai.operation.name") or "")


def _has_messages(span: Span) -> bool:
    return any(span.attributes.get(CONTENT[name]) for name in ("input", "output"))


def _listed(spans: Any) -> list[Any]:
    """Return the spans in OTLP's JSON, or in a list."""
    if isinstance(spans, Mapping) and "resourceSpans" not in spans:
        spans = spans.get("spans", [spans])
    if not isinstance(spans, Mapping):
        if not isinstance(spans, list | tuple):
            raise ConfigError("spans is neither a list of spans nor an object with resourceSpans")
        return list(spans)
    found: list[Any] = []
    for resource in objects(spans["resourceSpans"] or [], "resourceSpans"):
        for scope in objects(resource.get("scopeSpans") or [], "scopeSpans"):
            found += objects(scope.get("spans") or [], "spans")
    return found


def _span(span: Any, place: str) -> Span:
    if not isinstance(span, Mapping) and hasattr(span, "attributes") and hasattr(span, "status"):  # of the SDK
        return Span(
            plain(dict(span.attributes or {}), place),
            str(span.start_time or 0).zfill(20),
            getattr(span.status.status_code, "name", "") == "ERROR",
            f"{span.context.trace_id:032x}" if span.context else "",
            place,
        )
    fields = plain(span, place)
    if not isinstance(fields, dict):
        raise ConfigError(f"{place} is not an object")
    given, context, status = fields.get("attributes") or {}, fields.get("context") or {}, fields.get("status") or {}
    if not isinstance(context, dict) or not isinstance(status, dict):
        raise ConfigError(f"{place} is no span: context and status are objects")
    if isinstance(given, list):
        pairs = objects(given, f"{place}.attributes")
        given = {name_of(pair, "key", f"{place}.attributes"): _value(pair.get("value")) for pair in pairs}
    if not isinstance(given, dict):
        raise ConfigError(f"{place}.attributes is neither a list nor an object")
    start = fields.get("startTimeUnixNano") or fields.get("start_time") or 0
    failed = status.get("code", status.get("status_code")) in (2, "STATUS_CODE_ERROR", "ERROR")
    trace = fields.get("traceId") or context.get("trace_id") or ""
    return Span(given, str(start).zfill(20), failed, str(trace).removeprefix("0x"), place)


def _value(value: Any) -> Any:
    """Return the value in OTLP's JSON, which names the type of every value."""
    if not isinstance(value, dict):
        return value
    if isinstance(value.get("arrayValue"), dict):
        return [_value(member) for member in _members(value["arrayValue"])]
    if isinstance(value.get("kvlistValue"), dict):
        pairs = objects(_members(value["kvlistValue"]), "kvlistValue")
        return {str(pair.get("key")): _value(pair.get("value")) for pair in pairs}
    return next((member for name, member in value.items() if name.endswith("Value")), None)


def _members(value: dict[str, Any]) -> list[Any]:
    values = value.get("values")
    return values if isinstance(values, list) else []
