"""The document of the HTTP interface, held against the real server by a fuzzer that makes requests of it.

HALUAGENT_TEST_FUZZED_REQUESTS is how many requests are made of each endpoint; where it is set, each field is left out and of a
wrong type once more on top.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import jsonschema
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance
from scripted import ScriptedModel
from serving import serving, stream

from haluagent import HaluAgent
from haluagent.protocols import Message
from haluagent.server.app import make_app
from haluagent.server.settings import ServerSettings

MANY = os.environ.get("HALUAGENT_TEST_FUZZED_REQUESTS")  # 1000 takes minutes
CONFIG = schemathesis.Config.from_dict({"phases": {"coverage": {"enabled": MANY is not None}}})
WORK = ("/v1/detect", "/v1/recheck", "/v1/check", "/v1/claims", "/v1/runs")


def say(messages: Sequence[Message]) -> str:
    """A turn where one is asked for, and what else is asked for anyhow: a model may say anything."""
    asked = re.findall(r"(?:Check|核查) (S\d+)", messages[-1]["content"])
    return f"THOUGHT: a sum\nACTION: calculator(sentence={asked[-1]})" if asked else "S1: [Paris | is in | France]"


AGENT = HaluAgent(ScriptedModel(say), sandbox="none", search="none")
DOCUMENT = make_app(AGENT, ServerSettings()).openapi()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(AGENT) as base:
        yield base
        counted = [
            line
            for line in httpx.get(f"{base}/metrics").text.splitlines()
            if line.startswith("haluagent_requests_total")
        ]
        print(f"\n{sum(float(line.split()[-1]) for line in counted):.0f} POST requests were made")


def checked(schema: dict[str, Any], instance: Any) -> None:
    """Hold data against a schema of the document."""
    jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(instance)


def body_of(path: str) -> tuple[dict[str, Any], Any]:
    """Return the schema and the example of a path's body."""
    body = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["application/json"]
    return body["schema"], body["examples"]["example"]["value"]


def test_the_server_serves_it(url: str) -> None:
    assert httpx.get(f"{url}/openapi.json").json() == DOCUMENT


fuzzed = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)


@fuzzed.parametrize()
@settings(
    max_examples=int(MANY or 40), derandomize=MANY is None, deadline=None, suppress_health_check=list(HealthCheck)
)
def test_no_request_breaks_the_server_and_each_answer_is_as_documented(case: schemathesis.Case, url: str) -> None:
    # What has the right form may still mean nothing: a blank document, a claim and nothing to hold it against.
    case.call_and_validate(base_url=url, excluded_checks=[positive_data_acceptance])


def test_a_request_of_each_example_is_answered(url: str) -> None:
    for path in WORK:
        schema, example = body_of(path)
        checked(schema, example)
        assert httpx.post(url + path, json=example).status_code == 200


def test_streams_are_made_of_the_documented_events(url: str) -> None:
    for path in WORK:
        came = stream(url + path, body_of(path)[1])
        assert came[-1]["kind"] == "answer"
        for event in came:
            checked({"$ref": "#/components/schemas/StreamEvent"}, event)
