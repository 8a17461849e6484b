"""The judge of single claims, source by source: samples, curves from other sources, and the command."""

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.bench.datasets.claims_beside_texts import PER_TEXT, in_turns, sample, sources
from haluagent.bench.datasets.items import Item
from haluagent.bench.methods.registry import METHODS
from haluagent.bench.report.data import figures
from haluagent.bench.report.markdown import markdown
from haluagent.bench.report.page import page
from haluagent.bench.report.writing import judge_table
from haluagent.bench.rows import Row, RunInfo, read
from haluagent.bench.run import judge
from haluagent.bench.scoring.fit import logistic
from haluagent.bench.scoring.scores import of_responses
from haluagent.bench.scoring.sources import ALL, by_source, transferred
from haluagent.cli.main import app
from haluagent.errors import ConfigError
from haluagent.protocols import Message
from haluagent.types import Usage

ABOUT = RunInfo(version="9.9", model="tiny")


def claim(number: int, **changes: Any) -> dict[str, Any]:
    """A row of a source: the third and fourth of four claims beside one text are wrong."""
    tower, wrong = number // 4, number % 4 > 1
    return {
        "id": f"c{number}",
        "source": "anything",
        "language": "en",
        "question": "",
        "claim": f"Tower {tower} was {'never' if wrong else 'once'} painted in shade {number} by its keeper",
        "text": f"Tower {tower} was painted. Its keeper did it.",
        "wrong": wrong,
        "kind": "GOLD",
    } | changes


def write(folder: Path, **files: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data", first=[claim(n) for n in range(48)], second=[claim(n) for n in range(20)])


# Reading and sampling --------------------------------------------------------------------------------------------


def test_every_file_is_a_source_and_its_gold_stays_out_of_the_texts(data: Path) -> None:
    found = sources(data)
    assert {name: len(items) for name, items in found.items()} == {"first": 48, "second": 20}
    one = found["first"][2]
    assert (one.id, one.question, one.wrong, one.language) == ("c2", "", True, "en")
    assert one.reference == "Tower 0 was painted. Its keeper did it."
    assert "GOLD" not in one.model_dump_json()
    assert len({item.group for item in found["first"]}) == 12
    assert list(sources(data, "second")) == ["second"]


def test_a_set_of_the_catalogue_is_a_source_by_its_name(data: Path) -> None:
    known = {"question": "Where?", "answer": "In Oslo.", "knowledge": "It was in Rome.", "judge": 1}
    write(data, halueval_qa=[known])
    (item,) = sources(data, "halueval_qa")["halueval_qa"]
    assert (item.response, item.reference, item.wrong) == ("In Oslo.", "It was in Rome.", True) and item.group
    write(data, halluqa=[{"question": "Wo?", "answer": "Da.", "judge": 1, "original_question": {}}])
    with pytest.raises(ConfigError, match="halluqa has no references"):
        sources(data, "halluqa")


def test_what_is_wrong_with_a_source_is_said(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no third\.jsonl"):
        sources(data, "first,third")
    with pytest.raises(ConfigError, match="is no directory"):
        sources(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"holds no \.jsonl file"):
        sources(write(tmp_path / "empty"))
    for changes, why in (
        ({"wrong": 1}, "field 'wrong'"),
        ({"text": " "}, "field 'text'"),
        ({"id": "c0"}, "field 'id'"),
    ):
        write(data, third=[claim(0), claim(1, **changes)])
        with pytest.raises(ConfigError, match=f"third.jsonl, line 2: {why}"):
            sources(data, "third")


def test_a_sample_is_fixed_balanced_and_part_of_a_larger_one(data: Path) -> None:
    items = sources(data)["first"]
    small, large = sample(items, 12), sample(items, 36)
    mixed = random.Random(3).sample(items, len(items))
    assert sample(mixed, 12) == small
    assert Counter(item.wrong for item in small) == {True: 6, False: 6}
    assert {item.id for item in small} < {item.id for item in large}
    assert len(sample(items, 1000)) == len(items)
    # The claims of a text come together, so that its reading serves them all.
    assert Counter(Counter(item.group for item in small).values()) == {2 * PER_TEXT: 3}


def test_a_sample_takes_no_more_of_one_label_where_the_other_is_rare(data: Path) -> None:
    items = [item for item in sources(data)["first"] if item.wrong or item.id == "c0"]
    assert Counter(item.wrong for item in sample(items, 12)) == {True: 6, False: 1}


def test_sources_come_in_turns_and_the_claims_of_a_text_together(data: Path) -> None:
    found = in_turns(sources(data))
    assert len(found) == len(set(found)) == 68
    texts = [key for key, _ in groupby(found, key=lambda one: (one[0], one[1].group))]
    assert len(texts) == len(set(texts)) == 12 + 5
    assert [name for name, _ in texts[:10]] == ["first", "second"] * 5


def test_a_source_with_one_claim_a_text_keeps_up_with_one_of_many(data: Path) -> None:
    write(data, single=[claim(n * 4) for n in range(20)])
    found = in_turns(sources(data))
    assert Counter(name for name, _ in found[:36]) == {"first": 12, "second": 12, "single": 12}


# Figures ---------------------------------------------------------------------------------------------------------


def row(source: str, number: int, wrong: bool, score: float, verdict: bool | None, **changes: Any) -> Row:
    usage = Usage(calls=2, prompt_tokens=128, cached_tokens=64, generated_tokens=2)
    return Row(
        dataset=source, id=str(number), method="match", language="en", wrong=wrong, verdict=verdict, score=score, length=9,
        usage=usage, group=str(number // 2), **changes,
    )  # fmt: skip


def drawn(source: str, shift: float, count: int = 40, seed: int = 1) -> list[Row]:
    """Scores whose log-odds are `shift` too high, as a judge that contradicts too much gives them."""
    chance = random.Random(seed)
    found = []
    for number in range(count):
        wrong = number % 2 == 0
        score = 1 / (1 + math.exp(-(chance.gauss(1 if wrong else -1, 1) + shift)))
        found.append(row(source, number, wrong, score, score > 0.5))
    return found


def test_shares_by_hand() -> None:
    verdicts: list[tuple[bool, bool | None]] = [
        (False, False), (False, True), (False, None), (False, False), (True, True), (True, False), (True, None), (True, True),
    ]  # fmt: skip
    rows = [row("a", n, wrong, 0.5, verdict) for n, (wrong, verdict) in enumerate(verdicts)]
    (found,) = by_source(rows)
    assert (found.false_alarms.value, found.misses.value, found.undecided.value) == (0.5, 0.25, 0.25)
    assert found.scores.balanced == 0.5 and found.transferred is None
    assert found.cost.per_item("evaluated") == 64 and found.cost.per_item("generated") == 2
    low, high = found.false_alarms.interval or (0, 0)
    assert 0 <= low <= 0.5 <= high <= 1
    (only_wrong,) = by_source([one for one in rows if one.wrong])
    assert only_wrong.false_alarms.value is None and only_wrong.scores.balanced is None
    assert by_source([]) == []


def test_claims_beside_one_text_are_resampled_together() -> None:
    """Two claims of a text that always go together are no more than one."""
    rows = [row("a", n, n % 4 < 2, 0.5, n % 8 < 4) for n in range(80)]
    alone = [one.model_copy(update={"group": None}) for one in rows]
    low, high = of_responses(rows).intervals["accuracy"]
    low_alone, high_alone = of_responses(alone).intervals["accuracy"]
    assert high - low > 1.2 * (high_alone - low_alone)


def test_the_curve_of_the_other_sources_corrects_what_they_share() -> None:
    rows = [one for place, name in enumerate("abc") for one in drawn(name, shift=2.0, seed=place)]
    *found, every = by_source(rows)
    for one in found:
        assert (
            one.transferred is not None and one.transferred.balanced and one.transferred.calibration_error is not None
        )
        assert one.transferred.balanced > (one.scores.balanced or 0) + 0.1
        assert one.transferred.calibration_error < (one.scores.calibration_error or 0)
        assert one.transferred.auroc == pytest.approx(one.scores.auroc)
        assert one.transferred.coverage == 1
    assert every.source == ALL and every.scores.n == every.transferred.n == 120  # type: ignore[union-attr]


def test_the_labels_of_a_source_have_no_part_in_its_own_curve() -> None:
    others = drawn("b", 1.0) + drawn("c", 0.5, seed=2)
    own = drawn("a", 1.0, seed=3)
    turned = [one.model_copy(update={"wrong": not one.wrong}) for one in own]
    first, second = transferred(own + others, "a"), transferred(turned + others, "a")
    assert first and second and [one.score for one in first] == [one.score for one in second]
    changed = transferred(own + drawn("b", -1.0) + drawn("c", -1.0, seed=2), "a")
    assert changed and changed[0].score != first[0].score


def test_every_source_has_the_same_weight_in_a_curve() -> None:
    """Ten times the claims of one source leave the curve where it was, but for the penalty on its slope. Without weights
    the scores would change by 0.27."""
    few = drawn("a", 0.0) + drawn("b", 2.0, seed=2) + drawn("c", 0.0, seed=3)
    many = few + [one.model_copy(update={"id": f"{one.id}-{n}"}) for n in range(9) for one in few if one.dataset == "b"]
    first, second = transferred(few, "a"), transferred(many, "a")
    assert first and second
    assert [one.score for one in second] == pytest.approx([one.score for one in first], abs=0.05)


def test_there_is_no_curve_from_one_label_and_a_failed_claim_stays_undecided() -> None:
    own = drawn("a", 0.0)
    failed = own[0].model_copy(update={"error": "gone", "verdict": None, "score": 0.5})
    right_only = [one for one in drawn("b", 0.0) if not one.wrong]
    assert transferred(own + right_only, "a") is None
    found = transferred([failed, *own[1:], *drawn("b", 1.0)], "a")
    assert found and found[0] == failed and all(one.verdict is not None for one in found[1:])
    assert by_source([failed, *right_only])[-1].transferred is None


def test_a_weight_is_a_number_of_repetitions() -> None:
    features, labels = [[-1.0], [0.2], [0.1], [2.0]], [False, True, False, True]
    repeated = [feature for place, feature in enumerate(features) for _ in range(place + 1)]
    repeated_labels = [label for place, label in enumerate(labels) for _ in range(place + 1)]
    weighted = logistic(features, labels, weights=[1, 2, 3, 4])
    assert weighted == pytest.approx(logistic(repeated, repeated_labels))
    assert weighted != pytest.approx(logistic(features, labels), rel=0.02)


def test_the_report_has_a_table_and_a_curve_for_each_source() -> None:
    rows = drawn("alpha", 1.0) + drawn("beta", 0.5, seed=2)
    report = figures(ABOUT, rows)
    assert report.shown == "match" and sum(one.n for one in report.reliability) == 80
    text = markdown(report)
    section = text[text.index("## Claims by source") : text.index("## Cost")]
    assert [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| ")][2:] == [
        "| alpha", "| beta", f"| {ALL}",
    ]  # fmt: skip
    html = page(report, rows)
    assert html.count('aria-label="Reliability curve') == 3  # all, and each source
    assert "match’s score" in html
    short = judge_table(rows)
    assert len(short.splitlines()) == 4 and "[" not in short


def test_the_agent_is_shown_where_it_is_there() -> None:
    agent = [one.model_copy(update={"method": "haluagent", "score": 0.9}) for one in drawn("alpha", 0.0)]
    report = figures(ABOUT, drawn("alpha", 0.0) + agent)
    assert report.shown == "haluagent" and [one.score for one in report.reliability] == [pytest.approx(0.9)]
    assert len(report.sources) == 1
    plain = figures(ABOUT, agent)
    assert plain.sources == () and "Claims by source" not in markdown(plain) + page(plain, agent)


# Runs ------------------------------------------------------------------------------------------------------------


def command(data: Path, out: Path, url: str, *more: str) -> list[str]:
    return ["bench", "judge", "--data", str(data), "--out", str(out), "--base-url", url, *more]


def test_a_larger_sample_goes_on_from_a_smaller_one(endpoint: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    call = CliRunner().invoke(app, command(data, out, endpoint.base_url, "--sample", "8"))
    assert call.exit_code == 0, call.output
    assert [line.split()[:2] for line in call.stdout.splitlines()[1:4]] == [
        ["first", "8"],
        ["second", "8"],
        ["all", "sources"],
    ]
    begun = out.read_bytes()
    asked = endpoint.chats
    assert CliRunner().invoke(app, command(data, out, endpoint.base_url, "--sample", "8")).exit_code == 0
    assert out.read_bytes() == begun and endpoint.chats == asked
    assert CliRunner().invoke(app, command(data, out, endpoint.base_url, "--full")).exit_code == 0
    rows = read(out)[1]
    assert out.read_bytes().startswith(begun) and len(rows) == 68
    assert {row.method for row in rows} == {"match"} and all(row.group and row.usage.calls for row in rows)
    report = CliRunner().invoke(app, ["bench", "report", str(out)])
    assert report.exit_code == 0 and "Claims by source" in (tmp_path / "run.md").read_text("utf-8")


def test_a_stripped_run_gives_the_same_figures(endpoint: Any, data: Path, tmp_path: Path) -> None:
    out, copy = tmp_path / "run.jsonl", tmp_path / "run.jsonl.gz"
    CliRunner().invoke(app, command(data, out, endpoint.base_url, "--sample", "8"))
    assert CliRunner().invoke(app, ["bench", "strip", str(out), str(copy)]).exit_code == 0
    assert by_source(read(copy)[1]) == by_source(read(out)[1])


def test_peers_judge_some_of_the_same_claims(endpoint: Any, data: Path, tmp_path: Path) -> None:
    endpoint.say = lambda messages: '{"REASONING": [], "SCORE": "FAIL"}'
    out = tmp_path / "run.jsonl"
    more = ("--sources", "first", "--sample", "16", "--peers", "lynx", "--peer-sample", "4")
    call = CliRunner().invoke(app, command(data, out, endpoint.base_url, *more))
    assert call.exit_code == 0, call.output
    rows = read(out)[1]
    by_method = {name: {row.id for row in rows if row.method == name} for name in ("match", "lynx")}
    assert (len(by_method["match"]), len(by_method["lynx"])) == (16, 4)
    assert by_method["lynx"] < by_method["match"] and "lynx" in call.stdout


def test_what_cannot_be_run_is_said_before_anything_is_judged(endpoint: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    for more, why in ((("--sources", "nothing"), "nothing.jsonl"), (("--peers", "oracle"), "no peer oracle")):
        call = CliRunner().invoke(app, command(data, out, endpoint.base_url, *more))
        assert isinstance(call.exception, ConfigError) and why in str(call.exception)
    assert not out.exists() and endpoint.chats == 0


def test_a_run_that_broke_off_goes_on_with_what_is_missing(
    scripted: Callable[..., Any], data: Path, tmp_path: Path
) -> None:
    """The endpoint fails with the seventh claim; what was judged before stays, and is not judged again."""
    wanted = [(name, item, "match") for name, item in in_turns(sources(data, "second"))]
    broken = wanted[6][1].response

    def breaks(messages: Sequence[Message]) -> float:
        if broken in messages[-1]["content"]:
            raise RuntimeError("the power is gone")
        return 0.9

    def go(model: Any) -> list[Row]:
        agent = HaluAgent(model, sandbox="none", search="none")
        judge(wanted, [agent], tmp_path / "run.jsonl", methods=METHODS, again=True)
        return read(tmp_path / "run.jsonl")[1]

    first = go(scripted(choose=breaks))
    assert [row.id for row in first if row.error] == [wanted[6][1].id]
    again = scripted(choose=0.9)
    assert not [row for row in go(again) if row.error]
    assert len(again.seen) == 2 and all(broken in messages[-1]["content"] for messages in again.seen)


@pytest.mark.engine
def test_the_real_judge_tells_a_right_claim_from_a_wrong_one(engine_model: Any, tmp_path: Path) -> None:
    text = "The ferry to Skarholm leaves at 9:30 and takes two hours. Bicycles travel free of charge."
    claims = (
        ("Bicycles are carried on the ferry at no cost", False),
        ("The ferry to Skarholm leaves at 10:45", True),
        ("Bicycles travel free of charge", False),
    )
    wanted = [
        (
            "ferry",
            Item(id=str(n), question="", response=said, reference=text, language="en", wrong=wrong, group="t"),
            "match",
        )
        for n, (said, wrong) in enumerate(claims)
    ]
    out = tmp_path / "run.jsonl"
    agent = HaluAgent(engine_model, sandbox="none", search="none")
    assert judge(wanted, [agent], out, methods=METHODS) is None
    right, wrong, quoted = read(out)[1]
    assert wrong.verdict is True and wrong.score > right.score > 0
    assert quoted.verdict is False and quoted.usage.calls == 0  # a quotation needs no judgement
    assert right.usage.calls == wrong.usage.calls == 1  # its adapter was taught this question, and is asked it once
    assert wrong.usage.evaluated_tokens < 0.6 * wrong.usage.prompt_tokens  # the text was read with the claim before
