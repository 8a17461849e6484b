"""The same as tests: `pytest --haluagent-record scores.json` on the target branch, then on the pull request
`pytest --haluagent-baseline scores.json --junitxml junit.xml`."""

import json
from pathlib import Path

import pytest
from answer import HANDBOOK, answer

from haluagent.pytest_plugin import assert_faithful

QUESTIONS = [json.loads(line) for line in Path("questions.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("item", QUESTIONS, ids=lambda item: item["id"])
def test_the_answer_stays_within_the_handbook(item):
    assert_faithful(answer(item["question"]), HANDBOOK, item["question"], margin=0.1)
