"""`haluagent trajectories`: from labelled items to what a model is taught with, and what is said of bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

from haluagent.cli import main as cli
from haluagent.train.trajectories import records

ITEM: dict[str, Any] = {
    "id": "mine:1:right", "group": "mine:1", "source": "mine", "kind": "knowledge", "language": "en",
    "question": "Who built Harlow Tower?", "response": "It is Mary Ellis.", "gold": False,
    "reference": "Harlow Tower was built in 1834 by Mary Ellis.",
}  # fmt: skip
WRONG = ITEM | {"id": "mine:1:wrong", "response": "It is John Carrick.", "gold": True}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run(["trajectories", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def test_items_become_trajectories_that_are_filtered_counted_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    items, made, kept = write(tmp_path / "items.jsonl", ITEM, WRONG), tmp_path / "made.jsonl", tmp_path / "kept.jsonl"
    code, out, err = said(capsys, "build", "--items", items, "--out", made, "--sandbox", "none")
    assert (code, out, err) == (0, f"2 trajectories were added to {made}\n", "2/2 items, 2 trajectories\n")
    code, out, _ = said(capsys, "filter", made, "--out", kept)
    assert code == 0 and out.endswith(f"2 of 2 trajectories are in {kept}\n") and "| mine | en | 2 |" in out
    code, out, _ = said(capsys, "stats", kept)
    assert code == 0 and "Balanced accuracy" in out and "length" in out
    code, out, _ = said(capsys, "show", kept, "--id", "mine:1:wrong")
    assert code == 0 and out.startswith("mine:1:wrong (mine, knowledge, teacher gold)\n") and "gold: True" in out
    assert "\n* verdict\n  B\n" in out and "Does the reference say this" not in out
    assert "Does the reference say this" in said(capsys, "show", kept, "--prompts")[1]


def test_a_second_round_leaves_out_the_groups_of_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = [row | {"id": row["id"].replace("1", "2"), "group": "mine:2"} for row in (ITEM, WRONG)]
    first, both = tmp_path / "first.jsonl", tmp_path / "both.jsonl"
    said(capsys, "build", "--items", write(tmp_path / "one.jsonl", ITEM, WRONG), "--out", first, "--sandbox", "none")
    said(
        capsys,
        "build",
        "--items",
        write(tmp_path / "two.jsonl", ITEM, WRONG, *other),
        "--out",
        both,
        "--sandbox",
        "none",
    )
    code, out, _ = said(capsys, "filter", both, "--out", tmp_path / "second.jsonl", "--beyond", first)
    assert code == 0 and out.endswith(f"2 of 2 trajectories are in {tmp_path / 'second.jsonl'}\n")
    assert {one.group for one in records.read(tmp_path / "second.jsonl")} == {"mine:2"}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["build", "--out", "o"], "give --data, the directory of the published sets, or --items"),
        (
            ["build", "--out", "o", "--data", ".", "--items", "i"],
            "give --data, the directory of the published sets, or --items",
        ),
        (["build", "--out", "o", "--data", ".", "--without", "news"], "no source is called news"),
        (["build", "--out", "o", "--data", ".", "--only", "news"], "no source is called news"),
        (["build", "--out", "o", "--data", "no-such-folder"], "does not exist: say with --data where"),
        (["build", "--out", "o", "--items", "none.jsonl"], "none.jsonl does not exist"),
        (["build", "--out", "o", "--items", "i", "--hint"], "--hint is for --teacher model"),
        (["filter", __file__, "--out", "o", "--beyond", "none.jsonl"], "none.jsonl does not exist"),
        (["filter", "none.jsonl", "--out", "o"], "none.jsonl does not exist"),
        (["stats", "none.jsonl"], "none.jsonl does not exist"),
        (["show", "none.jsonl"], "none.jsonl does not exist"),
    ],
)
def test_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], error: str) -> None:
    code, out, err = said(capsys, *arguments)
    assert (code, out) == (2, "") and error in err and len(err.splitlines()) == 1
    assert not Path("o").exists()


@pytest.mark.parametrize("command", [["filter", "--out", "o"], ["stats"], ["show"]])
def test_an_empty_file_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    code, _, err = said(capsys, command[0], write(tmp_path / "empty.jsonl"), *command[1:])
    assert code == 2 and "empty.jsonl" in err and len(err.splitlines()) == 1


def test_an_item_that_was_changed_is_not_taken_for_one_that_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made.jsonl"
    said(capsys, "build", "--items", write(tmp_path / "items.jsonl", ITEM), "--out", made, "--sandbox", "none")
    before = made.read_bytes()
    changed = write(tmp_path / "items.jsonl", ITEM | {"response": "Mary Ellis built it."})
    code, _, err = said(capsys, "build", "--items", changed, "--out", made, "--sandbox", "none")
    assert code == 2 and "has another item under the id mine:1:right" in err and len(err.splitlines()) == 1
    assert made.read_bytes() == before


def test_a_file_is_not_filtered_into_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "made.jsonl", {})
    code, _, err = said(capsys, "filter", file, "--out", file)
    assert code == 2 and "is the file that is read" in err
    earlier = write(tmp_path / "earlier.jsonl", {})
    assert said(capsys, "filter", file, "--out", earlier, "--beyond", earlier)[0] == 2
    assert file.read_text(encoding="utf-8") == earlier.read_text(encoding="utf-8") == "{}\n"


def test_a_trajectory_that_is_not_there_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items, made = write(tmp_path / "items.jsonl", ITEM), tmp_path / "made.jsonl"
    said(capsys, "build", "--items", items, "--out", made, "--sandbox", "none")
    code, _, err = said(capsys, "show", made, "--id", "other")
    assert code == 2 and "has no trajectory other" in err


def test_code_without_a_sandbox_is_said_to_be_of_no_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    response = "```python\ndef add(a, b):\n    return a + b\n```"
    code_item = ITEM | {"kind": "code", "question": "Write a function add.", "response": response, "reference": None}
    items, made = write(tmp_path / "items.jsonl", code_item), tmp_path / "made.jsonl"
    code, _, err = said(capsys, "build", "--items", items, "--out", made, "--sandbox", "none")
    assert code == 0 and err.startswith("1 items are code and will be filtered away: there is no sandbox")
