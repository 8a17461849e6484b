"""A calibration from labelled claims of one's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError
from haluagent.train.calibration.own_claims import FEWEST, pairs

LABELS = ("supported", "contradicted", "not_in_reference", "supported")


def row(number: int, **more: Any) -> dict[str, Any]:
    label = LABELS[number % len(LABELS)]
    given = {
        "id": str(number),
        "source": "own",
        "language": "en",
        "claim": f"It has {number} rooms.",
        "text": f"House {number // 4}.",
    }
    return given | {"label": label} | more


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(one) for one in rows), encoding="utf-8")
    return path


def test_each_claim_is_a_pair_of_its_kind(tmp_path: Path) -> None:
    rows = [row(number, question="How many?" if number % 2 else "") for number in range(FEWEST)]
    write(tmp_path / "a.jsonl", *rows[:20])
    write(tmp_path / "b.jsonl", *rows[20:])
    made = pairs([tmp_path])
    assert len(made) == FEWEST and made == pairs([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    kinds = {(LABELS[int(one.id.split(":")[1]) % 4], one.use, one.wrong) for one in made}
    assert kinds == {
        ("supported", "statement", False), ("supported", "answer", False), ("contradicted", "answer", True),
        ("not_in_reference", "search", False),
    }  # fmt: skip
    texts = [one.reference for one in made]
    assert len(set(texts)) == sum(one != other for one, other in zip(texts, ["", *texts], strict=False)), (
        "one text after another"
    )
    assert all(len({one.half for one in made if one.reference == text}) == 1 for text in texts)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row(number) for number in range(FEWEST - 1)], f"give at least {FEWEST}"),
        ([row(number, label="supported") for number in range(FEWEST)], f"{FEWEST} right claims and 0 others"),
        ([row(0, label="true")], "line 1: label"),
    ],
)
def test_too_few_or_one_kind_alone_is_one_line(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        pairs([write(tmp_path / "own.jsonl", *rows)])


def test_no_files_are_no_pairs() -> None:
    assert pairs([]) == []
