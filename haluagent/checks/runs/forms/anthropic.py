"""Converting Anthropic's messages to runs."""

from typing import Any, Unpack

from haluagent.checks.runs.forms.assemble import Assembly, RunHeader
from haluagent.checks.runs.forms.plain import arguments_of, name_of, objects, plain, text_of, tools_of
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError


def from_anthropic(messages: Any, system: Any = None, tools: Any = (), **about: Unpack[RunHeader]) -> AgentRun:
    """Convert the messages of Anthropic's Messages API to a run.

    Texts, `tool_use` and `tool_result` blocks are read, also those of MCP and of tools that ran at the provider.
    Thinking and pictures are left out. `system` is a text or a list of blocks; the last message is the model's answer.
    Raise a `ConfigError` that names the message and the block.
    """
    made = Assembly()
    made.instruct(text_of(plain(system, "system")))
    for number, message in enumerate(objects(messages, "messages")):
        place = f"messages[{number}]"
        role = name_of(message, "role", place)
        if role == "system":
            made.instruct(text_of(message.get("content")))
        elif role in ("user", "assistant"):
            _message(made, "user" if role == "user" else "assistant", message.get("content"), place)
        else:
            raise ConfigError(f"{place}.role is {role!r}: use user or assistant")
    return made.run(tools_of(tools), about)


def _message(made: Assembly, role: Any, content: Any, place: str) -> None:
    if isinstance(content, str):
        made.say(role, content)
        return
    text: list[str] = []  # the model's text comes in pieces, cut at the beginning and end of citations
    for at, block in enumerate(objects(content if content is not None else [], f"{place}.content")):
        where = f"{place}.content[{at}]"
        kind = name_of(block, "type", where)
        if kind == "text":
            text.append(name_of(block, "text", where))
            continue
        if not kind.endswith(("tool_use", "tool_result")):
            continue
        made.say(role, _joined(role, text))
        text = []
        if kind.endswith("tool_use"):
            made.call(name_of(block, "id", where), name_of(block, "name", where), arguments_of(block.get("input")))
        else:
            result = block.get("content")
            made.result(name_of(block, "tool_use_id", where), text_of(result), _failed(block, result), where)
    made.say(role, _joined(role, text))


def _joined(role: str, text: list[str]) -> str:
    return ("" if role == "assistant" else "\n").join(text)


def _failed(block: dict[str, Any], result: Any) -> bool:
    """Return whether a result is an error; tools that ran at the provider show it by the type of the result."""
    kind = result.get("type") if isinstance(result, dict) else None
    return block.get("is_error") is True or (isinstance(kind, str) and kind.endswith("_error"))
