"""Every word that is sent to a model: Jinja2 templates, one file per prompt and language, and `render`."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, cast

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from haluagent.protocols import Message, Role

FOLDERS = (
    "agent",
    "judging",
    "tools",
    "claims",
    "faithfulness",
    "runs",
    "reliability",
    "bench",
)  # no name is in two of them

_TAG = re.compile(r"<(?=/?\s*(?:question|response|reference|text|statement|observation)\b|\|)", re.IGNORECASE)

_TURN = "\x02"  # parts the messages of a conversation; never left in text from outside


def fence(text: str) -> str:
    """Text from outside, made unable to close the tags it is put between, to imitate a chat template's marks, or to
    begin a message of its own."""
    return _TAG.sub("<\u200b", str(text).replace(_TURN, " "))


@cache
def environment() -> Environment:
    """The one template environment: a variable that is missing is an error."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("haluagent.prompts", folder) for folder in FOLDERS]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.filters["fence"] = fence
    environment.globals["says"] = lambda role: f"{_TURN}{role}"
    return environment


def render(name: str, language: str, **variables: Any) -> str:
    """The prompt `name` in `language`. Raises jinja2.UndefinedError where a variable is missing."""
    return environment().get_template(f"{name}.{language}.jinja2").render(**variables).strip()


class Rendered(NamedTuple):
    """The prompt that a conversation was made from, and with what."""

    prompt: str
    variables: dict[str, Any]


_remembered: ContextVar[dict[tuple[str, ...], Rendered] | None] = ContextVar("remembered", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember, until the end of the block, what conversations are made from: a teacher in the place of a model has to know
    what it is asked."""
    token = _remembered.set({})
    try:
        yield
    finally:
        _remembered.reset(token)


def origin(messages: Sequence[Message]) -> Rendered | None:
    """Return what a conversation was made from; None for one that was put together without a prompt of its own, and
    outside of `remembering`."""
    return (_remembered.get() or {}).get(tuple(message["content"] for message in messages))


def conversation(name: str, language: str, **variables: Any) -> list[Message]:
    """Render a prompt as messages: a template marks where one begins with `says("user")`; without marks it is one user
    message. Raises as `render` does."""
    text = render(name, language, **variables)
    turns = [turn.partition("\n") for turn in text[1:].split(_TURN)] if text.startswith(_TURN) else [("user", "", text)]
    messages = [Message(role=cast(Role, role), content=content.strip()) for role, _, content in turns]
    if (remembered := _remembered.get()) is not None:
        remembered[tuple(message["content"] for message in messages)] = Rendered(name, variables)
    return messages
