"""The bodies of requests: a JSON object, read strictly, and the fields that each endpoint takes."""

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, PlainValidator, ValidationError, model_validator

from haluagent.checks.claims.records import Aggregator, Format
from haluagent.checks.faithfulness.records import Mode
from haluagent.checks.runs import RunSource
from haluagent.checks.runs.records import AgentRun, TaskType
from haluagent.errors import ConfigError
from haluagent.server.problems import HttpProblem
from haluagent.types import Detection, Record

DEEPEST = 100  # lists and objects inside each other
LARGEST = 10**300  # of the numbers: a float can hold what is smaller
MOST_CALLS = 1000  # of a run: holding each against all before it takes time that no deadline ends

Text = Annotated[str, Field(pattern=r"\S")]
Texts = str | list[str]
Choice = Literal["auto", "en", "zh"]

LANGUAGE: Any = Field(default="auto", description="auto, en or zh: the language of the texts")
QUESTION: Any = Field(default="", description="a text: what was asked, if anything was")
REFERENCE: Any = Field(default=None, description="a text, or a list of texts, to check against")
TOOLS: Any = Field(
    default=None, min_length=1, description="a list of names of tools: only these are called; left out, any is"
)


class StrictBody(Record):
    """A body whose fields have the right types as they are sent. A ConfigError names the first that does not."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_one_line(cls, data: Any, validate: Callable[[Any], Self]) -> Self:
        try:
            return validate(data)
        except ValidationError as error:
            raise ConfigError(_line(cls, error)) from None


class DetectBody(StrictBody):
    """A response, the question it answers, if there is one, and what it may be checked against."""

    question: str | None = QUESTION
    response: Text = Field(description="a text that is not blank: what the language model answered")
    reference: Texts | None = REFERENCE
    tools: list[str] | None = TOOLS
    language: Choice = LANGUAGE


class RecheckBody(StrictBody):
    """A report of `/v1/detect`, the number of the sentence to check again, and what it may be checked against."""

    # Not strict: JSON has no tuples.
    detection: Annotated[Detection, PlainValidator(Detection.model_validate, json_schema_input_type=Detection)] = Field(
        description="a report as /v1/detect gives it"
    )
    sentence: int = Field(ge=1, description="the number of a sentence of the report, from 1")
    reference: Texts | None = REFERENCE
    tools: list[str] | None = TOOLS

    @model_validator(mode="after")
    def _as_it_came(self) -> "RecheckBody":
        response = self.detection.response
        indices: set[int] = set()
        for entry in self.detection.sentences:
            index, (start, end) = entry.sentence.index, entry.sentence.span
            if not 0 <= start <= end or response[start:end] != entry.sentence.text or index in indices:
                raise ConfigError(f"`detection` has no sentence {index} at its place: send the report as it came")
            indices.add(index)
        return self


def joined(reference: Texts | None) -> str | None:
    """Return the texts of a reference as one; None where there is none, or an empty one."""
    return (reference if isinstance(reference, str) else "\n\n".join(reference or [])) or None


def _only(name: str, other: str) -> dict[str, Any]:
    """Return the schema of a body that gives one of two fields, and not the other."""
    return {"required": [name], "properties": {name: {"type": ["string", "array"]}, other: {"type": "null"}}}


class CheckBody(StrictBody):
    """An answer and the documents that it should rest on: `documents` or `document`."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [_only("documents", "document"), _only("document", "documents")]}
    )

    question: str | None = QUESTION
    answer: Text = Field(description="a text that is not blank: the answer to check")
    documents: Texts | None = Field(default=None, description="a text, or a list of texts: what the answer rests on")
    document: Texts | None = Field(default=None, description="another name of `documents`")
    mode: Mode = Field(default="fast", description="fast, judge or agent: how it is checked")
    threshold: float = Field(default=0.5, ge=0, le=1, description="a probability from 0 to 1: FAIL above it")
    language: Choice = LANGUAGE

    @model_validator(mode="after")
    def _one(self) -> "CheckBody":
        if (self.documents is None) == (self.document is None):
            raise ConfigError("give `documents`, a text or a list of texts")
        return self


class ClaimObject(Record):
    """A claim as RefChecker's classes write it; their other fields are not read."""

    model_config = ConfigDict(extra="allow")

    content: Text | Annotated[list[str], Field(min_length=3, max_length=3)]


Claims = list[Text | Annotated[list[str], Field(min_length=3, max_length=3)] | ClaimObject]
_CLAIMS: Any = Field(
    default=None, description="a list of claims, each a text or [head, relation, tail]; left out, they are extracted"
)


class ClaimsBody(StrictBody):
    """An item of RefChecker's files, and how its claims are checked. `id` is passed through."""

    response: Text = Field(description="a text that is not blank: its claims are checked")
    question: str | None = QUESTION
    reference: Texts | None = Field(
        default=None, description="a text, or a list of texts; left out, one is searched for"
    )
    claims: Claims | None = _CLAIMS
    triplets: Claims | None = _CLAIMS
    id: str | int | None = Field(default=None, description="a text or a number of your own")
    format: Format = Field(default="sentence", description="sentence, subsentence or triplet: what a claim is")
    aggregator: Aggregator = Field(default="strict", description="strict, soft or major: how labels make a verdict")
    checker: Literal["choice", "joint"] = Field(default="choice", description="choice or joint: how a claim is judged")
    tools: bool = Field(default=True, description="true or false: whether arithmetic, dates and counts go to tools")
    language: Choice = LANGUAGE


class RunOptions(StrictBody):
    """The options of judging a run. What is left out has the value of the run's task."""

    source: RunSource = Field(
        default="haluagent", description="the form that the run has: " + ", ".join(get_args(RunSource))
    )
    emit: float | None = Field(
        default=None, ge=0, le=1, description="a score from 0 to 1, from which an answer may go out"
    )
    revise: float | None = Field(
        default=None, ge=0, le=1, description="a score from 0 to 1, below which a claim is revised"
    )
    block: float | None = Field(
        default=None, ge=0, le=1, description="a score from 0 to 1, below which a critical claim blocks"
    )
    base_rate: float | None = Field(
        default=None, gt=0, lt=1, description="the share of an answer's claims that are right as a rule"
    )
    probes: bool = Field(default=True, description="true or false: whether critical claims are asked about again")


class RunBody(RunOptions, AgentRun):
    """A recorded run, and the options of judging it."""


class ConvertedRunBody(RunOptions):
    """A run as the library named by `source` kept it, and the options of judging it."""

    source: RunSource
    messages: list[Any] | None = Field(default=None, description="a list of messages or spans")
    items: list[Any] | None = Field(default=None, description="a list of items (openai-responses)")
    tools: list[Any] | None = Field(default=None, description="a list of the tools that were offered")
    system: str | list[Any] | None = Field(default=None, description="the system prompt (anthropic)")
    instructions: str | None = Field(default=None, description="a text: the instructions (openai-responses)")
    task: TaskType | None = Field(default=None, description="factual, high_stakes or creative")
    language: Choice = LANGUAGE


class DetectionRunBody(RunOptions, Detection):
    """A report of `/v1/detect`, whose own steps are the run, and the options of judging it."""

    source: Literal["detection"]


# `source` says which of the three it is. A run is read by the code that reads its files, whose errors name the place.
AnyRun = Annotated[
    dict[str, Any],
    PlainValidator(lambda data: data, json_schema_input_type=RunBody | ConvertedRunBody | DetectionRunBody),
]


def parsed(text: str) -> Any:
    """Return what a text of JSON holds. Raises ValueError for what is not JSON, or is JSON that programs read differently (a name
    twice, NaN), and RecursionError."""
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)


def read(body: bytes, text: int) -> dict[str, Any]:
    """Return the object of a body, whose texts have at most `text` characters together.

    Raises ConfigError for what is not JSON, or is JSON that programs read differently (a name twice, NaN), and HttpProblem where
    the texts are too long.
    """
    try:
        data = parsed(body.decode())
    except UnicodeDecodeError:
        raise ConfigError("the body is not UTF-8 text") from None
    except RecursionError:
        raise ConfigError("the body is nested too deep") from None
    except ValueError as error:
        raise ConfigError(f"the body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ConfigError("the body is not a JSON object")
    examine(data, text)
    return data


def examine(data: dict[str, Any], text: int) -> None:
    """Raise ConfigError for data that is nested too deep, or holds what not every program can, and HttpProblem where its texts
    have more than `text` characters together."""
    try:
        characters = _measure(data)
    except UnicodeEncodeError:
        raise ConfigError("a text holds half a character (a lone surrogate)") from None
    except RecursionError:
        raise ConfigError("the body is nested too deep") from None
    except ValueError as error:
        raise ConfigError(f"the body is not JSON: {error}") from None
    if characters > text:
        raise HttpProblem("too_large", f"the texts have {characters} characters, and {text} are allowed")


def bounded(run: AgentRun) -> AgentRun:
    """Return a run that has at most `MOST_CALLS` calls. Raises ConfigError where it has more."""
    if (calls := sum(len(turn.calls) for turn in run.turns)) > MOST_CALLS:
        raise ConfigError(f"the run has {calls} calls: at most {MOST_CALLS} are checked in one request")
    return run


def _line(model: type[Record], error: ValidationError) -> str:
    """Say what is wrong with the first field that is."""
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0])
    kind = first["type"] if len(first["loc"]) == 1 else "of a part"
    if kind == "extra_forbidden":
        return f"`{name[:80]}` is no field here: there are {', '.join(model.model_fields)}"
    wanted = model.model_fields[name].description
    return f"`{name}` is missing: it is {wanted}" if kind == "missing" else f"`{name}` should be {wanted}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object has a name twice")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _measure(data: Any) -> int:
    """Count the characters of all texts.

    Raises ValueError for a number that no float can hold, UnicodeEncodeError for half a character and RecursionError for data
    that is nested too deep.
    """
    characters, parts = 0, [(data, 1)]
    while parts:
        part, depth = parts.pop()
        if depth > DEEPEST:
            raise RecursionError
        if isinstance(part, str):
            part.encode()
            characters += len(part)
        elif isinstance(part, dict):
            parts += [(inner, depth + 1) for pair in part.items() for inner in pair]
        elif isinstance(part, list):
            parts += [(inner, depth + 1) for inner in part]
        elif isinstance(part, int | float) and not abs(part) < LARGEST:
            raise ValueError("a number is too large")
    return characters
