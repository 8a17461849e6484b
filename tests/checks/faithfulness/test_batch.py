"""Files of answers with their documents: every line gets a row, and a run goes on where it was stopped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.faithfulness.batch import CheckRow, run
from haluagent.errors import ConfigError

DOCUMENT = "Harlow Tower was built by the mason Mary Ellis. It is 52 metres high."
RIGHT = {"question": "Who built it?", "answer": "Harlow Tower was built by the mason Mary Ellis.", "document": DOCUMENT}
WRONG = RIGHT | {"answer": "It has 64 floors."}


@pytest.fixture
def agent(scripted: Callable[..., Any]) -> HaluAgent:
    denies = lambda messages: 0.99 if "\nA: no" in messages[0]["content"] else 0.01  # noqa: E731
    return HaluAgent(scripted(choose=denies), sandbox="none", search="none")


def write(path: Path, items: list[Any]) -> Path:
    path.write_text("".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in items), "utf-8")
    return path


def rows(path: Path) -> dict[int, CheckRow]:
    found = [CheckRow.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]
    return {row.line: row for row in found}


def test_every_line_gets_a_row_with_reasoning_and_score(agent: HaluAgent, tmp_path: Path) -> None:
    others = {"question": "", "response": RIGHT["answer"], "passage": [DOCUMENT, "More."], "label": "PASS", "id": 7}
    items = [
        RIGHT | {"id": "a"},
        WRONG,
        others,
        "{",
        {"question": "?"},
        RIGHT | {"document": " "},
        RIGHT | {"answer": "?"},
    ]
    out = tmp_path / "out.jsonl"
    assert run(write(tmp_path / "in.jsonl", items), out, [agent], {"mode": "fast"}) is None
    found = rows(out)
    assert [found[line].SCORE for line in range(1, 8)] == ["PASS", "FAIL", "PASS", None, None, None, None]
    assert found[1].REASONING == ("the documents say this word for word",) and (found[1].id, found[3].id) == ("a", 7)
    assert found[2].check is not None and found[2].check.usage.calls == 2 == found[2].usage.calls
    assert [bool(found[line].error) for line in range(1, 8)] == [False, False, False, True, True, True, False]
    assert "an item is {question?, answer or response" in str(found[5].error) and "documents are empty" in str(
        found[6].error
    )
    assert found[7].check is not None and "claims nothing" in str(
        found[7].check.error
    )  # undecided, which is no failure


def test_a_run_goes_on_and_refuses_another_input(agent: HaluAgent, tmp_path: Path) -> None:
    out, source = tmp_path / "out.jsonl", write(tmp_path / "in.jsonl", [RIGHT, "{"])
    run(source, out, [agent], {})
    write(source, [RIGHT, WRONG, RIGHT])
    seen: list[int] = []
    run(source, out, [agent], {}, again=True, progress=lambda row: seen.append(row.line))
    assert sorted(seen) == [2, 3] and rows(out)[2].SCORE == "FAIL"
    write(source, [WRONG])
    with pytest.raises(ConfigError, match="line 1 of"):
        run(source, out, [agent], {})
