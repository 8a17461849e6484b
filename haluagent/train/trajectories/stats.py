"""Statistics of a trajectory file: counts as in the paper's Table 2, and whether something trivial predicts the
labels."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from haluagent.text.words import words
from haluagent.train.trajectories.filter import FILTERS, Filtered
from haluagent.train.trajectories.records import Trajectory

FOLDS = 5
SMOOTHING = 1.0


def table(trajectories: Sequence[Trajectory], filtered: Filtered) -> str:
    """Return counts by source as a Markdown table: trajectories, what each filter removes, what is kept, and its labels
    and calls."""
    lines = [
        f"| source | language | trajectories | {' | '.join(f'removed: {name}' for name in FILTERS)} | kept | hallucination | right | "
        "undecided | hinted | calls that are taught |",
        "|---|---|" + "---:|" * (len(FILTERS) + 7),
    ]
    for source in sorted({trajectory.source for trajectory in trajectories}):
        lines.append(_row(source, [one for one in trajectories if one.source == source], filtered))
    lines.append(_row("in total", trajectories, filtered))
    return "\n".join(lines)


def _row(source: str, trajectories: Sequence[Trajectory], filtered: Filtered) -> str:
    everything = source == "in total"
    kept = [one for one in filtered.kept if everything or one.source == source]
    removed = [
        sum(
            count for (name, why), count in filtered.removed.items() if why == reason and (everything or name == source)
        )
        for reason in FILTERS
    ]
    gold = Counter(one.gold for one in kept)
    learned = sum(call.learn for one in kept for call in one.calls)
    languages = "/".join(sorted({one.language for one in trajectories}))
    hinted = sum(one.hinted for one in kept)
    cells: list[str | int] = [source, languages, len(trajectories), *removed, len(kept)]
    cells += [gold[True], gold[False], gold[None], hinted, learned]
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"


def shortcuts(trajectories: Sequence[Trajectory], seed: int = 0) -> dict[str, float]:
    """Return the balanced accuracy, in percent, of predicting hallucinations from the response's length alone, from its
    words alone (naive Bayes), and from language and source alone, cross-validated over groups. 50 is chance; if it is
    much higher, a model can learn the shortcut instead of checking."""
    labelled = [one for one in trajectories if one.gold is not None]
    groups = sorted({one.group for one in labelled})
    random.Random(seed).shuffle(groups)
    fold = {group: position % FOLDS for position, group in enumerate(groups)}
    methods: dict[str, Callable[[Sequence[Trajectory]], Callable[[Trajectory], bool]]] = {
        "length": _by_length,
        "words": _by_words,
        "source": _by_source,
    }
    found = {}
    for name, method in methods.items():
        right: dict[bool, list[bool]] = {True: [], False: []}
        for number in range(FOLDS):
            judge = method([one for one in labelled if fold[one.group] != number])
            for one in labelled:
                if fold[one.group] == number and one.gold is not None:
                    right[one.gold].append(judge(one) is one.gold)
        shares = [sum(values) / len(values) for values in right.values() if values]
        found[name] = 100 * sum(shares) / len(shares) if shares else 50.0
    return found


def _by_length(known: Sequence[Trajectory]) -> Callable[[Trajectory], bool]:
    """Fit the best threshold on the number of characters, in the better direction."""
    sizes = sorted({len(one.response) for one in known})
    best = (0.0, 0, True)
    wrong, right = ([len(one.response) for one in known if one.gold is side] for side in (True, False))
    for size in sizes[:: max(1, len(sizes) // 200)]:
        for longer in (True, False):
            hits = sum((value > size) is longer for value in wrong) / max(1, len(wrong))
            kept = sum((value > size) is not longer for value in right) / max(1, len(right))
            best = max(best, ((hits + kept) / 2, size, longer))
    return lambda one: (len(one.response) > best[1]) is best[2]


def _by_words(known: Sequence[Trajectory]) -> Callable[[Trajectory], bool]:
    """Fit naive Bayes to the set of words (McCallum and Nigam 1998)."""
    import math

    counts: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    sizes: Counter[bool] = Counter()
    for one in known:
        if one.gold is not None:
            counts[one.gold].update(words(one.response))
            sizes[one.gold] += 1

    def judge(one: Trajectory) -> bool:
        odds = 0.0
        for word in words(one.response):
            yes, no = ((counts[side][word] + SMOOTHING) / (sizes[side] + 2 * SMOOTHING) for side in (True, False))
            odds += math.log(yes / no)
        return odds > 0

    return judge


def _by_source(known: Sequence[Trajectory]) -> Callable[[Trajectory], bool]:
    """Predict the more frequent label of the source and language."""
    seen: defaultdict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for one in known:
        if one.gold is not None:
            seen[one.source, one.language][one.gold] += 1
    return lambda one: seen[one.source, one.language][True] > seen[one.source, one.language][False]
