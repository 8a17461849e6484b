"""The figures of a run in one record, from which every form of the report is made."""

from collections.abc import Sequence
from typing import Any, Literal

from haluagent.bench.report import cited
from haluagent.bench.rows import Row, RunInfo
from haluagent.bench.scoring.baselines import BestLength, best_length, trivial, trivial_claims
from haluagent.bench.scoring.cost import Cost, cost
from haluagent.bench.scoring.scores import BINS, Scores, bins, of_claims, of_responses
from haluagent.bench.scoring.sources import SourceFigures, by_source
from haluagent.bench.scoring.tool_use import ToolFigures, tool_use
from haluagent.types import Record

AGENT, PROMPT, JUDGE = "haluagent", "prompt", "match"
Level = Literal["response", "sentence"]


class MethodFigures(Record):
    """The figures of a method on a set. `cost` is None for baselines that need no model, and for sentences, whose cost
    is included in that of their response."""

    method: str
    scores: Scores
    cost: Cost | None = None


class SetFigures(Record):
    """The figures of a set at one level: the agent first, then the other methods, then the baselines that need no
    model."""

    dataset: str
    level: Level
    methods: tuple[MethodFigures, ...]
    trivial: tuple[MethodFigures, ...]
    best_length: BestLength | None = None

    @property
    def name(self) -> str:
        return self.dataset if self.level == "response" else f"{self.dataset}, by sentence"

    def of(self, method: str) -> MethodFigures | None:
        """Return the figures of a method; None if the run has none for it here."""
        return next((figures for figures in self.methods if figures.method == method), None)

    def best_trivial(self, name: str) -> float | None:
        """Return the highest value of the figure `name` among the baselines that need no model. The length rule counts
        with its result on held-out items."""
        values = [value for figures in self.trivial if (value := getattr(figures.scores, name)) is not None]
        return max(values, default=None)


class Bin(Record):
    """The items with a score in one of ten bins of equal width: their number, mean score and share of
    hallucinations."""

    n: int
    score: float
    hallucinations: float


class BenchReport(Record):
    """The figures of a run. `totals` gives the cost of each method over all sets; `tools` and `reliability` are about
    the agent; in a run without it, `reliability` is about the judge of single claims, as `sources` is in any run."""

    about: RunInfo
    sets: tuple[SetFigures, ...]
    totals: dict[str, Cost]
    tools: tuple[ToolFigures, ...]
    reliability: tuple[Bin, ...]
    sources: tuple[SourceFigures, ...] = ()

    @property
    def shown(self) -> str:
        """Return the method that the charts are about: the agent, or in a run without it the judge of single claims."""
        return JUDGE if JUDGE in self.totals and AGENT not in self.totals else AGENT


def figures(about: RunInfo, rows: Sequence[Row]) -> BenchReport:
    """Return the figures of all sets and methods of a run, with the sets in the order of the run."""
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
    judge = [row for row in rows if row.method == JUDGE]
    return BenchReport(
        about=about,
        sets=tuple(sets),
        totals={method: cost([row for row in rows if row.method == method]) for method in methods},
        tools=tuple(tool_use(agent)),
        reliability=tuple(reliability(agent or judge)),
        sources=tuple(by_source(judge)),
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
    """Return one row for each item that any method has judged: in an interrupted run, methods may have judged different
    items."""
    return list({row.id: row for own in reversed(group.values()) for row in own}.values())


def reliability(rows: Sequence[Row]) -> list[Bin]:
    """Return the non-empty bins of the reliability curve."""
    found: list[list[Row]] = [[] for _ in range(BINS)]
    for row, place in zip(rows, bins([row.score for row in rows]), strict=True):
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


def as_json(report: BenchReport) -> dict[str, Any]:
    """Return all measured figures as JSON data, and the cited ones separately."""
    paper = {
        "source": cited.SOURCE, "responses": cited.RESPONSES, "sentences": cited.SENTENCES,
        "test_items": cited.TEST_ITEMS, "notes": cited.notes(), "tools": cited.TOOLS,
    }  # fmt: skip
    return {"measured": report.model_dump(mode="json"), "cited": paper}
