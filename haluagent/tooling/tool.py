"""A tool as the registry knows it: a function, what the model must know of it, and its demos."""

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from haluagent.protocols import ToolContext
from haluagent.text.segment import split
from haluagent.types import Language, Record, Sentence, Span, ToolResult

ARGUMENT_TYPES = (str, int, float, bool, Sentence)


class Demo(Record):
    """One worked turn, shown to the model in its language.

    `call` is an action in the turn format, such as `date(sentence=S1)`.
    """

    language: Language
    question: str
    response: str
    thought: str
    call: str
    observation: str
    reference: str | None = None

    @property
    def item(self) -> dict[str, Any]:
        """Return the demo as the `task` prompt takes it; cut into sentences where its call points to one."""
        pointer = re.search(r"\bsentence=(S\d+)", self.call)
        shown = [(sentence.name, sentence.text) for sentence in split(self.response)] if pointer else []
        return {
            "question": self.question,
            "reference": self.reference,
            "sentences": shown or [("S1", self.response)],
            "target": pointer and pointer[1],
            "claim": dict(shown).get(pointer[1], self.response) if pointer else self.response,
        }


def every_sentence(context: ToolContext, sentence: Sentence) -> bool:
    return sentence.index > 0


def no_sentence(context: ToolContext, sentence: Sentence) -> bool:
    return False


def always(question: str, response: str) -> bool:
    return True


def nothing(context: ToolContext) -> Sequence[Span]:
    return ()


def model_decides(context: ToolContext, sentence: Sentence) -> dict[str, Any] | None:
    return None


@dataclass(frozen=True)
class Tool:
    """A function, and what the model must know about it.

    `when(context, sentence)` says whether the tool could decide anything about a sentence; only then is it
    offered. Index 0 is the whole response: a tool that returns True for it checks a condition of the question.
    A `general` tool fits any statement; it is offered where no specific one has something to decide. An `external`
    one looks outside of what was given, so it comes after those that read the reference, where there is one.
    `covers(context)` gives the spans of the response that the tool judges as part of the whole (index 0), such as code:
    sentences inside them claim nothing by themselves. `obvious(context, sentence)` gives the arguments where there is only
    one way to call the tool, else None: a tool that is offered alone is then called without asking the model.
    `adds(context, sentence)` says that the tool can compute facts about a sentence that it cannot decide, with the sentence alone
    as its argument and without the model: they are computed before the sentence is judged, or offered to a model that leads.
    `plausible(context, sentence)` says whether such a model may call the tool where `when` found nothing for it: the sentence
    looks like one for the tool, and what it means is for the model to read.
    `listed(question, response)` says whether the model is told of the tool: one that few responses need is left out of the
    instructions for all others, which stay as short as they were.
    """

    name: str
    description: dict[Language, str]
    demos: tuple[Demo, ...]
    run: Callable[..., Awaitable[ToolResult]]
    arguments: type[BaseModel]
    parameters: dict[str, inspect.Parameter] = field(repr=False)
    when: Callable[[ToolContext, Sentence], bool]
    system: bool = False
    general: bool = False
    external: bool = False
    covers: Callable[[ToolContext], Sequence[Span]] = field(default=nothing, repr=False)
    obvious: Callable[[ToolContext, Sentence], dict[str, Any] | None] = field(default=model_decides, repr=False)
    adds: Callable[[ToolContext, Sentence], bool] = field(default=no_sentence, repr=False)
    plausible: Callable[[ToolContext, Sentence], bool] = field(default=no_sentence, repr=False)
    listed: Callable[[str, str], bool] = field(default=always, repr=False)

    @cached_property
    def types(self) -> dict[str, Any]:
        """Return the type of each argument, as `argument_type` gives it."""
        hints = get_type_hints(self.run)
        return {name: argument_type(hints.get(name)) for name in self.parameters}

    def signature(self) -> str:
        """Return the signature as shown to the model: `calculator(sentence, formula?)`."""
        parts = []
        for name, parameter in self.parameters.items():
            optional = parameter.default is not inspect.Parameter.empty
            parts.append(f"{name}?" if optional else name)
        return f"{self.name}({', '.join(parts)})"

    def schema(self, sentences: Sequence[str] = ()) -> dict[str, Any]:
        """Return the JSON Schema of a call's arguments as the model writes them. A sentence is given by its name, one of
        `sentences` where these are known."""
        schema = self.arguments.model_json_schema()
        schema.pop("$defs", None)
        if "sentence" in self.parameters:
            optional = self.parameters["sentence"].default is None
            named = {"enum": [*sentences, *([None] if optional else [])]}
            of_any = {"type": ["string", "null"] if optional else "string", "pattern": r"^S\d+$"}
            schema["properties"]["sentence"] = named if sentences else of_any
        return schema


def argument_type(annotation: Any) -> Any:
    """Return the type of an annotation without its `| None`; None where it is not one that can be sent."""
    options = [option for option in get_args(annotation) if option is not type(None)]
    if get_origin(annotation) is Literal:
        return annotation if all(isinstance(option, str) for option in options) else None
    if annotation in ARGUMENT_TYPES:
        return annotation
    if get_origin(annotation) in (Union, UnionType) and len(options) == 1:
        return argument_type(options[0])
    return None
