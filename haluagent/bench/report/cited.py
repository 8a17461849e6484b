"""Figures cited from the HaluAgent paper (Cheng et al. 2024, "Small Agent Can Also Rock! Empowering Small Language
Models as Hallucination Detector"), for comparison.

They are the authors' results on their own test items; nothing here was measured by us.
"""

import math

from haluagent.types import Record

SOURCE = "Cheng et al. 2024, HaluAgent"

# Items in the paper's test sets (its Table 2 and appendix B.1).
TEST_ITEMS = {
    "webqa": 100, "ape210k": 100, "humaneval": 63, "wordcnt": 100, "halueval_qa": 100, "halluqa": 206, "halueval2": 100,
}  # fmt: skip

# Table 3: accuracy and F1 of whole responses, in percent.
RESPONSES: dict[str, dict[str, tuple[float, float]]] = {
    "GPT-4 prompt": {
        "webqa": (82.00, 35.71), "ape210k": (72.33, 74.21), "humaneval": (71.43, 79.07), "wordcnt": (56.00, 66.15),
        "halueval_qa": (62.00, 42.42), "halluqa": (61.00, 74.84), "halueval2": (63.00, 74.13),
    },
    "GPT-4 pipeline": {
        "webqa": (91.00, 57.14), "ape210k": (76.63, 75.10), "humaneval": (93.44, 94.12), "wordcnt": (100.00, 100.00),
        "halueval_qa": (77.53, 75.61), "halluqa": (85.11, 89.23), "halueval2": (85.71, 87.36),
    },
    "Baichuan2-Chat 7B": {
        "webqa": (51.00, 14.04), "ape210k": (49.00, 7.27), "humaneval": (34.92, 49.38), "wordcnt": (43.00, 16.00),
        "halueval_qa": (53.19, 46.34), "halluqa": (33.00, 12.99), "halueval2": (54.00, 69.33),
    },
    "Baichuan2-Chat 13B": {
        "webqa": (54.00, 61.67), "ape210k": (51.33, 58.29), "humaneval": (47.62, 19.51), "wordcnt": (46.00, 59.70),
        "halueval_qa": (60.00, 67.74), "halluqa": (56.00, 67.16), "halueval2": (43.00, 46.73),
    },
    "HaluAgent 7B": {
        "webqa": (80.00, 54.55), "ape210k": (72.00, 72.55), "humaneval": (93.44, 94.12), "wordcnt": (100.00, 100.00),
        "halueval_qa": (67.00, 67.33), "halluqa": (67.48, 76.09), "halueval2": (75.00, 76.19),
    },
    "HaluAgent 13B": {
        "webqa": (82.83, 51.43), "ape210k": (73.40, 73.68), "humaneval": (93.44, 94.12), "wordcnt": (100.00, 100.00),
        "halueval_qa": (71.00, 72.38), "halluqa": (78.16, 83.75), "halueval2": (79.00, 78.79),
    },
}  # fmt: skip

# Table 4: accuracy, precision, recall and F1 of sentences, in percent.
SENTENCES: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "GPT-4 prompt": {
        "factool_chinese": (54.93, 59.40, 33.17, 42.57), "factool_kbqa": (75.97, 39.29, 50.00, 44.00),
        "factool_math": (55.27, 49.25, 23.74, 32.04), "factool_science": (59.14, 64.71, 81.82, 72.26),
    },
    "GPT-4 pipeline": {
        "factool_chinese": (79.76, 64.71, 50.00, 56.41), "factool_kbqa": (84.12, 85.31, 93.21, 89.09),
        "factool_math": (91.61, 79.66, 78.33, 78.99), "factool_science": (95.72, 96.77, 98.04, 97.40),
    },
    "Baichuan2-Chat 7B": {
        "factool_chinese": (65.15, 15.02, 29.17, 19.83), "factool_kbqa": (49.77, 38.78, 19.59, 26.03),
        "factool_math": (68.07, 17.91, 21.43, 19.51), "factool_science": (24.19, 9.80, 83.33, 17.54),
    },
    "Baichuan2-Chat 13B": {
        "factool_chinese": (56.82, 21.70, 22.67, 22.17), "factool_kbqa": (65.41, 30.77, 30.00, 30.38),
        "factool_math": (70.97, 13.85, 20.93, 16.67), "factool_science": (18.82, 1.31, 100.00, 2.58),
    },
    "HaluAgent 7B": {
        "factool_chinese": (73.57, 32.96, 55.97, 41.49), "factool_kbqa": (83.33, 41.82, 82.14, 55.42),
        "factool_math": (85.39, 81.13, 59.72, 68.80), "factool_science": (90.27, 94.77, 93.55, 94.16),
    },
    "HaluAgent 13B": {
        "factool_chinese": (75.47, 33.80, 56.25, 42.23), "factool_kbqa": (81.97, 62.07, 85.71, 72.00),
        "factool_math": (87.50, 64.52, 72.73, 68.38), "factool_science": (92.39, 96.05, 94.81, 95.42),
    },
}  # fmt: skip

# Figure 2 is a chart; these are the numbers given in the paper's text.
TOOLS = (
    "translator: used on over 95 % of the items, over 90 % of the verdicts right",
    "calendar: used on 100 % of the items, 100 % of the verdicts right",
)

CLOSE = 0.8  # the least part of a set that may explain a percentage


class Share(Record):
    """`k` of `m` items. `exact` is True if that gives the percentage as printed, with two decimals."""

    k: int
    m: int
    exact: bool


def nearest(percent: float, n: int) -> Share:
    """Return the share that a percentage of at most `n` items stands for: the largest number of items for which some
    count gives the printed percentage, otherwise the count and number that come closest."""
    found = [(abs(100 * (k := _count(percent, m)) / m - percent), k, m) for m in range(n, 0, -1)]
    for distance, k, m in found:
        if distance <= 0.005 + 1e-9:
            return Share(k=k, m=m, exact=True)
    _, k, m = min(found)
    return Share(k=k, m=m, exact=False)


def _count(percent: float, m: int) -> int:
    return min(m, math.floor(percent * m / 100 + 0.5))


def note(percent: float, n: int) -> str | None:
    """Describe what is odd about a printed percentage of `n` items; None if some count of all `n` items gives it."""
    share = nearest(percent, n)
    if share.exact and share.m == n:
        return None
    if share.exact and share.m >= CLOSE * n:
        return f"{percent:.2f} is {share.k} of {share.m}, of {n} items"
    larger = next(
        (f" ({_count(percent, m)} of {m} gives it)" for m in (2 * n, 3 * n) if nearest(percent, m).m == m), ""
    )
    return f"{percent:.2f} is no share of {n} items, nor of a few less{larger}"


def notes() -> list[str]:
    """Return a line for each set of Table 3 with accuracies that are not shares of all its items."""
    lines = []
    for dataset, n in TEST_ITEMS.items():
        printed = dict.fromkeys(row[dataset][0] for row in RESPONSES.values())
        odd = [said for percent in printed if (said := note(percent, n))]
        if odd:
            lines.append(f"{dataset}: {'; '.join(odd)}")
    return lines
