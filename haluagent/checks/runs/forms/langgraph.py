"""Converting the messages of LangChain and LangGraph to runs."""

from collections.abc import Mapping
from typing import Any, Unpack

from haluagent.checks.runs.forms.assemble import Assembly, RunHeader
from haluagent.checks.runs.forms.openai import chat_message
from haluagent.checks.runs.forms.plain import arguments_of, name_of, objects, plain, text_of, tool_of, tools_of
from haluagent.checks.runs.records import AgentRun, ToolSpec
from haluagent.errors import ConfigError

# The fields that are read of a message. Others, such as a tool's artifact, may be anything.
FIELDS = "type role name content tool_calls invalid_tool_calls tool_call_id status function_call".split()
MORE = "additional_kwargs"
STOPPED = "haluagent_stopped"  # marks the messages about calls that a guard stopped, among these
PAIR_ROLES = {"human": "user", "ai": "assistant"}


def from_langgraph(messages: Any, tools: Any = (), **about: Unpack[RunHeader]) -> AgentRun:
    """Convert messages of LangChain to a run.

    They are objects, their dicts (`model_dump`, `message_to_dict`), pairs of role and text, or messages in OpenAI's
    form. Calls that LangChain could not read (`invalid_tool_calls`) keep the text that the model wrote; a tool message
    with the status `error` is a failed call, and that of a guard a stopped one. `tools` are LangChain's tools or their
    definitions. Needs no LangChain for dicts. Raise a `ConfigError` that names the message.
    """
    made = Assembly()
    if not isinstance(messages, list | tuple):
        raise ConfigError("messages is not a list")
    for number, message in enumerate(messages):
        if isinstance(message, list | tuple) and len(message) == 2 and isinstance(message[0], str):
            message = {"role": PAIR_ROLES.get(message[0], message[0]), "content": message[1]}
        if hasattr(message, "model_dump"):
            message = {name: getattr(message, name) for name in (*FIELDS, MORE) if hasattr(message, name)}
        place = f"messages[{number}]"
        if isinstance(message, dict) and isinstance(message.get("data"), dict):  # of message_to_dict
            message = {**message["data"], "type": message.get("type")}
        if not isinstance(message, dict):
            raise ConfigError(f"{place} is neither a message, nor an object, nor a pair of role and text")
        more = message.get(MORE)
        _message(made, _read(message, place), place, stopped=isinstance(more, Mapping) and more.get(STOPPED) is True)
    return made.run(tools_of([*map(_definition, tools)] if isinstance(tools, list | tuple) else tools), about)


def tool_spec(tool: Any) -> ToolSpec:
    """Convert a tool of LangChain, or its definition. Raise `ConfigError` for an invalid one."""
    return tool_of(_definition(tool), "the tool")


def _read(message: Mapping[str, Any], place: str) -> dict[str, Any]:
    return {name: plain(value, f"{place}.{name}") for name, value in message.items() if name in FIELDS}


def _message(made: Assembly, message: dict[str, Any], place: str, *, stopped: bool) -> None:
    if "role" in message and message.get("type") in (None, "chat", "ChatMessageChunk"):
        chat_message(made, message, place)
        return
    kind = name_of(message, "type", place).removesuffix("MessageChunk").lower()
    content = message.get("content")
    if kind == "system":
        made.instruct(text_of(content))
    elif kind == "human":
        made.say("user", text_of(content))
    elif kind == "ai":
        made.say("assistant", text_of(content, "", others=False))
        for name in ("tool_calls", "invalid_tool_calls"):
            for at, call in enumerate(objects(message.get(name) or [], f"{place}.{name}")):
                given = call.get("id")
                tool = name_of({"name": "", **_set(call)}, "name", f"{place}.{name}[{at}]")
                made.call(given if isinstance(given, str) else None, tool, arguments_of(call.get("args")))
    elif kind == "tool":
        called, failed = name_of(message, "tool_call_id", place), message.get("status") == "error"
        made.result(called, text_of(content), failed, place, stopped=stopped)
    elif kind == "function":
        made.result(None, text_of(content), False, place, tool=name_of(message, "name", place))
    elif kind != "remove":
        raise ConfigError(f"{place}.type is {kind!r}: use system, human, ai or tool")


def _set(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _definition(tool: Any) -> Any:
    """Return the definition that a model is given of a LangChain tool; a definition is returned unchanged."""
    if not hasattr(tool, "tool_call_schema"):
        return tool
    from langchain_core.utils.function_calling import convert_to_openai_tool

    return convert_to_openai_tool(tool)
