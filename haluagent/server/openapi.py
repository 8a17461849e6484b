"""The HTTP interface in OpenAPI 3.1, made from the records that requests are read into and answers are written from."""

from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from haluagent import __version__
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.checks.runs.records import HallucinationReport
from haluagent.events import Event
from haluagent.server.bodies import CheckBody, ClaimsBody, ConvertedRunBody, DetectBody, DetectionRunBody, RunBody
from haluagent.server.problems import STATUS, Type
from haluagent.server.settings import ServerSettings
from haluagent.types import Detection

Schema = dict[str, Any]
PLACE = "#/components/schemas/{model}"

MEANINGS: dict[Type, str] = {
    "invalid": "What was given cannot be checked. The message says what to change.",
    "unauthorized": "The server wants a token, and the request has none or a wrong one.",
    "forbidden": "The request comes from another site's page, or calls the server by a name that it does not know.",
    "not_found": "There is nothing at this path.",
    "method": "This path is asked with another method.",
    "too_large": "The body, or its texts, are longer than the server takes.",
    "media_type": "The body is not sent as application/json.",
    "busy": "As many requests as the server takes are running and waiting. `Retry-After` says when to ask again.",
    "internal": "A bug of the server. Its log has more.",
    "model": "The language model did not answer.",
    "stopping": "The server is being stopped.",
    "not_ready": "The model is not loaded yet, or its endpoint does not answer.",
    "deadline": "The work took longer than the server allows, and there is nothing to show of it.",
}
HEADERS: dict[int, Schema] = {
    401: {"WWW-Authenticate": {"description": "`Bearer`", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 1}}},
}
EVERYWHERE: tuple[Type, ...] = ("forbidden", "internal")
WITH_TOKEN: tuple[Type, ...] = ("unauthorized", *EVERYWHERE)
OF_WORK: tuple[Type, ...] = (
    *WITH_TOKEN, "invalid", "too_large", "media_type", "busy", "model", "stopping", "not_ready", "deadline",
)  # fmt: skip

STREAM = """With `Accept: text/event-stream` the answer is a stream of server-sent events, each with its kind as `event` and a
`StreamEvent` as `data`. It ends with `answer` or `error`, and never without one of them."""

RUN: Schema = {
    "run_id": "r1",
    "tools": [{"name": "weather"}],
    "turns": [
        {"role": "user", "text": "How warm is it in Oslo?"},
        {
            "role": "assistant",
            "calls": [{"id": "c1", "tool": "weather", "arguments": {"city": "Oslo"}, "result": "12 degrees, cloudy"}],
        },
    ],
    "answer": "It is 21 degrees in Oslo.",
}


def document() -> Schema:
    """The whole document, as it is served at `/openapi.json`."""
    settings = ServerSettings()
    limits = f"{settings.body} bytes a body, {settings.text} characters of text and {settings.deadline:.0f} seconds a request"
    paths: Schema = {
        "/v1/detect": _post(
            "Check a response sentence by sentence",
            "What `haluagent detect` does. A detection whose model failed is a 502 with what was found until then.\n\n"
            "One that reached the deadline is a 200: what was found until then, with `budget` as its `stop`.",
            "DetectBody",
            "Detection",
            {"question": "What is 12 times 12?", "response": "12 times 12 is 146."},
            failed="Detection",
        ),
        "/v1/check": _post(
            "Check an answer against its documents",
            "What `haluagent check` does: PASS where the answer says nothing beyond the documents and nothing against them.",
            "CheckBody",
            "CheckAnswer",
            {
                "question": "Who built Harlow Tower?",
                "answer": "John Carrick did.",
                "documents": ["Mary Ellis built Harlow Tower."],
            },
        ),
        "/v1/claims": _post(
            "Check the claims of a response against references",
            "What `haluagent claims extract-check` does with an item of RefChecker's file.",
            "ClaimsBody",
            "ClaimsAnswer",
            {"response": "Mary Ellis built Harlow Tower.", "reference": ["Harlow Tower is the work of Mary Ellis."]},
        ),
        "/v1/runs": _post(
            "Check the run of an agent",
            "What `haluagent runs check` does: may the answer of the run go out?",
            "RunsBody",
            "HallucinationReport",
            RUN,
        ),
        "/v1/tools": _get("The tools that a detection may call", _json("ToolList"), WITH_TOKEN),
        "/healthz": _get("Whether the server runs", _json("Status"), EVERYWHERE),
        "/readyz": _get("Whether it can check something now", _json("Status"), (*EVERYWHERE, "not_ready", "stopping")),
        "/metrics": _get("Numbers for Prometheus", {"text/plain": {"schema": {"type": "string"}}}, WITH_TOKEN),
        "/openapi.json": _get("This document", {"application/json": {"schema": {"type": "object"}}}, EVERYWHERE),
    }
    for path, operations in paths.items():
        for operation in operations.values():
            operation["operationId"] = path.strip("/").replace("/", "_").removesuffix(".json")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "HaluAgent",
            "version": __version__,
            "description": f"Finds hallucinations in what a language model wrote. The server takes {limits}, unless it was told otherwise.",
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Where the server was started with a token.",
                }
            },
        },
    }


def _post(summary: str, description: str, body: str, answer: str, example: Schema, failed: str = "Error") -> Schema:
    answers = _errors(OF_WORK)
    if failed != "Error":
        answers["502"]["content"]["application/json"]["schema"] = {"anyOf": [_ref(failed), _ref("Error")]}
    done = _json(answer) | {"text/event-stream": {"schema": {"type": "string"}}}
    return {
        "post": {
            "summary": summary,
            "description": f"{description}\n\n{STREAM}",
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": _ref(body), "example": example}},
            },
            "responses": {"200": {"description": "What was found.", "content": done}, **answers},
        }
    }


def _get(summary: str, content: Schema, errors: tuple[Type, ...]) -> Schema:
    return {
        "get": {
            "summary": summary,
            "responses": {"200": {"description": f"{summary}.", "content": content}, **_errors(errors)},
        }
    }


def _errors(types: tuple[Type, ...]) -> Schema:
    """The answers with these errors, by status. Some share one."""
    answers: Schema = {}
    for type in sorted(types, key=STATUS.__getitem__):
        status = STATUS[type]
        answer = answers.setdefault(
            str(status), {"description": "", "content": _json("Error"), "headers": HEADERS.get(status, {})}
        )
        answer["description"] += f"{' ' if answer['description'] else ''}`{type}`: {MEANINGS[type]}"
    return answers


def _json(name: str) -> Schema:
    return {"application/json": {"schema": _ref(name)}}


def _ref(name: str) -> Schema:
    return {"$ref": PLACE.format(model=name)}


def _object(**properties: Schema) -> Schema:
    """All of these fields and no others."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _schemas() -> Schema:
    read: list[type[BaseModel]] = [DetectBody, CheckBody, ClaimsBody, RunBody, ConvertedRunBody, DetectionRunBody]
    written: list[type[BaseModel]] = [Detection, Faithfulness, HallucinationReport]
    modes: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "validation") for model in read]
    modes += [(model, "serialization") for model in written]
    _, made = models_json_schema(modes, ref_template=PLACE)
    events = TypeAdapter(Event).json_schema(mode="serialization", ref_template=PLACE)
    text: Schema = {"type": "string"}
    words = _object(en=text, zh=text)
    error = _object(type={"enum": list(STATUS)}, message=text)
    made["$defs"]["CheckBody"]["oneOf"] = [_only("documents", "document"), _only("document", "documents")]
    return {
        **events.pop("$defs"),
        **made["$defs"],
        "Error": _object(error=error),
        "Status": _object(status={"enum": ["ok", "ready"]}),
        "ToolList": _object(
            tools={"type": "array", "items": _object(name=text, description=words, parameters={"type": "object"})}
        ),
        "CheckAnswer": _check_answer(made["$defs"]["Faithfulness"]),
        "ClaimsAnswer": _claims_answer(),
        "RunsBody": {"anyOf": [_ref("RunBody"), _ref("ConvertedRunBody"), _ref("DetectionRunBody")]},
        "DetectionEvent": events,
        "StreamEvent": {
            "anyOf": [
                _ref("DetectionEvent"),
                _object(kind={"const": "waiting"}, before={"type": "integer", "minimum": 0}),
                _object(kind={"const": "answer"}, result={"type": "object"}),
                _object(kind={"const": "error"}, error=error),
            ]
        },
    }


def _only(name: str, other: str) -> Schema:
    """One of two fields is given, and not the other."""
    return {"required": [name], "properties": {name: {"type": ["string", "array"]}, other: {"type": "null"}}}


def _check_answer(faithfulness: Schema) -> Schema:
    """The record, and the two fields that Lynx writes."""
    published = {"REASONING": {"type": "array", "items": {"type": "string"}}, "SCORE": {"enum": ["PASS", "FAIL", None]}}
    return {
        **faithfulness,
        "properties": published | faithfulness["properties"],
        "required": [*published, *faithfulness["required"]],
    }


def _claims_answer() -> Schema:
    """RefChecker's item: what was given, with the labels beside it."""
    triplet = {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 3}
    claims = {"type": ["array", "null"], "items": {"anyOf": [{"type": "string"}, triplet, _ref("ClaimObject")]}}
    labels = ["Entailment", "Neutral", "Contradiction"]
    return {
        "type": "object",
        "description": "`ys` has a label for each claim, `Y` is that of the response, and `haluagent` has places and cost.",
        "properties": {
            "response": {"type": "string"},
            "claims": claims,
            "triplets": claims,
            "ys": {"type": "array", "items": {"enum": labels}},
            "Y": {
                "anyOf": [
                    {"enum": [*labels, "Abstain"]},
                    {"type": "object", "additionalProperties": {"type": "number"}},
                ]
            },
            "error": {"type": "string"},
            "haluagent": {"type": "object"},
        },
        "required": ["response", "haluagent"],
    }
