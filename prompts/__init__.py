"""The prompts sent to a model, as Jinja2 templates (one file per prompt and language), and `render`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, cast

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from haluagent.prompts.fencing import without_marks, without_turns
from haluagent.protocols import Message, Role

# No template name may be in two of them.
FOLDERS = (
    "agent",
    "judging",
    "tools",
    "claims",
    "faithfulness",
    "runs",
    "reliability",
    "bench",
    "proxy",
)

_TURN = "\x02"  # separates the messages of a conversation; `fence` removes it from outside text


def fence(text: str) -> str:
    """Break the marks in outside text, so that it can neither close the tags around it, nor imitate a chat template's
    marks or a turn of the agent, nor begin a message of its own."""
    return without_turns(fence_turn(text))


def fence_turn(text: str) -> str:
    """Break the marks in a turn of the model, which may repeat outside text. What begins the turn's lines stays."""
    return without_marks(str(text).replace(_TURN, " "))


@cache
def environment() -> Environment:
    """Return the one template environment, in which a missing variable is an error."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("haluagent.prompts", folder) for folder in FOLDERS]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        auto_reload=False,
    )
    environment.filters["fence"] = fence
    environment.globals["says"] = lambda role: f"{_TURN}{role}"
    return environment


def render(name: str, language: str, **variables: Any) -> str:
    """Render the prompt `name` in `language`. Raise `jinja2.UndefinedError` if a variable is missing."""
    return environment().get_template(f"{name}.{language}.jinja2").render(**variables).strip()


class Rendered(NamedTuple):
    """The prompt and the variables that a conversation was rendered from."""

    prompt: str
    variables: dict[str, Any]


_remembered: ContextVar[dict[tuple[str, ...], Rendered] | None] = ContextVar("remembered", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember the origin of every conversation rendered in this block, for a teacher that stands in for a model and
    has to know what it is asked."""
    token = _remembered.set({})
    try:
        yield
    finally:
        _remembered.reset(token)


def origin(messages: Sequence[Message]) -> Rendered | None:
    """Return the prompt and variables that a conversation was rendered from; None outside `remembering`, or if it was
    not rendered from a prompt."""
    return (_remembered.get() or {}).get(tuple(message["content"] for message in messages))


def conversation(name: str, language: str, **variables: Any) -> list[Message]:
    """Render a prompt as messages. Raise as `render` does.

    A template begins a message with `says("user")`; a template without such marks is one user message.
    """
    text = render(name, language, **variables)
    turns = [turn.partition("\n") for turn in text[1:].split(_TURN)] if text.startswith(_TURN) else [("user", "", text)]
    messages = [Message(role=cast(Role, role), content=content.strip()) for role, _, content in turns]
    if (remembered := _remembered.get()) is not None:
        remembered[tuple(message["content"] for message in messages)] = Rendered(name, variables)
    return messages
