"""The gate's thresholds, chosen on one half of labelled runs and measured on the other.

The spec's advice on thresholds: "measure precision/recall on a labeled set of historical runs". Figures from the runs
that the thresholds were chosen on would be too good, so those are kept apart.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from haluagent.bench.agent_runs import RunRow
from haluagent.bench.scoring.scores import auroc, wilson
from haluagent.checks.runs.records import Action
from haluagent.types import Record

DIGITS = 3  # of a threshold


class ChosenThresholds(Record):
    """Scores in [0, 1]: an answer goes out from `emit` on, and is blocked if a critical claim is below `block`."""

    emit: float
    block: float

    def action(self, row: RunRow) -> Action:
        """Return what the gate does with these thresholds, where the overall score is the lowest of the claims. The
        revise threshold, anywhere between these two, then changes nothing."""
        if row.stands == "block" or row.critical < self.block:
            return "block"
        return "revise" if row.stands == "revise" or row.score < self.emit else "emit"


def halves(rows: Sequence[RunRow], seed: int = 0) -> tuple[list[RunRow], list[RunRow]]:
    """Return the rows in two halves of the same make-up: by label and kind, with the rows of a group together."""
    groups: defaultdict[str, list[RunRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.id):
        groups[f"group {row.group}" if row.group else f"run {row.id}"].append(row)
    strata: defaultdict[tuple[tuple[bool, str], ...], list[list[RunRow]]] = defaultdict(list)
    for group in groups.values():
        strata[tuple(sorted((row.wrong, row.kind) for row in group))].append(group)
    source, parts = random.Random(seed), ([], [])  # type: tuple[random.Random, tuple[list[RunRow], list[RunRow]]]
    turn = 0
    for _, same in sorted(strata.items()):
        source.shuffle(same)
        for group in same:
            parts[turn % 2].extend(group)
            turn += 1
    return parts


def choose(rows: Sequence[RunRow], false_alarms: float, false_blocks: float) -> ChosenThresholds:
    """Return the strictest thresholds with which at most these shares of the right runs are held back, and blocked.

    What calls and probes alone hold back counts too, and no threshold changes it.
    """
    right = [row for row in rows if not row.wrong]
    emit = _strictest(
        [row.score for row in right if row.stands == "emit"],
        [row.score for row in rows],
        int(false_alarms * len(right)) - sum(row.stands != "emit" for row in right),
    )
    block = _strictest(
        [row.critical for row in right if row.stands != "block"],
        [row.critical for row in rows],
        int(false_blocks * len(right)) - sum(row.stands == "block" for row in right),
    )
    return ChosenThresholds(emit=emit, block=min(block, emit))


def _strictest(right: Sequence[float], every: Sequence[float], most: int) -> float:
    """Return the highest threshold that at most `most` right scores are below: in the middle between the score that it
    must not exceed and the next lower one. Rounding never takes it above the first."""
    if most < 0 or not right:
        return 0.0
    limit = sorted(right)[min(most, len(right) - 1)]
    middle = (limit + max((score for score in every if score < limit), default=0.0)) / 2
    return min(round(middle, DIGITS), math.floor(limit * 10.0**DIGITS) / 10.0**DIGITS)


def table(rows: Sequence[RunRow], *, seed: int = 0, false_alarms: float = 0.1, false_blocks: float = 0.02) -> str:
    """Return, in Markdown, the chosen thresholds and what they do on the half that they were not chosen on, beside the
    thresholds of the runs' tasks; shares have 95 % intervals (Wilson 1927)."""
    chosen_on, kept = halves(rows, seed)
    if any({row.wrong for row in half} != {True, False} for half in (chosen_on, kept)):
        return "too few runs: both halves need right and wrong ones, so give at least two of each"
    chosen = choose(chosen_on, false_alarms, false_blocks)
    labels, scores = [row.wrong for row in kept], [1 - row.score for row in kept]
    return "\n".join(
        [
            f"chosen on {_count(chosen_on)} (seed {seed}), so that at most {false_alarms:.0%} of the right runs are held "
            f"back and {false_blocks:.0%} blocked:",
            f"`--emit {chosen.emit:g} --revise {max(chosen.block, min(0.6, chosen.emit)):g} --block {chosen.block:g}`",
            "",
            f"on the other {_count(kept)}:",
            "",
            "| | chosen | default |",
            "|---|---|---|",
            *_lines(kept, [chosen.action, lambda row: row.action]),
            "",
            f"AUROC of the overall score {auroc(labels, scores):.3f}, of the plain prompt "
            f"{auroc(labels, [row.prompt for row in kept]):.3f}",
        ]
    )


def _lines(rows: Sequence[RunRow], actions: Sequence[Callable[[RunRow], Action]]) -> Iterator[str]:
    """Yield the shares of right and wrong runs that each way of deciding holds back or blocks, then by kind of fault."""

    def line(name: str, group: Sequence[RunRow], counted: tuple[Action, ...]) -> str:
        return f"| {name} | {' | '.join(share(one(row) in counted for row in group) for one in actions)} |"

    right, wrong = ([row for row in rows if row.wrong is value] for value in (False, True))
    yield line("wrong runs held back (detection)", wrong, ("revise", "block"))
    yield line("wrong runs blocked", wrong, ("block",))
    yield line("right runs held back (false alarms)", right, ("revise", "block"))
    yield line("right runs blocked", right, ("block",))
    for kind in sorted({row.kind for row in wrong if row.kind}):
        yield line(f"held back: {kind}", [row for row in wrong if row.kind == kind], ("revise", "block"))


def share(values: Iterable[bool]) -> str:
    """Return a count and the share that it is, with its 95 % interval in percent."""
    given = list(values)
    if not given:
        return "none"
    low, high = wilson(sum(given), len(given))
    return f"{sum(given)} of {len(given)} [{100 * low:.0f}, {100 * high:.0f}]"


def _count(rows: Sequence[RunRow]) -> str:
    wrong = sum(row.wrong for row in rows)
    return f"{len(rows)} runs ({len(rows) - wrong} right, {wrong} wrong)"
