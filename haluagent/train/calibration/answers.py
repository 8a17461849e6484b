"""Calibrate the calculator's check of a whole answer: judge right and wrong answers to word problems, and fit a curve.

The answers are made from published problems (`trajectories.arithmetic`), one right and one wrong answer of each form.
No trajectory is made from these problems.
"""

import asyncio
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from haluagent.batch.journal import Journal, iterate
from haluagent.bench.scoring.fit import log_loss, logistic, sigmoid
from haluagent.corpora.pairs import SEED, digest
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.errors import ConfigError
from haluagent.judging.probabilities import log_odds
from haluagent.models.calibration import ProblemCurve
from haluagent.protocols import Closable, Model, ToolContext
from haluagent.text.segment import split
from haluagent.tools.calculator.answer_check import look_at
from haluagent.train.calibration.calibrate import recorded
from haluagent.train.trajectories import arithmetic
from haluagent.train.trajectories.records import TrajectoryItem

AnswerRow = dict[str, Any]


def make(directory: Path, limit: int, seed: int = SEED) -> list[TrajectoryItem]:
    """Return answers to at most `limit` problems of Ape210K, two right and two wrong ones each; the same answers for
    the same file. Raises ConfigError if the file is missing."""
    path = directory / "ape210k_valid.jsonl"
    if not path.is_file():
        raise ConfigError(f"{path} does not exist: say with --data where the published files of the sets are")
    rows = enumerate(iterate(path), start=1)
    problems = [problem for number, row in rows if (problem := arithmetic.ape210k(row, number))]
    problems.sort(key=lambda one: digest(f"{seed}:{one.name}"))
    return [item for one in problems[:limit] for item in arithmetic.lessons(one, random.Random(f"{seed}:{one.name}"))]


def run(
    model: Model, items: Sequence[TrajectoryItem], out: Path, progress: Callable[[str], None] = print
) -> list[AnswerRow]:
    """Judge the answers that are not yet in `out`, append one JSON line for each, and return all rows. Raises
    ConfigError if `out` belongs to another model or other answers, ModelError if the endpoint failed."""
    rows = recorded(out, model)
    done = {row["id"]: row.get("response") for row in rows}
    if any(done.get(item.id, item.response) != item.response for item in items):
        raise ConfigError(f"{out} holds judgements of other answers to these problems: name another file with --out")

    async def go() -> None:
        with Journal(out) as journal:
            for position, item in enumerate(items, start=1):
                if item.id not in done:
                    rows.append(await _judge(item, model))
                    journal.append(json.dumps(rows[-1], ensure_ascii=False))
                    progress(f"{position}/{len(items)} {item.id}")
        if isinstance(model, Closable):
            await model.aclose()

    asyncio.run(go())
    return rows


async def _judge(item: TrajectoryItem, model: Model) -> AnswerRow:
    meter = Meter(model, Budget(Limits()))
    context = ToolContext(
        question=item.question,
        response=item.response,
        language=item.language,
        sentences=split(item.response),
        model=meter,
    )
    look = await look_at(context)
    return {
        "id": item.id, "group": item.group, "response": item.response, "model": model.name, "wrong": item.gold,
        "judged": log_odds(look.judged), "formulas": len(look.formulas), "agreeing": len(look.agreeing), "rivals": look.rivals,
    }  # fmt: skip


def fit(rows: Sequence[AnswerRow], judged: bool = True) -> ProblemCurve:
    """Return the curve fitted to the rows, with the model's judgement or from the formulas alone.

    One case is set instead of fitted: if no formula gives the answer and no two formulas agree on another one, the
    problem is too hard for the model, which says nothing about the answer. That case gets even odds at an average
    judgement. The change of the intercept is added to `rivals` and to `agrees_more`, so that the odds stay as fitted
    with rivals and at most one agreeing formula, and with several agreeing formulas and no rivals. Raises ValueError if
    all rows have the same label.
    """
    features = [_features(row)[0 if judged else 1 :] for row in rows]
    intercept, *weights = logistic(features, [row["wrong"] for row in rows])
    weight, agrees, more, rivals = weights if judged else [0.0, *weights]
    even = -weight * fmean(row["judged"] for row in rows) if judged else 0.0
    moved = intercept - even
    return ProblemCurve(intercept=even, judged=weight, agrees=agrees, agrees_more=more + moved, rivals=rivals + moved)


def _features(row: AnswerRow) -> list[float]:
    return [row["judged"], float(row["agreeing"] > 0), float(row["agreeing"] > 1), float(row["rivals"] > 1)]


def report(rows: Sequence[AnswerRow], now: ProblemCurve) -> str:
    """Report the accuracy and the loss of the present curve and of two curves fitted to the other half of the problems,
    with and without the model's judgement; then give the better of these two, fitted to all rows."""
    labels = [row["wrong"] for row in rows]
    half = {group: position % 2 for position, group in enumerate(sorted({row["group"] for row in rows}))}
    others = [[row for row in rows if half[row["group"]] != side] for side in (0, 1)]
    lines = [
        f"{len(rows)} answers to word problems, {sum(labels)} of them wrong.",
        "",
        "| formulas that give the answer | answers | of them wrong |",
        "|---|---:|---:|",
    ]
    for name, wanted in (("none", {0}), ("one", {1}), ("more", set(range(2, 100)))):
        own = [row for row in rows if row["agreeing"] in wanted]
        lines.append(f"| {name} | {len(own)} | {sum(row['wrong'] for row in own)} |")
    lines += ["", "| curve | accuracy at one half | log loss |", "|---|---:|---:|"]
    losses = []
    for name, curves in (
        ("present", [now, now]),
        ("fitted to the other half", [fit(own) for own in others]),
        ("the same without the judgement", [fit(own, judged=False) for own in others]),
    ):
        chances = [_probability(row, curves[half[row["group"]]]) for row in rows]
        right = sum((chance > 0.5) is label for chance, label in zip(chances, labels, strict=True)) / len(rows)
        losses.append(log_loss(chances, labels))
        lines.append(f"| {name} | {100 * right:.1f} % | {losses[-1]:.3f} |")
    text = json.dumps({"calibration": {"problem": fit(rows, judged=losses[1] < losses[2]).model_dump()}}, indent=1)
    return "\n".join([*lines, "", f"```json\n{text}\n```"])


def _probability(row: AnswerRow, curve: ProblemCurve) -> float:
    weights = (curve.judged, curve.agrees, curve.agrees_more, curve.rivals)
    return sigmoid(curve.intercept + sum(weight * value for weight, value in zip(weights, _features(row), strict=True)))
