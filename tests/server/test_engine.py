"""The server on the real embedded model."""

import json
import time
from typing import Any

import httpx
import pytest
from places import ROOT
from serving import make_agent, serving

pytestmark = pytest.mark.engine

EXAMPLE = json.loads(ROOT.joinpath("examples/invoice.en.json").read_text("utf-8"))


def test_a_detection_arrives_sentence_by_sentence(engine_model: Any) -> None:
    came: list[tuple[float, dict[str, Any]]] = []
    with serving(make_agent(engine_model)) as url, httpx.Client(timeout=250) as client:
        assert client.get(f"{url}/readyz").status_code == 200
        began = time.monotonic()
        with client.stream("POST", f"{url}/v1/detect", json=EXAMPLE, headers={"Accept": "text/event-stream"}) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    came.append((time.monotonic() - began, json.loads(line.removeprefix("data: "))))
    events = [event for _, event in came]
    labels = {
        event["entry"]["sentence"]["index"]: event["entry"]["label"] for event in events if event["kind"] == "verdict"
    }
    assert labels == {1: "supported", 2: "supported", 3: "contradicted"}
    assert events[-1]["kind"] == "answer" and events[-1]["detection"]["hallucination"] is True
    first = {event["kind"]: after for after, event in reversed(came)}
    print("seconds to the first event, sentence, verdict, and the answer:", *(f"{after:.2f}" for after in (
        came[0][0], first["sentence"], first["verdict"], first["answer"])))  # fmt: skip
    assert came[0][0] < first["verdict"] < first["answer"], "it streams"


@pytest.mark.core
def test_an_answer_is_checked_against_its_documents(engine_model: Any) -> None:
    body = {
        "question": "Who built Harlow Tower?",
        "answer": "John Carrick did.",
        "documents": ["Mary Ellis built Harlow Tower in 1911."],
    }
    with serving(make_agent(engine_model)) as url, httpx.Client(timeout=250) as client:
        found = client.post(f"{url}/v1/check", json=body)
        assert found.status_code == 200 and found.json()["verdict"] == "FAIL", found.text
        assert client.post(f"{url}/v1/check", json=body | {"answer": "Mary Ellis did."}).json()["verdict"] == "PASS"
