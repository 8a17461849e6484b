"""The question of a conversation, and what its answer can be compared with."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from haluagent.server.proxy.settings import ReferenceRule

Speaker = Literal["system", "user", "tool", "assistant"]
SPEAKERS: dict[Any, Speaker] = {
    "system": "system", "developer": "system", "user": "user", "tool": "tool", "function": "tool", "assistant": "assistant",
}  # fmt: skip


class AskedQuestion(NamedTuple):
    """The last message of the user without its blocks, and the reference; None where nothing counts as one."""

    question: str
    reference: str | None


def asked(messages: Iterable[tuple[Speaker, str]], rule: ReferenceRule) -> AskedQuestion:
    """Return what a conversation asks, and what it offers as reference."""
    question, found = "", []
    for speaker, text in messages:
        rest, blocks = rule.cut(text) if "block" in rule.sources else (text.strip(), [])
        if speaker == "tool" and "tool" in rule.sources or speaker == "system" and "system" in rule.sources:
            found.append(text.strip())
        elif speaker in ("system", "user"):
            found += blocks
        if speaker == "user":
            question = rest
    return AskedQuestion(question, "\n\n".join(filter(None, found)) or None)


def text_of(content: Any) -> str:
    """Return the text of a message's content, which is a text or a list of parts; pictures and sounds have none."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
