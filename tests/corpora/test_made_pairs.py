"""The set that is made from published questions and answers."""

import json
from pathlib import Path

import pytest

from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.loading import load
from haluagent.corpora.passages import LONGEST
from haluagent.errors import ConfigError

FILLER = "这一带多山，夏天下雨很多，村民大多种茶，也有人打鱼，冬天则常常下雪，道路因此不通。" * 12


def passage(number: int) -> tuple[str, list[tuple[str, str]]]:
    text = f"第{number}桥建于{1800 + number}年，全长{40 + number}米。{FILLER}它在{1900 + number}年重修。"
    return text, [("这座桥建于哪一年？", f"{1800 + number}年"), ("这座桥重修于哪一年？", f"{1900 + number}年")]


def write(folder: Path, numbers: range, published: bool) -> Path:
    folder.mkdir(exist_ok=True)
    made = [passage(number) for number in numbers]
    if published:
        rows = [{"context_id": "D", "context_text": text, "title": "t",
                 "qas": [{"query_text": question, "query_id": "Q", "answers": [answer, answer]} for question, answer in asked]}
                for text, asked in made]  # fmt: skip
        (folder / "cmrc2018_dev.json").write_text(json.dumps(rows, ensure_ascii=False))
    else:
        flat = [
            {"context": text, "question": question, "answers": [answer]}
            for text, asked in made
            for question, answer in asked
        ]
        (folder / "cmrc2018_dev.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in flat))
    return folder


def told(items: list[Item]) -> list[tuple[str, str, bool]]:
    return sorted((item.reference or "", item.response, item.wrong) for item in items)


def test_both_forms_of_the_file_hold_the_same_pairs(tmp_path: Path) -> None:
    published, flat = (load("cmrc2018", write(tmp_path / str(form), range(8), form)) for form in (True, False))
    assert len(published) == len(flat) == 16
    assert (
        {item.reference for item in published} == {item.reference for item in flat} == {passage(n)[0] for n in range(8)}
    )


def test_a_right_and_a_wrong_answer_of_one_form_to_one_question(tmp_path: Path) -> None:
    items = load("cmrc2018", write(tmp_path, range(20), False))
    for right, wrong in zip(items[::2], items[1::2], strict=True):
        assert (right.wrong, wrong.wrong) == (False, True)
        assert (right.question, right.reference, right.language) == (wrong.question, wrong.reference, "zh")
        assert right.response != wrong.response and abs(len(right.response) - len(wrong.response)) <= 1
        assert dict(passage(int(right.reference.partition("桥")[0][1:]))[1])[right.question] in right.response  # type: ignore[union-attr]
    assert told(items) == told(load("cmrc2018", tmp_path))


def test_passages_that_models_are_taught_with_are_not_in_it(tmp_path: Path) -> None:
    row = {
        "id": "x",
        "context": passage(1)[0][: LONGEST["zh"]],
        "question": "这座桥建于哪一年？",
        "answers": ["1801年"],
    }
    (tmp_path / "cmrc2018_dev.jsonl").write_text(json.dumps(row))
    with pytest.raises(ConfigError, match="holds no item of cmrc2018"):
        load("cmrc2018", tmp_path)


BAD: list[dict[str, object]] = [
    {"context": "桥", "answers": ["一"]},
    {"context_text": "桥"},
    {"qas": []},
    {"context": " "},
]


@pytest.mark.parametrize("row", BAD)
def test_a_row_that_is_none_is_named(row: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "cmrc2018_dev.jsonl").write_text(json.dumps(row))
    with pytest.raises(ConfigError, match=r"cmrc2018_dev.jsonl, line 1: field '"):
        load("cmrc2018", tmp_path)
