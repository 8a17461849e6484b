"""The benchmark: sets read without their gold answers, figures against hand-computed ones, runs that resume."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haluagent import HaluAgent
from haluagent.bench.datasets import READERS, Claim, Item, load
from haluagent.bench.report import auroc, scores, table
from haluagent.bench.run import label_of, read, run
from haluagent.errors import ConfigError
from haluagent.protocols import Message

GOLD = "GOLD-7391"  # stands wherever a set keeps what the agent must not see
SUM, WRONG_SUM = "It is 1 + 1 = 2.", "It is 1 + 1 = 3."

ROWS: dict[str, list[dict[str, Any]]] = {
    "ape210k": [
        {
            "id": "a", "question": "一箱15瓶，6箱几瓶？", "answer": "90瓶", "judge": 0, "chain": GOLD, "result": GOLD,
            "result_float": 7391.5, "equation": f"x={GOLD}", "question_english": GOLD,
        },
        {"id": "b", "question": "一箱15瓶，6箱几瓶？", "answer": "80瓶", "judge": 1, "equation": GOLD},
    ],
    "wordcnt": [{"question_id": 5, "question": "请用5字描述大海。", "answer": "海水很蓝。", "judge": 0, "length": GOLD}],
    "date": [
        {"question": "从2020年1月1日到2020年1月3日共有多少天？", "answer": "2天", "judge": 0, "gold": GOLD},
        {"question": "把“海”翻译成英语。", "answer": "sea", "judge": 0},
        {"question": "从2020年1月1日到2020年1月3日共有多少天？", "answer": "9天", "judge": 1},
    ],
    "translation": [
        {"question": "把“海”翻译成英语。", "answer": "sea", "judge": 0, "gold": GOLD},
        {"question": "从2020年1月1日到2020年1月3日共有多少天？", "answer": "2天", "judge": 0},
        {"question": "把“海”翻译成英语。", "answer": "sky", "judge": 1},
    ],
    "humaneval": [
        {"id": "7", "run_id": GOLD, "question": "写一个函数 f。", "answer": "def f(x):\n    return x\nassert f(1) == 1", "judge": 0},
    ],
    "webqa": [{"id": 11, "question": "海在哪里？", "output": GOLD, "answer": "海在东边。", "judge": 1}],
    "halueval_qa": [
        {"question": "Where?", "answer": "In Rome.", "knowledge": "It was in Rome.", "judge": 0, "right_answer": GOLD},
        {"question": "Where?", "answer": "In Oslo.", "knowledge": "It was in Rome.", "judge": 1, "right_answer": GOLD},
    ],
    "factool_math": [
        {
            "prompt": "What is it?", "response": GOLD, "answer": GOLD, "label": GOLD, "entry_point": GOLD,
            "claims": [
                {"label": True, "claim": {"math_calculation": "1 + 1", "calculated_answer": "2"}},
                {"label": False, "claim": {"math_calculation": "2\n+ 2", "calculated_answer": "5"}},
                {"label": "unclear", "claim": {"math_calculation": "3 + x", "calculated_answer": "6"}},
            ],
        },
        {"prompt": "And?", "response": GOLD, "claims": []},
    ],
}  # fmt: skip


def write(directory: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = directory / READERS[name][0]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


# The sets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ids", "wrong"),
    [
        ("ape210k", ["1:a", "2:b"], [False, True]),
        ("wordcnt", ["1:5"], [False]),
        ("date", ["1:1", "3:3"], [False, True]),  # only the questions about days
        ("translation", ["1:1", "3:3"], [False, True]),  # only the others
        ("humaneval", ["1:7"], [False]),
        ("webqa", ["1:11"], [True]),
        ("halueval_qa", ["1:1", "2:2"], [False, True]),
        ("factool_math", ["1"], [True]),
    ],
)
def test_every_set_is_read(tmp_path: Path, name: str, ids: list[str], wrong: list[bool]) -> None:
    write(tmp_path, name, ROWS[name])
    items = list(load(name, tmp_path))
    assert ([item.id for item in items], [item.wrong for item in items]) == (ids, wrong)
    assert all((item.reference is not None) is (name == "halueval_qa") for item in items)


def test_all_sets_are_tested() -> None:
    assert set(ROWS) == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_gold_is_not_in_what_the_agent_is_shown(scripted: Any, tmp_path: Path, name: str) -> None:
    write(tmp_path, name, ROWS[name])
    for item in load(name, tmp_path):
        assert GOLD not in f"{item.question}{item.response}{item.reference}" and "7391" not in item.response
    model = scripted(lambda messages: "1")
    with HaluAgent(model, sandbox="none", search="none") as agent:
        run(agent, [name], tmp_path, tmp_path / "out.jsonl", progress=lambda line: None)
    assert model.seen and GOLD not in str(model.seen)


@pytest.mark.parametrize("name", ["ape210k", "wordcnt", "date", "halueval_qa"])
def test_the_judgement_changes_nothing_but_the_gold_label(tmp_path: Path, name: str) -> None:
    """The same row, judged the other way, is the same item for the agent."""
    seen = []
    for judge in (0, 1):
        write(tmp_path, name, [ROWS[name][0] | {"judge": judge}])
        (item,) = load(name, tmp_path)
        assert item.wrong is bool(judge)
        seen.append(item.model_copy(update={"wrong": False}))
    assert seen[0] == seen[1]


def test_claims_are_the_lines_of_the_response(tmp_path: Path) -> None:
    write(tmp_path, "factool_math", ROWS["factool_math"])
    (item,) = load("factool_math", tmp_path)
    assert item.response == "1 + 1 = 2\n2 + 2 = 5\n3 + x = 6"
    assert [claim.wrong for claim in item.claims] == [False, True, None]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", "JSONDecodeError"),
        ('{"question": "q", "answer": "a"}', "KeyError: 'judge'"),
        ('{"question": 3, "answer": "a", "judge": 0}', "ValidationError"),
        pytest.param(
            "[]", "AttributeError|TypeError",
        ),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, error: str) -> None:
    path = write(tmp_path, "wordcnt", ROWS["wordcnt"])
    with path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    items = load("wordcnt", tmp_path)
    assert next(items).id == "1:5"
    with pytest.raises(ConfigError, match=rf"wordcnt.jsonl, line 2: (?:{error})"):
        next(items)


@pytest.mark.parametrize(("name", "says"), [("trivia", "no dataset 'trivia'"), ("wordcnt", "does not exist")])
def test_a_set_that_is_not_there_is_an_error(tmp_path: Path, name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        list(load(name, tmp_path))


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_a_line_ends_at_a_newline_only(tmp_path: Path, character: str) -> None:
    write(tmp_path, "wordcnt", [ROWS["wordcnt"][0] | {"answer": f"海{character}蓝"}])
    assert [item.response for item in load("wordcnt", tmp_path)] == [f"海{character}蓝"]


# The figures -----------------------------------------------------------------------------------------------------


def test_scores_by_hand() -> None:
    """Three hallucinations: one found, one missed, one open. Two right items: one seen as right, one flagged."""
    result = scores([True, True, True, False, False], [True, False, None, False, True], [0.9, 0.2, 0.5, 0.2, 0.8])
    assert result.n == 5
    assert result.accuracy == pytest.approx(2 / 5)
    assert result.balanced == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert result.f1 == pytest.approx(2 * 1 / (2 * 1 + 1 + 2))  # 2 TP / (2 TP + FP + FN)
    assert result.coverage == pytest.approx(4 / 5)
    assert result.accuracy_covered == pytest.approx(2 / 4)
    assert result.by_score == pytest.approx(2 / 5)
    assert result.auroc == pytest.approx((2 + 0.5 + 1) / 6)
    assert result.always_yes == pytest.approx(3 / 5)


def test_scores_of_the_perfect_and_of_the_silent() -> None:
    gold = [True, False, True]
    assert set(scores(gold, gold, [0.9, 0.1, 0.8]).model_dump(exclude={"n", "always_yes"}).values()) == {1.0}
    silent = scores(gold, [None] * 3, [0.5] * 3).model_dump(exclude={"n", "always_yes", "auroc", "by_score"})
    assert set(silent.values()) == {0.0}
    assert scores(gold, [None] * 3, [0.5] * 3).by_score == pytest.approx(1 / 3)  # a score of one half flags nothing
    assert scores(gold, [None] * 3, [0.5] * 3).auroc == 0.5


@pytest.mark.parametrize(("label", "f1"), [(True, 2 / 3), (False, 0.0)])
def test_scores_with_one_class(label: bool, f1: float) -> None:
    result = scores([label, label], [label, None], [0.5, 0.5])
    assert (result.accuracy, result.balanced, result.coverage, result.accuracy_covered) == (0.5, 0.5, 0.5, 1.0)
    assert result.f1 == pytest.approx(f1)
    assert (result.auroc, result.always_yes) == (0.5, float(label))


def test_scores_of_nothing() -> None:
    assert set(scores([], [], []).model_dump(exclude={"auroc"}).values()) == {0}


def test_scores_need_lists_of_the_same_length() -> None:
    with pytest.raises(ValueError):
        scores([True], [], [0.5])
    with pytest.raises(ValueError):
        auroc([True], [])


def by_rank_sum(gold: list[bool], ranks: list[float]) -> float:
    """The area under the curve from the sum of the positives' mid-ranks."""
    places = [
        sum(other < rank for other in ranks) + (sum(other == rank for other in ranks) + 1) / 2 for rank in ranks
    ]
    n, m = sum(gold), len(gold) - sum(gold)
    return (sum(place for place, label in zip(places, gold, strict=True) if label) - n * (n + 1) / 2) / (n * m)


RANKED = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)), max_size=20)


@given(RANKED)
def test_auroc_is_the_area(rows: list[tuple[bool, float]]) -> None:
    gold, ranks = [row[0] for row in rows], [row[1] for row in rows]
    if len(set(gold)) < 2:
        assert auroc(gold, ranks) == 0.5
        return
    assert auroc(gold, ranks) == pytest.approx(by_rank_sum(gold, ranks))
    assert auroc(gold, ranks) + auroc([not label for label in gold], ranks) == pytest.approx(1)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([True, False, None]), st.floats(0, 1)), max_size=20))
def test_scores_are_shares(rows: list[tuple[bool, bool | None, float]]) -> None:
    gold, verdicts, ranks = ([row[i] for row in rows] for i in range(3))
    result = scores(gold, verdicts, ranks)  # type: ignore[arg-type]
    assert all(0 <= value <= 1 for value in result.model_dump(exclude={"n"}).values())
    assert result.accuracy == pytest.approx(result.coverage * result.accuracy_covered)


def test_the_table_has_a_line_a_set_and_one_for_its_sentences() -> None:
    rows = [
        {"dataset": "a", "wrong": True, "verdict": True, "score": 0.9},
        {"dataset": "b", "wrong": False, "verdict": None, "score": 0.5, "claims": [
            {"wrong": False, "label": "supported"}, {"wrong": True, "label": "unverified"},
            {"wrong": None, "label": "contradicted"},
        ]},
    ]  # fmt: skip
    head, rule, *lines = table(rows).splitlines()
    assert [line.split(" | ")[:4] for line in lines] == [
        ["| a", "1", "100.0", "100.0"], ["| b", "1", "0.0", "0.0"], ["| b by sentence", "2", "50.0", "50.0"],
    ]  # fmt: skip
    assert {line.count("|") for line in (head, rule, *lines)} == {head.count("|")}


# Runs ------------------------------------------------------------------------------------------------------------


def rows_of(count: int) -> list[dict[str, Any]]:
    """Every second one is a hallucination."""
    return [
        {"id": f"r{i}", "question": f"Describe sum {i}.", "answer": (SUM, WRONG_SUM)[i % 2], "judge": i % 2}
        for i in range(count)
    ]


Bench = Callable[..., list[str]]


@pytest.fixture
def bench(scripted: Any, tmp_path: Path) -> Bench:
    """Run over the set in `tmp_path`; what was asked of the agent, in order."""

    def bench(limit: int | None = None) -> list[str]:
        lines: list[str] = []
        with HaluAgent(scripted(scripted.calculate)) as agent:
            run(agent, ["ape210k"], tmp_path, tmp_path / "runs" / "out.jsonl", limit, lines.append)
        return [line.split()[2] for line in lines]

    return bench


def test_a_run_writes_every_item_with_its_report(bench: Bench, tmp_path: Path) -> None:
    write(tmp_path, "ape210k", rows_of(4))
    assert bench() == ["1:r0", "2:r1", "3:r2", "4:r3"]
    rows = read(tmp_path / "runs" / "out.jsonl")
    assert [(row["id"], row["wrong"], row["verdict"]) for row in rows] == [
        ("1:r0", False, False), ("2:r1", True, True), ("3:r2", False, False), ("4:r3", True, True),
    ]  # fmt: skip
    assert all(row["detection"]["response"] in (SUM, WRONG_SUM) for row in rows)
    assert "| ape210k | 4 | 100.0 |" in table(rows)


def test_a_run_goes_on_where_it_stopped(bench: Bench, tmp_path: Path) -> None:
    write(tmp_path, "ape210k", rows_of(4))
    out = tmp_path / "runs" / "out.jsonl"
    assert bench(limit=2) == ["1:r0", "2:r1"]
    before = out.read_bytes()
    assert bench() == ["3:r2", "4:r3"]
    assert out.read_bytes().startswith(before)
    assert bench() == [] and len(read(out)) == 4


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 1.0])
def test_after_a_line_that_was_cut_off_no_item_is_lost_or_repeated(bench: Bench, tmp_path: Path, kept: float) -> None:
    write(tmp_path, "ape210k", rows_of(4))
    out = tmp_path / "runs" / "out.jsonl"
    bench(limit=3)
    *whole, last = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(whole) + last[: int(kept * (len(last) - 1))])  # at most all but the newline
    assert bench() == ["3:r2", "4:r3"]
    assert [row["id"] for row in read(out)] == ["1:r0", "2:r1", "3:r2", "4:r3"]
    assert out.read_bytes().startswith(b"".join(whole))


def test_a_line_may_be_cut_off_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"id": 1}\n' + '{"id": "海'.encode()[:-1])
    assert read(path) == [{"id": 1}]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\x85"])
def test_a_run_over_any_characters_can_be_resumed(bench: Bench, tmp_path: Path, character: str) -> None:
    row = rows_of(1)[0] | {"question": f"Describe{character}it."}
    (tmp_path / READERS["ape210k"][0]).write_text(json.dumps(row) + "\n")
    bench()
    assert bench() == []


def test_an_item_that_cannot_be_checked_is_written_with_its_error(bench: Bench, tmp_path: Path) -> None:
    write(tmp_path, "ape210k", [rows_of(1)[0] | {"answer": " "}, *rows_of(2)[1:]])
    assert len(bench()) == 2
    first, second = read(tmp_path / "runs" / "out.jsonl")
    assert "empty" in first["error"] and (first["verdict"], first["score"]) == (None, 0.5)
    assert second["verdict"] is True
    assert "| ape210k | 2 | 50.0 |" in table([first, second])


def test_a_set_that_is_not_there_stops_the_run_before_it_writes(scripted: Any, tmp_path: Path) -> None:
    write(tmp_path, "ape210k", rows_of(1))
    with HaluAgent(scripted(scripted.calculate)) as agent, pytest.raises(ConfigError, match="wordcnt"):
        run(agent, ["ape210k", "wordcnt"], tmp_path, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_claims_get_the_labels_of_their_own_sentences(scripted: Any) -> None:
    claims = [("1 + 1 = 2", False), ("2 + 2 = 5", True), ("this is no sum", None)]
    item = Item(
        id="1", question="What is it?", response="\n".join(text for text, _ in claims), wrong=True,
        claims=tuple(Claim(text=text, wrong=wrong) for text, wrong in claims),
    )  # fmt: skip

    def say(messages: Sequence[Message]) -> str:
        last = scripted.checked(messages) == "S3"
        return "ACTION: get_answer()" if last else str(scripted.calculate(messages))

    with HaluAgent(scripted(say)) as agent:
        detection = agent.detect(item.question, item.response)
    assert [label_of(detection, item, number) for number in range(3)] == ["supported", "contradicted", "unverified"]
