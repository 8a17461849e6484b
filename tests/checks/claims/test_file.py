"""RefChecker's files: what is read, what is added, and a run that goes on where it stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.batch.pool import Bounds
from haluagent.checks.claims import check, file, run
from haluagent.checks.claims.records import CheckedClaim, Citation, Claim, ClaimReport
from haluagent.errors import ConfigError
from haluagent.types import Usage

TOWER = "The tower of Osk is 52 metres high. It was built in 1950."
TRIPLETS = [["Osk", "height", "52 m"], ["Osk", "built in", "1950"]]


def report(labels: list[Any], aggregator: Any = "strict", verdict: Any = None, **options: Any) -> ClaimReport:
    claims = [Claim(content=f"claim {number}", sentence=1, span=(0, 3)) for number in range(len(labels))]
    cited = (Citation(passage=0, span=(4, 9), text="tower"),)
    return ClaimReport(
        question="", response=TOWER, language="en", format="sentence", aggregator=aggregator, verdict=verdict,
        claims=tuple(
            CheckedClaim(claim=claim, label=label, probability=0.9, citations=cited, checker="choice", error=None if label else "no")
            for claim, label in zip(claims, labels, strict=True)
        ),
        ratios={label: labels.count(label) / len(labels) for label in labels if label}, passages=("The tower.",), **options,
    )  # fmt: skip


def items(*fields: dict[str, Any]) -> list[file.ClaimItem]:
    return [file.parse({"response": TOWER, **more}, number) for number, more in enumerate(fields, 1)]


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("triplets", TRIPLETS),
        ("claims", TRIPLETS),
        ("claims", ["It is high.", "It is old."]),
        (
            "claims",
            [{"format": "triplet", "content": TRIPLETS[0], "attributed_sent_ids": ["1"]}, {"triplet": TRIPLETS[1]}],
        ),
        ("claims", []),
    ],
)
def test_claims_as_refchecker_writes_them(name: str, claims: list[Any]) -> None:
    (item,) = items({name: claims, "reference": ["one", "two"], "question": None})
    contents = [claim.get("content", claim.get("triplet")) if isinstance(claim, dict) else claim for claim in claims]
    assert item.claims == tuple(tuple(one) if isinstance(one, list) else one for one in contents)
    assert (item.reference, item.question) == (("one", "two"), "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nothing",
            "in.json is not JSON (Expecting value: line 1 column 1 (char 0)): give a list of items, or one item a line",
        ),
        ('{"response": "a"}\n{', "in.json, line 2 is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('["a"]', "item 1 is not an object: an item is {response, question?, reference?, claims?}"),
        ('[{"response": "a"}, {"question": "b"}]', "item 2 has no `response`"),
        ('[{"response": ["a"]}]', "item 1: `response` is not a text"),
        ('[{"response": null}]', "item 1: `response` is not a text"),
        ('[{"response": "a", "question": 3}]', "item 1: `question` is not a text"),
        ('[{"response": "a", "reference": [1]}]', "item 1: `reference` is neither a text nor a list of texts"),
        ('[{"response": "a", "claims": "b"}]', "item 1: `claims` is not a list"),
        (
            '[{"response": "a", "triplets": [["b", "c"]]}]',
            "item 1, claim 1 has 2 parts: a triplet is [head, relation, tail]",
        ),
        (
            '[{"response": "a", "triplets": [["b", "c", 3]]}]',
            "item 1, claim 1 is neither a text nor [head, relation, tail]",
        ),
        (
            '[{"response": "a", "claims": ["b"], "triplets": [["b", "c", "d"]]}]',
            "has both `claims` and `triplets`, and they differ",
        ),
        ('[{"response": "a", "note": "\\ud800"}]', "item 1 holds half a character"),
    ],
)
def test_what_is_no_such_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "in.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        file.read(path)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read .*none.json: No such file"):
        file.read(tmp_path / "none.json")
    (tmp_path / "in.json").write_bytes(b'[{"response": "\xff"}]')
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        file.read(tmp_path / "in.json")


def test_a_list_or_an_item_a_line(tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    rows = [{"response": "奥斯克\u2028。"}, {"response": "b"}]
    for text in (
        json.dumps(rows),
        "\ufeff" + json.dumps(rows, ensure_ascii=False),
        "\n\n".join(map(json.dumps, rows)) + "\r\n",
    ):
        path.write_text(text, encoding="utf-8")
        assert [item.fields for item in file.read(path)] == rows
    path.write_text("[]", encoding="utf-8")
    assert file.read(path) == []


@pytest.mark.parametrize(
    ("labels", "aggregator", "verdict", "expected"),
    [
        (["Entailment", "Neutral"], "strict", "Neutral", "Neutral"),
        (
            ["Entailment", "Neutral"],
            "soft",
            None,
            {"Entailment": 0.5, "Neutral": 0.5, "Contradiction": 0.0, "Abstain": 0.0},
        ),
        ([], "strict", "Abstain", "Abstain"),
        ([], "soft", "Abstain", {"Entailment": 0.0, "Neutral": 0.0, "Contradiction": 0.0, "Abstain": 1.0}),
    ],
)
def test_labels_are_added_and_all_else_is_kept(labels: list[Any], aggregator: str, verdict: Any, expected: Any) -> None:
    (item,) = items(
        {"id": 7, "model": {"name": "m"}, "ys": ["old"], "error": "old", "triplets": TRIPLETS, "reference": "r"}
    )
    found = file.with_report(item, report(labels, aggregator, verdict))
    assert (found["ys"], found["Y"]) == (labels, expected)
    kept = {"response", "id", "model", "triplets", "reference"}
    assert {name: found[name] for name in kept} == {name: item.fields[name] for name in kept}
    assert set(found) == kept | {"ys", "Y", "haluagent"}
    for own in found["haluagent"]["claims"]:
        citation = {"passage": 0, "span": [4, 9], "text": "tower", "speaks_to_reader": False, "located_by": "overlap"}
        assert own["span"] == [0, 3] and own["citations"] == [citation]


def test_what_was_extracted_and_retrieved_is_written_too() -> None:
    (item,) = items({"claims": ["old"], "triplets": None, "reference": None})
    found = file.with_report(item.model_copy(update={"claims": None}), report(["Neutral"], verdict="Neutral"))
    assert (found["claims"], found["reference"], "triplets" in found) == (["claim 0"], ["The tower."], False)


def test_a_claim_without_a_label_is_an_error_and_no_neutral() -> None:
    (item,) = items({"Y": "Neutral"})
    found = file.with_report(item, report(["Neutral", None], error="the time limit was reached"))
    assert found["error"] == "the time limit was reached" and not {"ys", "Y"} & set(found)
    assert [claim["label"] for claim in found["haluagent"]["claims"]] == ["Neutral", None]


def test_the_summary_averages_over_responses() -> None:
    done = [{"ys": ["Entailment"]}, {"ys": ["Neutral", "Contradiction"]}, {"ys": []}, {"error": "no"}]
    assert file.summary(done) == "4 responses: Entailment 33.3%, Neutral 16.7%, Contradiction 16.7%, Abstain 33.3%"
    assert file.summary([{"claims": ["a", "b"]}, {"claims": []}]) == "2 responses: 2 claims; 1 responses make none"
    assert file.summary([]) == "0 responses: 0 claims; 0 responses make none"


@pytest.fixture
def agent(scripted: Callable[..., Any]) -> HaluAgent:
    return HaluAgent(scripted(), sandbox="none", search="none")


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The responses that are checked; one with "fail" fails."""
    seen: list[str] = []

    async def acheck_claims(agent: HaluAgent, response: str, *arguments: Any, **options: Any) -> ClaimReport:
        seen.append(response)
        if "fail" in response:
            raise ConfigError("this one fails")
        return report(["Entailment"], verdict="Entailment", usage=Usage(prompt_tokens=9))

    monkeypatch.setattr(check, "acheck_claims", acheck_claims)
    return seen


def given(path: Path, *responses: str) -> list[file.ClaimItem]:
    path.write_text(
        json.dumps([{"response": response, "reference": "r", "claims": ["c"]} for response in responses]), "utf-8"
    )
    return file.read(path)


def test_a_run_goes_on_and_repeats_failures_when_told_to(agent: HaluAgent, checked: list[str], tmp_path: Path) -> None:
    source, out = given(tmp_path / "in.json", "one", "fail", "three"), tmp_path / "out" / "out.json"
    task = run.ClaimsTask(command="check")
    assert run.run(source, out, [agent], task, bounds=Bounds(items=1)) == "the limit of 1 items"
    assert not out.exists() and run.partial(out).name == "out.json.partial.jsonl"
    assert run.run(source, out, [agent], task) is None
    assert checked == ["one", "fail", "three"]
    written = json.loads(out.read_text("utf-8"))
    assert [item.get("Y") for item in written] == ["Entailment", None, "Entailment"] and written[1][
        "error"
    ] == "this one fails"
    assert run.run(source, out, [agent], task) is None and len(checked) == 3
    mended = given(tmp_path / "in.json", "one", "two", "three")
    assert run.run(mended, out, [agent], task, again=True) is None
    assert checked[3:] == ["two"] and not run.partial(out).exists()
    assert [item["response"] for item in json.loads(out.read_text("utf-8"))] == ["one", "two", "three"]


def test_another_input_or_other_settings_do_not_go_on(agent: HaluAgent, checked: list[str], tmp_path: Path) -> None:
    source, out = given(tmp_path / "in.json", "one", "two"), tmp_path / "out.json"
    run.run(source, out, [agent], run.ClaimsTask(command="check"), bounds=Bounds(items=1))
    for others, task in [
        (source, run.ClaimsTask(command="check", aggregator="soft")),
        (given(tmp_path / "in.json", "two", "one"), run.ClaimsTask(command="check")),
    ]:
        with pytest.raises(
            ConfigError, match="holds another input, or other settings: remove it, or name another output"
        ):
            run.run(others, out, [agent], task)
    assert checked == ["one"]


def test_an_item_without_claims_cannot_be_checked(agent: HaluAgent, checked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run.run(items({}), out, [agent], run.ClaimsTask(command="check"))
    assert "extract them first" in json.loads(out.read_text("utf-8"))[0]["error"] and checked == []


def test_what_is_written_is_text_that_can_be_read(agent: HaluAgent, checked: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run.run(items({"note": "奥斯克 🗼"}), out, [agent], run.ClaimsTask(command="extract"))
    assert "奥斯克 🗼" in out.read_text("utf-8") and not run.partial(out).exists()
    (found,) = json.loads(out.read_text("utf-8"))
    assert found["claims"] == ["The tower of Osk is 52 metres high.", "It was built in 1950."]
    assert found["haluagent"]["claims"] == [{"sentence": 1, "span": [0, 35]}, {"sentence": 2, "span": [36, 57]}]
