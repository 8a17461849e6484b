"""Judgements for teaching: what they are made from, and that nothing but the text gives their labels away."""

import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from haluagent.errors import ConfigError
from haluagent.train.trajectories import judgements
from haluagent.train.trajectories.judgements import TaughtClaim, joined, read, stated, trajectory

TEXT = "长江全长6300公里。黄河全长5464公里。两条河都发源于青海。"


def claim(said: str, label: judgements.Outcome, **more: Any) -> TaughtClaim:
    given = {"id": said, "source": "own", "language": "zh", "claim": said, "text": TEXT, "label": label}
    return TaughtClaim.model_validate(given | more)


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


ROW = {"id": "1", "source": "s", "language": "en", "question": "", "claim": "It is red.", "text": "It is blue."}


@pytest.mark.parametrize(
    ("more", "label"),
    [
        ({"wrong": False, "kind": "news"}, "supported"),
        ({"wrong": True, "kind": "news: antonym_swap"}, "contradicted"),
        ({"wrong": True, "kind": "news: hallucinated_fact_insertion"}, "not_in_reference"),
        ({"wrong": True, "kind": "partially_supported"}, "not_in_reference"),
        ({"wrong": True, "kind": "3300亿元: 不合理，参考事实没有提到销售额"}, "not_in_reference"),
        ({"wrong": True, "kind": "6日: 不合理，与事实冲突，应为13日"}, "contradicted"),
        ({"label": "not_in_reference"}, "not_in_reference"),
    ],
)
def test_a_published_claim_has_one_of_three_labels(tmp_path: Path, more: dict[str, Any], label: str) -> None:
    (found,) = read(write(tmp_path / "s.jsonl", ROW | more))
    assert found.label == label


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1 is not JSON"),
        (json.dumps(ROW), "line 1: label"),
        (json.dumps(ROW | {"label": "maybe"}), "line 1: label"),
        ("[]", "line 1"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "s.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read(tmp_path / "s.jsonl")
    with pytest.raises(ConfigError, match="none.jsonl cannot be read"):
        read(tmp_path / "none.jsonl")


def test_answers_become_statements_and_one_of_them_loses_its_text() -> None:
    asked = {"question": "长江全长多少公里？"}
    made = list(
        stated([claim("6300公里", "supported", **asked), claim("5464公里", "contradicted", **asked)], random.Random(0))
    )
    assert [(one.claim, one.label) for one in made[:2]] == [
        ("长江全长6300公里。", "supported"),
        ("长江全长5464公里。", "contradicted"),
    ]
    assert made[2].label == "not_in_reference" and "6300" not in made[2].text and "5464" in made[2].text
    assert not list(stated([claim("6300公里", "supported", **asked)], random.Random(0))), (
        "a right answer alone has no twin"
    )


@pytest.mark.parametrize(
    ("labels", "worst"),
    [
        (("supported", "supported"), "supported"),
        (("supported", "not_in_reference"), "not_in_reference"),
        (("not_in_reference", "contradicted"), "contradicted"),
    ],
)
def test_two_claims_are_as_wrong_as_the_worse(labels: tuple[judgements.Outcome, ...], worst: str) -> None:
    own = [claim(f"第{number}句。", label) for number, label in enumerate(labels)]
    (made,) = joined(own, random.Random(1))
    assert made.label == worst and len(made.claim) == len("第0句。") * 2


@pytest.mark.parametrize("label", ["supported", "contradicted", "not_in_reference"])
def test_the_options_stand_in_either_order_and_the_reply_follows(label: judgements.Outcome) -> None:
    replies = set()
    for seed in range(12):
        (call,) = trajectory(claim("长江很长。", label), random.Random(seed)).calls
        options = call.messages[-1].content.splitlines()
        wanted = {"supported": "是", "contradicted": "不是，资料说的不一样", "not_in_reference": "不是，资料没有说"}[
            label
        ]
        assert f"{call.reply}：{wanted}" in options
        replies.add(call.reply)
    assert replies == ({"B"} if label == "contradicted" else {"A", "C"})


def test_of_a_long_text_the_part_about_the_claim_is_shown() -> None:
    long = "。".join(f"第{number}段说的是别的事情" for number in range(400)) + "。长江全长6300公里。"
    made = trajectory(claim("长江全长6300公里。", "supported", text=long), random.Random(0), room=200)
    assert made.reference is not None and "6300" in made.reference and len(made.reference) < 600


# The documents of the package ---------------------------------------------------------------------------------------


def documents() -> list[judgements.TaughtClaim]:
    return [one for one in judgements.written() if not one.id.startswith(("halueval-", "short-zh-"))]


@pytest.mark.parametrize("form", ["span", "sentence", "detail"])
@pytest.mark.parametrize("prefix", ["halueval-", "short-zh-"])
def test_written_answers_are_as_long_where_they_are_wrong(prefix: str, form: str) -> None:
    """The published ones are not: right ones are phrases there, and wrong ones sentences."""
    own = [one for one in judgements.written() if one.id.startswith(prefix)]
    right = [one for one in own if one.label == "supported" and one.kind in (form, *["published"] * (form == "span"))]
    wrong = [one for one in own if one.label != "supported" and one.kind == form]
    assert len(right) > 200 < len(wrong)
    assert abs(fmean(len(one.claim) for one in right) / fmean(len(one.claim) for one in wrong) - 1) < 0.05


def test_the_documents_are_there_in_both_languages_and_across() -> None:
    own = documents()
    assert len(own) > 1200 and len({one.id for one in own}) == len(own)
    assert Counter(one.language for one in own)["zh"] > 500 < Counter(one.language for one in own)["en"]
    of_text = defaultdict(set)
    for one in own:
        of_text[one.text].add(one.label)
    assert all(labels >= {"supported", "contradicted"} for labels in of_text.values())
    assert sum("not_in_reference" in labels for labels in of_text.values()) > 0.8 * len(of_text)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_neither_length_nor_negation_gives_a_label_away(language: str) -> None:
    own = [one for one in documents() if one.language == language]
    lengths, denied = {}, {}
    for label in ("supported", "contradicted", "not_in_reference"):
        texts = [one.claim for one in own if one.label == label]
        lengths[label] = fmean(map(len, texts))
        denied[label] = fmean(
            any(word in f" {text.lower()} " for word in (" not ", "n't", " no ", "不", "没")) for text in texts
        )
    assert max(lengths.values()) < 1.15 * min(lengths.values())
    assert max(denied.values()) - min(denied.values()) < 0.2


def test_what_is_taught_and_what_is_held_out_share_no_text(tmp_path: Path) -> None:
    taught, held = (judgements.make(tmp_path, held=side) for side in (False, True))
    assert not {one.reference for one in taught} & {one.reference for one in held}
    assert len(taught) > 2 * len(held) > 600
    right = sum(one.gold is False for one in taught)
    assert 0.4 < right / len(taught) < 0.6
    assert [one.id for one in judgements.make(tmp_path)] == [one.id for one in taught], "the same for the same files"
