"""The lessons that are made from sets: the same every time, in twos, and with nothing trivial that tells the labels."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import made_sets
import pytest

from haluagent.errors import ConfigError
from haluagent.tools import default_registry
from haluagent.train.trajectories import sources
from haluagent.train.trajectories.build import build, gold_teacher
from haluagent.train.trajectories.filter import keep
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.records import read
from haluagent.train.trajectories.stats import shortcuts

SCALE = 0.5


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_sets.write(tmp_path_factory.mktemp("sets") / "data")


@pytest.fixture(scope="module")
def lessons(data: Path) -> list[Lesson]:
    return sources.make(data, SCALE)


def test_the_same_files_give_the_same_lessons(data: Path, lessons: list[Lesson]) -> None:
    assert sources.make(data, SCALE) == lessons
    assert sources.make(data, SCALE, seed=7) != lessons


def test_there_are_lessons_of_every_kind_and_language(lessons: list[Lesson]) -> None:
    found = {(lesson.kind, lesson.language) for lesson in lessons}
    both = {(kind, language) for kind in ("knowledge", "math", "date", "translation") for language in ("en", "zh")}
    assert found >= both | {("code", "en")}
    assert len({lesson.id for lesson in lessons}) == len(lessons)


def test_a_source_that_is_left_out_changes_no_other(data: Path, lessons: list[Lesson]) -> None:
    left = sources.make(data, SCALE, without=["translations", "dates"])
    assert left == [lesson for lesson in lessons if lesson.source not in ("translations", "dates")]
    taken = sources.make(data, SCALE, only=["translations", "dates"])
    assert taken == [lesson for lesson in lessons if lesson.source in ("translations", "dates")]
    with pytest.raises(ConfigError, match="no source is called wikipedia; known are halueval_qa_generated"):
        sources.make(data, SCALE, without=["wikipedia"])


def test_right_and_wrong_lessons_are_made_in_twos(lessons: list[Lesson]) -> None:
    sides: dict[str, set[str]] = {}
    for lesson in lessons:
        stem, _, side = lesson.id.rpartition(":")
        if lesson.kind in ("knowledge", "translation", "code") and side != "open":
            sides.setdefault(stem, set()).add(side)
    assert sides and all(side == {"right", "wrong"} for side in sides.values())


def test_of_a_line_with_two_roles_each_answer_is_right_once_and_wrong_once(lessons: list[Lesson]) -> None:
    """Else the name alone would tell the label."""
    sides: dict[str, Counter[tuple[str, bool | None]]] = {}
    for lesson in (one for one in lessons if one.source == "roles"):
        other = lesson.change.after if lesson.change else lesson.answer
        sides.setdefault(lesson.group, Counter())[other, lesson.gold] += 1
        assert all(other.lower() in text.lower() for text in (lesson.response, lesson.reference or ""))
    assert len(sides) == 16
    assert all(len(found) == 4 and set(found.values()) == {1} for found in sides.values())


def test_of_a_passage_that_is_looked_up_either_all_is_in_the_index_or_the_answer_is_not(lessons: list[Lesson]) -> None:
    """Else the teacher would say of a text with the answer that it has none."""
    found: dict[str, Counter[bool | None]] = {}
    for lesson in lessons:
        if lesson.index:
            found.setdefault(lesson.group, Counter())[lesson.gold] += 1
    assert {frozenset(golds) for golds in found.values()} == {frozenset({True, False}), frozenset({None})}


def test_nothing_trivial_tells_the_labels_apart(lessons: list[Lesson], tmp_path: Path) -> None:
    teacher = gold_teacher(tool.name for tool in default_registry())
    labelled = [lesson for lesson in lessons if lesson.kind != "code"]
    asyncio.run(build(labelled, teacher, tmp_path / "made.jsonl", progress=lambda text: None))
    kept = keep(read(tmp_path / "made.jsonl")).kept
    assert len(kept) > len(labelled) * 0.7
    shares = shortcuts(kept)
    assert all(share < 60 for share in shares.values()), shares
    said: dict[Any, set[str]] = {}
    for call in (call for one in kept for call in one.calls if call.learn):
        said.setdefault(call.messages, set()).add(call.reply)
    assert [messages for messages, replies in said.items() if len(replies) > 1] == []  # no prompt is taught two replies


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        ("ape210k_valid", None, "ape210k_valid.jsonl does not exist"),
        ("ape210k_valid", "{}", "line 121 is not as published: KeyError: 'equation'"),
        ("gsm8k_model_solutions", '{"question": "q"}', "line 9 is not as published: KeyError: 'ground_truth'"),
        ("humaneval_problems", "[]", "line 3 is not a JSON object"),
        ("gsm8k_train", "{", "line 121 is not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, file: str, line: str | None, said: str) -> None:
    path = made_sets.write(tmp_path / "data") / f"{file}.jsonl"
    if line is None:
        path.unlink()
    else:
        path.write_text(path.read_text(encoding="utf-8") + line, encoding="utf-8")
    with pytest.raises(ConfigError, match=said):
        sources.make(tmp_path / "data", 2, without=["halueval_qa_generated", "cmrc2018_dev", "consistency", "lengths"])


ITEM: dict[str, Any] = {
    "id": "mine:1", "group": "mine:1", "source": "mine", "kind": "knowledge", "language": "en", "question": "Who?",
    "response": "It was Mary. It rained.", "gold": True,
}  # fmt: skip


def items(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    file = tmp_path / "items.jsonl"
    file.write_text("\n".join(["", *(json.dumps(row) for row in rows)]), encoding="utf-8")
    return file


def test_items_of_ones_own_need_little(tmp_path: Path) -> None:
    (lesson,) = sources.read_items(items(tmp_path, ITEM))  # the last line needs no line break
    assert (lesson.reference, lesson.gold_labels, lesson.answer, lesson.index) == (None, (), "", False)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "is empty"),
        ([ITEM, ITEM], "line 3: the id mine:1 stood in an earlier line"),
        ([ITEM | {"colour": "red"}], "line 2: colour: Extra inputs"),
        ([ITEM | {"response": " \n"}], "line 2: the question and the response must not be empty"),
        ([ITEM | {"gold_labels": ["contradicted"]}], "the response has 2 sentences, and gold_labels 1 labels"),
        ([ITEM | {"gold": False, "gold_labels": ["supported", "contradicted"]}], "so gold must be true"),
        ([ITEM | {"gold": False, "gold_labels": ["supported", "unverified"]}], "so gold must be null, or true"),
        ([ITEM | {"language": "de"}], "line 2: language: Input should be"),
        ([{key: ITEM[key] for key in ITEM if key != "gold"}], "line 2: gold: Field required"),
    ],
)
def test_items_that_could_teach_nothing_are_named(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        sources.read_items(items(tmp_path, *rows))


def test_a_file_of_items_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist: give a file of labelled items"):
        sources.read_items(tmp_path / "none.jsonl")
