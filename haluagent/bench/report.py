"""The figures of a run: quality with its trivial baselines, coverage and cost."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..types import Record


class Scores(Record):
    """Shares in [0, 1] over `n` items. An item without a verdict counts as wrong in `accuracy`.

    `by_score` takes every item whose score is above one half for a hallucination; `auroc` is that of the score;
    `balanced` is the mean of the two classes' recalls, `f1` that of the hallucinated class; `always_yes` is the
    accuracy of calling everything a hallucination.
    """

    n: int
    accuracy: float
    balanced: float
    f1: float
    coverage: float
    accuracy_covered: float
    by_score: float
    auroc: float
    always_yes: float


def scores(gold: Sequence[bool], verdicts: Sequence[bool | None], ranks: Sequence[float]) -> Scores:
    """Scores of verdicts (None: no verdict) and of a ranking against the gold labels (True: hallucination)."""
    n = len(gold)
    right = [verdict is not None and verdict == label for verdict, label in zip(verdicts, gold, strict=True)]
    covered = [verdict is not None for verdict in verdicts]
    positive = [ok for ok, label in zip(right, gold, strict=True) if label]
    negative = [ok for ok, label in zip(right, gold, strict=True) if not label]
    flagged = sum(verdict is True for verdict in verdicts)
    found = sum(positive)
    return Scores(
        n=n,
        accuracy=_share(right),
        balanced=(_share(positive) + _share(negative)) / 2 if positive and negative else _share(right),
        f1=2 * found / (flagged + len(positive)) if flagged + len(positive) else 0.0,
        coverage=_share(covered),
        accuracy_covered=_share([ok for ok, seen in zip(right, covered, strict=True) if seen]),
        by_score=_share([(rank > 0.5) == label for rank, label in zip(ranks, gold, strict=True)]),
        auroc=auroc(gold, ranks),
        always_yes=_share(gold),
    )


def auroc(gold: Sequence[bool], ranks: Sequence[float]) -> float:
    """The chance that a hallucination ranks above a right item, ties counting half (Mann-Whitney)."""
    high = [rank for rank, label in zip(ranks, gold, strict=True) if label]
    low = [rank for rank, label in zip(ranks, gold, strict=True) if not label]
    if not high or not low:
        return 0.5
    return sum((a > b) + 0.5 * (a == b) for a in high for b in low) / (len(high) * len(low))


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0


def table(rows: Iterable[dict[str, Any]]) -> str:
    """A Markdown table, one line a set: quality of verdicts, then cost an item."""
    by_set: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_set.setdefault(row["dataset"], []).append(row)
    lines = [
        "| set | n | accuracy | balanced | F1 | coverage | acc. covered | acc. by score | AUROC | always yes | evaluated | cached | "
        "generated | s | tools |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, group in by_set.items():
        gold = [row["wrong"] for row in group]
        lines.append(_line(name, scores(gold, [row["verdict"] for row in group], [row["score"] for row in group]), group))
        claims = [claim for row in group for claim in row.get("claims", ()) if claim["wrong"] is not None]
        if claims:
            verdicts = {"contradicted": True, "supported": False}
            found = [verdicts.get(claim["label"]) for claim in claims]
            ranks = [0.5 if verdict is None else float(verdict) for verdict in found]
            lines.append(_line(f"{name} by sentence", scores([claim["wrong"] for claim in claims], found, ranks), []))
    return "\n".join(lines)


def _line(name: str, result: Scores, group: list[dict[str, Any]]) -> str:
    shares = (
        result.accuracy, result.balanced, result.f1, result.coverage, result.accuracy_covered, result.by_score, result.auroc,
        result.always_yes,
    )  # fmt: skip
    cells = [name, str(result.n), *(f"{100 * share:.1f}" for share in shares), *_cost(group)]
    return f"| {' | '.join(cells)} |"


def _cost(group: list[dict[str, Any]]) -> list[str]:
    detections = [row["detection"] for row in group if "detection" in row]
    if not detections:
        return [""] * 5
    usages = [detection["usage"] for detection in detections]

    def mean(key: str) -> float:
        return sum(usage[key] for usage in usages) / len(usages)

    tools = Counter(
        name
        for detection in detections
        for name in {step["call"]["name"] for step in detection["steps"] if step["call"]} - {"split_text", "get_answer"}
    )
    used = ", ".join(f"{name} {100 * count / len(detections):.0f} %" for name, count in tools.most_common())
    evaluated = mean("prompt_tokens") - mean("cached_tokens")
    return [
        f"{evaluated:.0f}", f"{mean('cached_tokens'):.0f}", f"{mean('generated_tokens'):.0f}", f"{mean('seconds'):.1f}",
        used,
    ]  # fmt: skip
