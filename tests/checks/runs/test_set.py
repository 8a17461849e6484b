"""The runs that the detector is measured on: half of them clean, in both languages, and what the rules alone say of them."""

import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from haluagent.checks.runs.answers.critical import is_critical
from haluagent.checks.runs.answers.derived import Derived
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.answers.ground import user_text
from haluagent.checks.runs.calls.check import validate_calls
from haluagent.checks.runs.records import AgentRun
from haluagent.judging.passages import missing_numbers

LINES = files("haluagent.bench").joinpath("agent_runs.jsonl").read_text("utf-8").splitlines()
SET: list[dict[str, Any]] = [json.loads(line) for line in LINES]
RUNS = {item["id"]: AgentRun.model_validate(item["run"]) for item in SET}
STRUCTURAL = {"invented_id": "fabricated", "invented_url": "fabricated", "invented_email": "fabricated"}
STRUCTURAL |= {"never_called": "never_called", "stale_repeat": "stale"}
OF_ANSWERS = {"contradicted", "magnitude", "negation", "date_shift", "invented_citation"}


def test_half_of_the_runs_are_clean_in_either_language_and_every_kind_is_there() -> None:
    assert len(RUNS) == len(SET) >= 60
    by_language = Counter((run.language, item["wrong"]) for item, run in zip(SET, RUNS.values(), strict=True))
    assert len(by_language) == 4 and len(set(by_language.values())) == 1
    assert {item["kind"] for item in SET if item["wrong"]} == OF_ANSWERS | set(STRUCTURAL)
    assert all(item["structural"] == (item["kind"] in STRUCTURAL) for item in SET)


def test_a_wrong_run_differs_from_its_twin_in_one_thing() -> None:
    for clean, wrong in zip(SET[::2], SET[1::2], strict=True):
        one, other = RUNS[clean["id"]], RUNS[wrong["id"]]
        assert (clean["wrong"], wrong["wrong"]) == (False, True) and one.turns[0] == other.turns[0]
        assert (one.turns == other.turns) != (one.answer == other.answer)


def test_the_wrong_ones_are_not_told_by_their_length() -> None:
    lengths = [(len(RUNS[a["id"]].answer), len(RUNS[b["id"]].answer)) for a, b in zip(SET[::2], SET[1::2], strict=True)]
    assert abs(sum(a - b for a, b in lengths)) / sum(a for a, _ in lengths) < 0.05


@pytest.mark.parametrize("item", [item for item in SET if item["structural"]], ids=lambda item: item["id"])
def test_the_first_stage_catches_the_structural_ones(item: dict[str, Any]) -> None:
    assert STRUCTURAL[item["kind"]] in [one.status for one in validate_calls(RUNS[item["id"]])]


@pytest.mark.parametrize("item", [item for item in SET if not item["structural"]], ids=lambda item: item["id"])
def test_the_first_stage_has_no_false_alarm(item: dict[str, Any]) -> None:
    assert {one.status for one in validate_calls(RUNS[item["id"]])} == {"valid"}


@pytest.mark.parametrize("item", SET[::2], ids=lambda item: item["id"])
def test_every_number_and_day_of_a_clean_answer_is_explained(item: dict[str, Any]) -> None:
    run = RUNS[item["id"]]
    evidence = evidence_of(run)
    notes, invented = Derived(evidence, user_text(run)).notes(run.answer)
    known = "\n".join([evidence.text, *(line for line, _ in notes)])
    assert not invented and not missing_numbers(run.answer, known)


def test_what_is_changed_in_a_number_a_day_or_a_source_is_critical() -> None:
    changed = [
        RUNS[item["id"]].answer for item in SET if item["kind"] in ("magnitude", "date_shift", "invented_citation")
    ]
    assert all(map(is_critical, changed))
