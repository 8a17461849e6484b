"""Models ranked by the hallucination rate of their answers, with the rates of RefChecker (Hu et al. 2024)."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from haluagent.checks.claims.agreement import labels_of
from haluagent.checks.claims.metrics import rates
from haluagent.checks.claims.records import RELATIONS, Relation
from haluagent.errors import ConfigError

RESAMPLES = 1000


class RatedResponse(NamedTuple):
    """A model's response with its labels; None if it could not be checked."""

    model: str
    labels: tuple[Relation, ...] | None


class Rank(NamedTuple):
    """The rates in [0, 1] of a model: of the labels, and of hallucination (all but Entailment), averaged over the `rated`
    responses that make a claim; `abstain` is the share that make none. `interval` is the 2.5th and 97.5th percentile of the
    hallucination rate over 1,000 resamples of the responses. `failed` counts those that could not be checked."""

    model: str
    rated: int
    failed: int
    abstain: float
    hallucinated: float
    interval: tuple[float, float]
    labels: dict[Relation, float]


def answered(items: Sequence[Any], path: Path, by: str, labels: str) -> list[RatedResponse]:
    """Return the results of a file, each with its model: the field `by`, else the file's name. `labels` is the field with the
    labels. Raise `ConfigError` for a result that cannot be read."""
    found = []
    for number, item in enumerate(items, start=1):
        where = f"{path}, item {number}"
        if not isinstance(item, dict):
            raise ConfigError(f"{where} is not an object: give a file that `haluagent claims check` wrote")
        model = str(item.get(by) or path.stem)
        if labels == "ys" and "error" in item:
            found.append(RatedResponse(model, None))
        elif labels not in item:
            raise ConfigError(
                f"{where} has no `{labels}`: check the claims first, with `haluagent claims extract-check`"
            )
        else:
            found.append(RatedResponse(model, labels_of(item[labels], f"{where}: `{labels}`")))
    return found


def ranks(rows: Sequence[RatedResponse]) -> list[Rank]:
    """Return the models, the one with the lowest hallucination rate first; one without a rated response comes last."""
    models = dict.fromkeys(row.model for row in rows)
    found = [_rank(model, [row.labels for row in rows if row.model == model]) for model in models]
    return sorted(found, key=lambda one: (not one.rated, one.hallucinated, one.model))


def _rank(model: str, responses: Sequence[tuple[Relation, ...] | None]) -> Rank:
    checked = [labels for labels in responses if labels is not None]
    rated = [rates(labels) for labels in checked if labels]
    wrong = [1 - one["Entailment"] for one in rated]
    draw = random.Random(0)  # the same for all models, so that a second call says the same
    means = sorted(_mean(draw.choices(wrong, k=len(wrong))) for _ in range(RESAMPLES if wrong else 1))
    return Rank(
        model=model,
        rated=len(rated),
        failed=len(responses) - len(checked),
        abstain=1 - len(rated) / len(checked) if checked else 0.0,
        hallucinated=_mean(wrong),
        interval=(means[len(means) * 25 // 1000], means[-1 - len(means) * 25 // 1000]),
        labels={label: _mean([one[label] for one in rated]) for label in RELATIONS},
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(found: Sequence[Rank]) -> str:
    """Return the ranking as Markdown, in percent."""
    lines = [
        "| rank | model | hallucination rate | Entailment | Neutral | Contradiction | abstains | responses | failed |",
        "|---:|---" + "|---:" * 7 + "|",
    ]
    for place, one in enumerate(found, start=1):
        low, high = (100 * end for end in one.interval)
        shares = [f"{100 * one.labels[label]:.1f}" for label in RELATIONS]
        rate = f"{100 * one.hallucinated:.1f} [{low:.0f}, {high:.0f}]"
        cells = [rate, *shares] if one.rated else ["–"] * 4
        name = one.model.replace("|", "\\|")
        lines.append(
            f"| {place} | {name} | {' | '.join(cells)} | {100 * one.abstain:.1f} | {one.rated} | {one.failed} |"
        )
    return "\n".join(lines)
