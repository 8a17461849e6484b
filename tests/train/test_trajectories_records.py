"""The format of trajectories: what is written is read again, and what is none is named with its line."""

import json
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError
from haluagent.train.trajectories.records import (
    Alteration,
    ModelCall,
    RecordedMessage,
    Trajectory,
    branches,
    line,
    read,
    write,
)

ASKED = (RecordedMessage(role="user", content="Check S1"),)
TRAJECTORY = Trajectory(
    id="set:1:right",
    group="set:1",
    source="set",
    kind="knowledge",
    language="zh",
    question="多高？",
    response="三米。",
    reference="高三米。",
    gold=True,
    gold_labels=("contradicted",),
    change=Alteration(kind="number", before="三", after="五"),
    teacher="gold",
    verdict=True,
    labels=("contradicted",),
    calls=(
        ModelCall(prompt="agent", sentence=1, messages=ASKED, reply="行为：…"),
        ModelCall(prompt="match", messages=ASKED, reply="B", choices=("A", "B"), learn=False),
        ModelCall(prompt="agent", sentence=2, messages=ASKED, reply="one"),
        ModelCall(prompt="agent", sentence=1, messages=ASKED, reply="two"),
    ),
)


def rows(*changes: dict[str, Any]) -> str:
    return "".join(json.dumps(json.loads(line(TRAJECTORY)) | change) + "\n" for change in changes)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file.jsonl"
    assert write(file, [TRAJECTORY, TRAJECTORY]) == 2
    assert list(read(file)) == [TRAJECTORY, TRAJECTORY]
    assert "三米。" in file.read_text(encoding="utf-8")  # to be read by people too
    assert [path.name for path in file.parent.iterdir()] == ["file.jsonl"]


def test_a_line_has_the_documented_fields() -> None:
    row = json.loads(line(TRAJECTORY))
    assert set(row) == set(
        "version id group source kind language question response reference gold gold_labels change teacher sample hinted verdict "
        "labels stop error invalid_calls format_errors calls".split()
    )
    assert set(row["calls"][0]) == {"prompt", "sentence", "messages", "reply", "choices", "learn"}
    assert row["version"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (rows({}, {"colour": "red"}), "line 2: colour: Extra inputs"),
        (rows({}, {"version": 2}), "line 2 has version 2; this HaluAgent reads 1"),
        (rows({}) + "{broken\n", "line 2 is not JSON"),
        (rows({}, {}) + "3\n", "line 3 is not a JSON object"),
        (rows({"kind": "poetry"}), "line 1: kind: Input should be"),
        (rows({"gold": "perhaps"}), "line 1: gold"),
    ],
)
def test_what_is_no_trajectory_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "file.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        list(read(file))


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        list(read(tmp_path / "none.jsonl"))


def test_a_branch_is_the_turns_about_one_sentence_in_order() -> None:
    assert [[call.reply for call in branch] for branch in branches(TRAJECTORY.calls)] == [["行为：…", "two"], ["one"]]
