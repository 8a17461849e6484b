"""Converting the data of OpenAI's two interfaces to runs: the messages of a chat, and the items of the Responses
API."""

from typing import Any, Unpack

from haluagent.checks.runs.forms.assemble import Assembly, RunHeader
from haluagent.checks.runs.forms.plain import arguments_of, name_of, objects, text_of, tools_of
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError

SYSTEM = ("system", "developer")


def from_openai_chat(messages: Any, tools: Any = (), **about: Unpack[RunHeader]) -> AgentRun:
    """Convert the messages of Chat Completions to a run, including those of tools (also the old `function_call`).

    `tools` are as given to the request. Arguments that are not a JSON object stay the text that the model wrote. The
    interface does not say which results are errors. Raise a `ConfigError` that names the message.
    """
    made = Assembly()
    for number, message in enumerate(objects(messages, "messages")):
        chat_message(made, message, f"messages[{number}]")
    return made.run(tools_of(tools), about)


def chat_message(made: Assembly, message: dict[str, Any], place: str) -> None:
    """Add one message of a chat."""
    role = name_of(message, "role", place)
    content = message.get("content")
    if role in SYSTEM:
        made.instruct(text_of(content))
    elif role == "user":
        made.say("user", text_of(content))
    elif role == "assistant":
        made.say("assistant", text_of(content, "", others=False) or text_of(message.get("refusal")))
        for at, call in enumerate(objects(message.get("tool_calls") or [], f"{place}.tool_calls")):
            chat_call(made, call, f"{place}.tool_calls[{at}]")
        if old := message.get("function_call"):
            chat_call(made, {"function": old}, f"{place}.function_call")
    elif role == "tool":
        made.result(name_of(message, "tool_call_id", place), text_of(content), False, place)
    elif role == "function":
        made.result(None, text_of(content), False, place, tool=name_of(message, "name", place))
    else:
        raise ConfigError(f"{place}.role is {role!r}: use system, developer, user, assistant, tool or function")


def chat_call(made: Assembly, call: dict[str, Any], place: str) -> None:
    """Add one call, of a function or of a custom tool, whose argument is a text."""
    function = call.get("function") or call.get("custom")
    if not isinstance(function, dict):
        raise ConfigError(f"{place} has no function")
    given = call.get("id")
    arguments = arguments_of(function.get("arguments", function.get("input")))
    made.call(given if isinstance(given, str) else None, name_of(function, "name", place), arguments)


def from_openai_responses(
    items: Any, tools: Any = (), *, instructions: Any = None, **about: Unpack[RunHeader]
) -> AgentRun:
    """Convert the items of the Responses API to a run: those of the input and of every output, in order.

    Calls of functions, of custom tools and of MCP servers are read. Reasoning and calls of the provider's own tools are
    left out, because their results are not in the items. `items` may be a text: the user's question. Raise a
    `ConfigError` that names the item.
    """
    made = Assembly()
    made.instruct(text_of(instructions))
    given = [{"role": "user", "content": items}] if isinstance(items, str) else items
    for number, item in enumerate(objects(given, "items")):
        response_item(made, item, f"items[{number}]")
    return made.run(tools_of(tools), about)


def response_item(made: Assembly, item: dict[str, Any], place: str) -> None:
    """Add one item of the Responses API. One without a type is a message."""
    kind = item.get("type") or "message"
    if kind == "message":
        role = name_of(item, "role", place)
        if role in SYSTEM:
            made.instruct(text_of(item.get("content")))
        elif role == "user":
            made.say("user", text_of(item.get("content")))
        elif role == "assistant":
            made.say("assistant", text_of(item.get("content"), "", others=False))
        else:
            raise ConfigError(f"{place}.role is {role!r}: use system, developer, user or assistant")
    elif kind in ("function_call", "custom_tool_call"):
        arguments = arguments_of(item.get("arguments", item.get("input")))
        made.call(name_of(item, "call_id", place), name_of(item, "name", place), arguments)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        made.result(
            name_of(item, "call_id", place), text_of(item.get("output")), item.get("status") == "incomplete", place
        )
    elif kind == "mcp_call":
        call = made.call(name_of(item, "id", place), name_of(item, "name", place), arguments_of(item.get("arguments")))
        error, output = item.get("error"), item.get("output")
        if error is not None or output is not None:
            call.result, call.failed = text_of(output if error is None else error), error is not None
