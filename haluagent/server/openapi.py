"""The parts of the OpenAPI document that FastAPI does not derive from the endpoints: errors, answers and events."""

from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import ConfigDict, TypeAdapter

from haluagent import __version__
from haluagent.checks.claims.records import Relation, Verdict
from haluagent.checks.faithfulness.records import Faithfulness, Score
from haluagent.events import Event
from haluagent.server.bodies import ClaimObject
from haluagent.server.problems import ERRORS, Type
from haluagent.server.settings import ServerSettings
from haluagent.types import Language, Record

Responses = dict[int | str, dict[str, Any]]

HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}},
}
JOB_ERRORS: tuple[Type, ...] = (
    "unauthorized", "invalid", "too_large", "media_type", "busy", "model", "stopping", "not_ready", "deadline",
)  # fmt: skip
FOUND: Responses = {
    200: {
        "description": "What was found. With `Accept: text/event-stream` the answer is a stream of server-sent events, each with "
        "its kind as `event` and a `StreamEvent` as `data`. It ends with `answer` or `error`, and never without one of them.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
TOKEN = {"type": "http", "scheme": "bearer", "description": "Where the server was started with a token."}


class ErrorText(Record):
    type: Type
    message: str


class ErrorAnswer(Record):
    error: ErrorText


class ServerStatus(Record):
    status: Literal["ok", "ready"]


class ToolEntry(Record):
    """A tool. `system`: it belongs to the agent itself, and cannot be named in `tools`."""

    name: str
    system: bool
    description: dict[Language, str]
    parameters: dict[str, Any]


class ToolList(Record):
    tools: list[ToolEntry]


class CheckAnswer(Faithfulness):
    """The record of a check, and the two fields that Lynx writes."""

    REASONING: tuple[str, ...]
    SCORE: Score | None


class ClaimsAnswer(Record):
    """RefChecker's item: what was given, with the labels beside it.

    `ys` has a label for each claim, `Y` is that of the response, and `haluagent` has places and cost.
    """

    model_config = ConfigDict(extra="allow")

    response: str
    claims: list[str | tuple[str, str, str] | ClaimObject] | None = None
    triplets: list[str | tuple[str, str, str] | ClaimObject] | None = None
    ys: list[Relation] = []
    Y: Verdict | dict[str, float] = {}
    error: str = ""
    haluagent: dict[str, Any]


class WaitingEvent(Record):
    kind: Literal["waiting"]
    before: int


class ResultEvent(Record):
    """The answer of a check, of claims or of a run."""

    kind: Literal["answer"]
    result: dict[str, Any]


class ErrorEvent(Record):
    kind: Literal["error"]
    error: ErrorText


def errors(*types: Type) -> Responses:
    """Return the responses with these errors, by status. Some share one."""
    answers: Responses = {}
    for type in types:
        status, meaning = ERRORS[type]
        answer = answers.setdefault(
            status, {"model": ErrorAnswer, "description": "", "headers": HEADERS.get(status, {})}
        )
        answer["description"] = f"{answer['description']} `{type}`: {meaning}".strip()
    return answers


def document(app: FastAPI, settings: ServerSettings) -> dict[str, Any]:
    """Return FastAPI's document of the endpoints, with the events of streams and the token."""
    made = get_openapi(
        title="HaluAgent",
        version=__version__,
        description="Finds hallucinations in what a language model wrote. The server takes "
        f"{settings.body} bytes a body, {settings.text} characters of text and {settings.deadline:.0f} seconds a request.",
        routes=app.routes,
    )
    schemas = made["components"]["schemas"]
    for operations in made["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)  # what is wrong with a body is a 400 here
    del schemas["ValidationError"], schemas["HTTPValidationError"]
    events: Any = TypeAdapter(Event | WaitingEvent | ResultEvent | ErrorEvent)
    stream = events.json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
    schemas |= stream.pop("$defs") | {"StreamEvent": stream}
    made["components"]["securitySchemes"] = {"token": TOKEN}
    return made | {"security": [{}, {"token": []}]}
