"""The agreement of the labels in results with human ones, as the tables of RefChecker have it (Hu et al. 2024)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from haluagent.checks.claims.metrics import agreement, response_agreement
from haluagent.checks.claims.records import RELATIONS, Relation
from haluagent.errors import ConfigError

HUMAN = "human_labels"


class LabelledResponse(NamedTuple):
    """A response with its labels and human ones. `labels` is None if it could not be checked; `same` says whether both are of
    the same claims."""

    group: str
    labels: tuple[Relation, ...] | None
    gold: tuple[Relation, ...]
    same: bool


def judged(items: Sequence[Any], gold: str = HUMAN, by: str | None = None) -> list[LabelledResponse]:
    """Return the results that have human labels, in the field `gold`, with their groups by the field `by`.

    Raise `ConfigError` for a result that cannot be read, or if none has human labels.
    """
    found = []
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise ConfigError(f"item {number} is not an object: give a file that `haluagent claims check` wrote")
        if item.get(gold) is None:
            continue
        human = labels_of(item[gold], f"item {number}: `{gold}`")
        said = labels_of(item["ys"], f"item {number}: `ys`") if "error" not in item and "ys" in item else None
        if said is None and "error" not in item:
            raise ConfigError(f"item {number} has no `ys`: check the claims first, with `haluagent claims check`")
        other = "human_claims" in item and item["human_claims"] != item.get("claims")
        same = not other and (said is None or len(said) == len(human))
        found.append(LabelledResponse(str(item.get(by, "")) if by else "", said, human, same))
    if not found:
        raise ConfigError(
            f"no item has `{gold}`: add a list with a label for each claim, or name the field with --gold"
        )
    return found


def labels_of(value: Any, where: str) -> tuple[Relation, ...]:
    """Return the labels of a list. Raise `ConfigError` that says where it is if it has anything else."""
    known = {label.lower(): label for label in RELATIONS}
    if not isinstance(value, list) or not all(isinstance(one, str) and one.lower() in known for one in value):
        raise ConfigError(f"{where} is not a list of {', '.join(RELATIONS)}")
    return tuple(known[one.lower()] for one in value)


def report(rows: Sequence[LabelledResponse]) -> str:
    """Return the tables, as Markdown: of responses, and of the claims where both have the same ones. Each group has a row, and
    all together if there are several."""
    groups = {group: [row for row in rows if row.group == group] for group in dict.fromkeys(row.group for row in rows)}
    if len(groups) > 1:
        groups["all"] = list(rows)
    lines = ["| responses | n | accuracy | macro-F1 | Fact F1 | Non-Fact F1 | Pearson | Spearman |", _rule(8)]
    for group, own in groups.items():
        found = response_agreement([row.labels for row in own], [row.gold for row in own])
        figures = [found.accuracy, found.macro_f1, found.fact_f1, found.nonfact_f1, found.pearson, found.spearman]
        lines.append(_row(group or "all", found.n, figures))
    lines += ["", "| claims | n | accuracy | macro-F1 | Fact F1 | Non-Fact F1 |", _rule(6)]
    for group, own in groups.items():
        same = [row for row in own if row.same]
        said = [row.labels or (None,) * len(row.gold) for row in same]
        one = agreement(said, [row.gold for row in same])
        counted = sum(len(row.gold) for row in same)
        lines.append(_row(group or "all", counted, [one.accuracy, one.macro_f1, one.fact_f1, one.nonfact_f1]))
    return "\n".join([*lines, *_remarks(rows)])


def _remarks(rows: Sequence[LabelledResponse]) -> list[str]:
    counts: Mapping[str, int] = {
        "responses could not be checked; they count as wrong": sum(row.labels is None for row in rows),
        "responses without human claims are left out": sum(not row.gold for row in rows),
        "responses have other claims than the human labels": sum(not row.same for row in rows),
    }
    said = [f"{count} {text}." for text, count in counts.items() if count]
    return ["", *said] if said else []


def _rule(columns: int) -> str:
    return "|---" + "|---:" * (columns - 1) + "|"


def _row(name: str, n: int, figures: Sequence[float | None]) -> str:
    cells = ["–" if figure is None else f"{100 * figure:.1f}" for figure in figures]
    return f"| {name} | {n} | {' | '.join(cells)} |"
