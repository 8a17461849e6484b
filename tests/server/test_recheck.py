"""One sentence of a report that is checked again over HTTP."""

from collections.abc import Iterator

import pytest
from scripted import ScriptedModel
from serving import TEXT, http, make_agent, serving, stream


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(make_agent(ScriptedModel(ScriptedModel.calculate))) as url:
        yield url


def test_a_sentence_is_checked_again_with_the_tools_that_are_named(url: str) -> None:
    undecided = http.post(url + "/v1/detect", json=TEXT | {"tools": ["word_count"]}).json()
    assert [entry["label"] for entry in undecided["sentences"]] == ["unverified", "unverified"]
    body = {"detection": undecided, "sentence": 2, "tools": ["calculator"]}
    report = http.post(url + "/v1/recheck", json=body)
    assert report.status_code == 200
    assert [entry["label"] for entry in report.json()["sentences"]] == ["unverified", "contradicted"]
    assert report.json()["hallucination"] is True
    came = stream(url + "/v1/recheck", body)
    assert {"action", "observation", "verdict", "answer"} <= {event["kind"] for event in came}
    assert came[-1]["detection"]["sentences"] == report.json()["sentences"]
    counted = http.get(url + "/metrics").text
    assert 'haluagent_requests_total{ending="done",job="recheck"} 2.0' in counted
    assert 'haluagent_verdicts_total{job="recheck"' not in counted  # the report was counted when it came first


def test_a_report_that_was_changed_is_not_checked_again(url: str) -> None:
    report = http.post(url + "/v1/detect", json=TEXT).json()
    entries = report["sentences"]
    moved = entries[0] | {"sentence": entries[0]["sentence"] | {"span": [1, 5]}}
    for body, said in (
        ({"sentence": 1}, "`detection` is missing"),
        ({"detection": report}, "`sentence` is missing"),
        ({"detection": report, "sentence": 0}, "`sentence` should be the number of a sentence"),
        ({"detection": report, "sentence": 9}, "there is no sentence 9 in this report; it has 1, 2"),
        ({"detection": report, "sentence": 1, "tools": ["nothing"]}, "there is no tool named 'nothing'"),
        ({"detection": report, "sentence": 1, "tools": ["get_answer"]}, "there is no tool named 'get_answer'"),
        ({"detection": report, "sentence": 1, "tools": []}, "`tools` should be a list of names of tools"),
        ({"detection": report | {"response": "x"}, "sentence": 1}, "`detection` has no sentence 1 at its place"),
        ({"detection": report | {"sentences": [moved]}, "sentence": 1}, "`detection` has no sentence 1 at its place"),
        ({"detection": report | {"sentences": entries * 2}, "sentence": 1}, "`detection` has no sentence 1 at its"),
        ({"detection": {"question": "Q?"}, "sentence": 1}, "`detection` should be a report as /v1/detect gives it"),
    ):
        answer = http.post(url + "/v1/recheck", json=body)
        assert answer.status_code == 400 and said in answer.json()["error"]["message"]
        assert "\n" not in answer.json()["error"]["message"]
