"""All the figures of a run in one record. Every form of the report is made from it."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from haluagent.bench.report import cited
from haluagent.bench.rows import About, Row
from haluagent.bench.scoring.baselines import BestLength, best_length, trivial, trivial_claims
from haluagent.bench.scoring.cost import Cost, cost
from haluagent.bench.scoring.scores import BINS, Scores, bins, of_claims, of_responses
from haluagent.bench.scoring.tool_use import ToolUse, tool_use
from haluagent.types import Record

AGENT, PROMPT = "haluagent", "prompt"
Level = Literal["response", "sentence"]


class MethodFigures(Record):
    """A method on a set. `cost` is None for what needs no model, and for sentences, whose cost is their response's."""

    method: str
    scores: Scores
    cost: Cost | None = None


class SetFigures(Record):
    """A set at one level: the agent, then the other methods, then what needs no model."""

    dataset: str
    level: Level
    methods: tuple[MethodFigures, ...]
    trivial: tuple[MethodFigures, ...]
    best_length: BestLength | None = None

    @property
    def name(self) -> str:
        return self.dataset if self.level == "response" else f"{self.dataset}, by sentence"

    def of(self, method: str) -> MethodFigures | None:
        """The figures of a method, None where the run has none of it here."""
        return next((figures for figures in self.methods if figures.method == method), None)

    def best_trivial(self, name: str) -> float | None:
        """The highest figure `name` among what needs no model (for the length rule, on items that it never saw)."""
        values = [value for figures in self.trivial if (value := getattr(figures.scores, name)) is not None]
        return max(values, default=None)


class Bin(Record):
    """Items whose score is in one of ten bins of equal width: how many, their mean score, the share of hallucinations."""

    n: int
    score: float
    hallucinations: float


class Report(Record):
    """A run in figures. `totals` are those of each method over all sets; `tools` and `reliability` are the agent's."""

    about: About
    sets: tuple[SetFigures, ...]
    totals: dict[str, Cost]
    tools: tuple[ToolUse, ...]
    reliability: tuple[Bin, ...]


def figures(about: About, rows: Sequence[Row]) -> Report:
    """The figures of all sets and methods of a run; sets in the order of the run."""
    methods = sorted(dict.fromkeys(row.method for row in rows), key=lambda name: {AGENT: 0, PROMPT: 1}.get(name, 2))
    groups = {
        dataset: {method: [row for row in own if row.method == method] for method in methods}
        for dataset in dict.fromkeys(row.dataset for row in rows)
        for own in [[row for row in rows if row.dataset == dataset]]
    }
    sets = []
    for dataset, group in groups.items():
        by_method = {method: own for method, own in group.items() if own}
        sets.append(_responses(dataset, by_method))
        sentences = _sentences(dataset, by_method)
        if sentences.methods:
            sets.append(sentences)
    agent = [row for row in rows if row.method == AGENT]
    return Report(
        about=about,
        sets=tuple(sets),
        totals={method: cost([row for row in rows if row.method == method]) for method in methods},
        tools=tuple(tool_use(agent)),
        reliability=tuple(reliability(agent)),
    )


def _responses(dataset: str, group: dict[str, list[Row]]) -> SetFigures:
    items = _items(group)
    return SetFigures(
        dataset=dataset,
        level="response",
        methods=tuple(
            MethodFigures(method=method, scores=of_responses(own), cost=cost(own)) for method, own in group.items()
        ),
        trivial=tuple(MethodFigures(method=name, scores=found) for name, found in trivial(items).items()),
        best_length=best_length(items),
    )


def _sentences(dataset: str, group: dict[str, list[Row]]) -> SetFigures:
    found = {method: result for method, own in group.items() if (result := of_claims(own))}
    items = group[next(iter(found))] if found else []
    return SetFigures(
        dataset=dataset,
        level="sentence",
        methods=tuple(MethodFigures(method=method, scores=result) for method, result in found.items()),
        trivial=tuple(MethodFigures(method=name, scores=result) for name, result in trivial_claims(items).items()),
    )


def _items(group: dict[str, list[Row]]) -> list[Row]:
    """One row for each item that some method has seen: methods of an interrupted run may not have seen the same."""
    return list({row.id: row for own in reversed(group.values()) for row in own}.values())


def reliability(rows: Sequence[Row]) -> list[Bin]:
    """The bins of the reliability curve that hold something."""
    found: list[list[Row]] = [[] for _ in range(BINS)]
    for row, place in zip(rows, bins(np.array([row.score for row in rows])), strict=True):
        found[place].append(row)
    return [
        Bin(
            n=len(own),
            score=sum(row.score for row in own) / len(own),
            hallucinations=sum(row.wrong for row in own) / len(own),
        )
        for own in found
        if own
    ]


def as_json(report: Report) -> dict[str, Any]:
    """All the figures, and apart from them those that are cited."""
    paper = {
        "source": cited.SOURCE, "responses": cited.RESPONSES, "sentences": cited.SENTENCES,
        "test_items": cited.TEST_ITEMS, "notes": cited.notes(), "tools": cited.TOOLS,
    }  # fmt: skip
    return {"measured": report.model_dump(mode="json"), "cited": paper}
