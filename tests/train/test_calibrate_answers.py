"""The calibration of the calculator's check of a whole answer."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from haluagent.bench.scoring.fit import logistic
from haluagent.errors import ConfigError
from haluagent.models.calibration import EMBEDDED
from haluagent.protocols import Message
from haluagent.train.calibration import answers


def rows(model: str = "m") -> list[dict[str, Any]]:
    """40 answers: wrong where no formula agrees, but for one in five."""
    return [
        {"id": str(n), "group": f"g{n // 2}", "model": model, "wrong": (n % 2 == 1) != (n % 5 == 0), "judged": 0.3 * (n % 3),
         "formulas": 4, "agreeing": 0 if n % 2 else 1 + n % 3, "rivals": 3 if n % 4 in (0, 1) else 1}
        for n in range(40)
    ]  # fmt: skip


def problems(directory: Path, count: int = 6) -> Path:
    lines = [
        {"id": str(n), "original_text": f"一箱有{n + 3}瓶水，{n + 2}箱一共有多少瓶？", "equation": f"x={n + 3}*{n + 2}",
         "ans": str((n + 3) * (n + 2)), "segmented_text": ""}
        for n in range(count)
    ]  # fmt: skip
    (directory / "ape210k_valid.jsonl").write_text(
        "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    )
    return directory


def test_the_fit_says_that_an_agreeing_formula_speaks_for_an_answer() -> None:
    curve = answers.fit(rows())
    none = 1 / (1 + math.exp(-(curve.intercept + curve.rivals)))
    many = 1 / (1 + math.exp(-(curve.intercept + curve.agrees + curve.agrees_more)))
    assert none > 0.6 > 0.4 > many


def test_formulas_that_all_differ_say_nothing() -> None:
    """At the mean of what the model judges it is one half, also where most such answers were wrong."""
    curve = answers.fit(rows())
    usual = sum(row["judged"] for row in rows()) / 40
    assert curve.intercept + curve.judged * usual == pytest.approx(0.0)


@pytest.mark.parametrize(("agreeing", "rivals"), [(0, 2), (1, 2), (2, 1)])
def test_what_formulas_say_stays_as_it_was_fitted(agreeing: int, rivals: int) -> None:
    fitted = logistic([answers._features(row) for row in rows()], [row["wrong"] for row in rows()])
    row = {"judged": 0.2, "agreeing": agreeing, "rivals": rivals}
    odds = fitted[0] + sum(weight * value for weight, value in zip(fitted[1:], answers._features(row), strict=True))
    assert answers._probability(row, answers.fit(rows())) == pytest.approx(1 / (1 + math.exp(-odds)))


def test_the_report_counts_by_agreement_and_ends_with_a_piece_of_a_card() -> None:
    text = answers.report(rows(), EMBEDDED.problem)
    assert "40 answers to word problems, 20 of them wrong." in text
    assert "| none | 20 | 16 |" in text and "| one | 7 | 2 |" in text and "| more | 13 | 2 |" in text
    written = json.loads(text.split("```json\n")[1].split("\n```")[0])
    assert set(written["calibration"]["problem"]) == {"intercept", "judged", "agrees", "agrees_more", "rivals"}


def test_a_judgement_that_tells_nothing_is_left_out_of_the_curve() -> None:
    text = answers.report(rows(), EMBEDDED.problem)
    fitted, without = (
        float(line.split("|")[3]) for line in text.splitlines() if "fitted to" in line or "without the" in line
    )
    curve = json.loads(text.split("```json\n")[1].split("\n```")[0])["calibration"]["problem"]
    assert (curve["judged"] == 0) is (without <= fitted)
    telling = [row | {"judged": 2.0 if row["wrong"] else -2.0} for row in rows()]
    curve = json.loads(answers.report(telling, EMBEDDED.problem).split("```json\n")[1].split("\n```")[0])[
        "calibration"
    ]["problem"]
    assert curve["judged"] > 0.5
    assert (answers.fit(rows(), judged=False).intercept, answers.fit(rows(), judged=False).judged) == (0.0, 0.0)


def test_answers_are_made_in_twos_and_the_same_ones_each_time(tmp_path: Path) -> None:
    made = answers.make(problems(tmp_path), 4)
    assert made == answers.make(tmp_path, 4)
    assert len({item.group for item in made}) == 4
    assert sum(bool(item.gold) for item in made) * 2 == len(made) > 0


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ape210k_valid.jsonl does not exist"):
        answers.make(tmp_path, 4)


def solve(messages: Sequence[Message]) -> str:
    numbers = re.search(r"一箱有(\d+)瓶水，(\d+)箱一共", messages[-1]["content"])
    return f"{numbers[1]}*{numbers[2]}" if numbers else ""


def test_judging_goes_on_where_it_was_and_refuses_another_model(scripted: Any, tmp_path: Path) -> None:
    items, out = answers.make(problems(tmp_path), 2), tmp_path / "judged.jsonl"
    model = scripted(solve, choose=0.6)
    assert len(answers.run(model, items[:2], out, progress=lambda line: None)) == 2
    found = answers.run(model, items, out, progress=lambda line: None)
    assert [row["id"] for row in found] == [item.id for item in items]
    assert [row["agreeing"] > 0 for row in found] == [not item.gold for item in items]
    changed = [items[0].model_copy(update={"response": "It is 1."}), *items[1:]]
    with pytest.raises(ConfigError, match="other answers to these problems"):
        answers.run(model, changed, out, progress=lambda line: None)
    out.write_text(out.read_text().replace(f'"{model.name}"', '"other"'))
    with pytest.raises(ConfigError, match="holds judgements of other"):
        answers.run(model, items, out, progress=lambda line: None)
