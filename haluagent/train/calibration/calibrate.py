"""Calibrate `match`: record its judgements of labelled pairs, to which the curves are then fitted.

The judgements are those of `haluagent/judging/judge.py`, made as in a detection: the claim is decontextualised if
necessary, asked in both option orders, and answered anew if it is a bare answer. Each row also records the verdict of
`web_search` when the text is all that a search finds.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from haluagent.batch.journal import Journal, read_lines
from haluagent.checks.faithfulness.case import Case
from haluagent.checks.faithfulness.judge import reason
from haluagent.corpora.pairs import LabelledPair
from haluagent.detection.decontextualisation import complete, judged_as_it_is
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.detection.task import make_task
from haluagent.errors import ConfigError
from haluagent.judging.judge import ask, mentions, weigh, wording_of
from haluagent.judging.passages import missing_numbers
from haluagent.judging.probabilities import Judgement
from haluagent.models import adapters
from haluagent.models.calibration import EMBEDDED, Calibration, Wording, calibration_of
from haluagent.models.wrapper import ModelWrapper
from haluagent.protocols import Choice, Closable, Generation, Message, Model, SearchResult, ToolContext
from haluagent.text.language import GAP
from haluagent.text.words import words
from haluagent.tooling.registry import Registry
from haluagent.tools import default_registry
from haluagent.tools.web_search import web_search
from haluagent.types import Language, Sentence

PLAIN = ("results", "relevance", "authentic")  # uses that are decided by a scored choice alone


def run(model: Model, pairs: Sequence[LabelledPair], out: Path, progress: Callable[[str], None] = print) -> None:
    """Judge the pairs that are not yet in `out` and append them, one JSON line each.

    Raises ConfigError if `out` holds the judgements of another model, ModelError if the endpoint failed.
    """
    done = {row["id"] for row in recorded(out, model)}
    asyncio.run(_run(model, [pair for pair in pairs if pair.id not in done], out, progress))


def recorded(out: Path, model: Model) -> list[dict[str, Any]]:
    """Return the judgements in a file; none if there is no file. Raises ConfigError if they belong to another model."""
    rows = read_lines(out) if out.exists() else []
    if other := {row["model"] for row in rows} - {model.name}:
        raise ConfigError(f"{out} holds judgements of {', '.join(other)}: name another file for {model.name}")
    return rows


def calibration_of_rows(rows: Sequence[dict[str, Any]], adapter: str | None) -> Calibration:
    """Return the calibration of the model that made the recorded judgements: that of the named adapter, else of the
    adapter in the model's name, else of the embedded model. Raises ConfigError for an unknown adapter."""
    weights, _, adapter_name = (rows[0]["model"] if rows else "").partition("+")
    found = adapters.choose(adapter, weights)
    return found.calibration if found and (adapter != "auto" or found.name == adapter_name) else EMBEDDED


async def _run(model: Model, pairs: Sequence[LabelledPair], out: Path, progress: Callable[[str], None]) -> None:
    registry = default_registry()
    with Journal(out) as journal:
        for position, pair in enumerate(pairs, start=1):
            row = await _judge(pair, model, registry)
            journal.append(json.dumps(row, ensure_ascii=False))
            progress(f"{position}/{len(pairs)} {pair.id} log-odds {sum(row['odds']) / 2:+.2f}")
    if isinstance(model, Closable):
        await model.aclose()


async def _judge(pair: LabelledPair, model: Model, registry: Registry) -> dict[str, Any]:
    meter = Meter(_Remembering(model), Budget(Limits()))
    if pair.use == "reasons":
        return await _reasoned(pair, meter)
    context = await _context(pair, meter, registry)
    sentence = context.sentences[-1]
    text = pair.reference or pair.before or pair.question
    wording: Wording = wording_of(context) if pair.reference else "consistency"
    if pair.use == "relevance" or pair.use == "authentic":
        wording = pair.use
    judged = await ask(context, sentence, text, wording)
    row = _row(pair, model, sentence.claim, text, wording, judged)
    if pair.use in PLAIN:
        row["missing"] = missing_numbers(sentence.claim, text) if pair.use == "results" else []
    elif pair.reference:
        reading = await weigh(context, sentence, text, judged, text, wording)
        row |= {"anew": reading.anew, "agreement": reading.agrees, "missing": reading.missing}
        row["otherwise"] = judged.otherwise + calibration_of(model).otherwise[pair.language]
        if wording == "answer":
            row["mentions"] = await mentions(context, text)
        row["found"] = (await web_search.run(context, sentence=sentence, query=pair.question)).label
    return row


async def _reasoned(pair: LabelledPair, model: Meter) -> dict[str, Any]:
    """Judge a pair as faithfulness does in its `judge` mode, after the model has written its reasons."""
    case = Case(pair.question, pair.claim, pair.reference, pair.language, 0.5, model)
    judged = (await reason(case)).judged or Judgement(0.5, silent=True)
    return _row(pair, model, pair.claim, pair.reference, "reasons", judged) | {"missing": []}


def _row(
    pair: LabelledPair, model: Model, claim: str, text: str, wording: Wording, judged: Judgement
) -> dict[str, Any]:
    """Return the fields that every recorded judgement has."""
    row = pair.model_dump(include={"id", "group", "half", "language", "use", "kind", "wrong"})
    row |= {"model": model.name, "claim": claim, "wording": wording, "overlap": _overlap(claim, text)}
    return row | {"odds": judged.odds, "familiar": judged.familiar, "silent": judged.silent}


async def _context(pair: LabelledPair, model: Meter, registry: Registry) -> ToolContext:
    """Return the context that a detection would have for the claim: it is the last sentence of the response, or the
    only one."""
    gap = GAP[pair.language] if pair.before else ""
    response = f"{pair.before}{gap}{pair.claim}"
    place = (len(response) - len(pair.claim), len(response))
    first = Sentence(index=1, text=pair.before, span=(0, len(pair.before)))
    own = Sentence(index=2 if pair.before else 1, text=pair.claim, span=place)
    reference = pair.reference or None
    task = make_task(pair.question, response, reference, pair.language, registry, model).segmented((own,))
    as_it_is = pair.use in PLAIN or (not pair.before and judged_as_it_is(task))
    completed = (own,) if as_it_is else await complete(task, model)
    sentences = (first, *completed) if pair.before else completed
    return ToolContext(
        question=pair.question, response=response, language=pair.language, sentences=sentences, model=model,
        reference=reference, search=_Found(pair), results=pair.use == "results",
    )  # fmt: skip


class _Found:
    """A search provider that finds the text of a pair and nothing else."""

    name = "pair"

    def __init__(self, pair: LabelledPair) -> None:
        self._pair = pair

    async def search(self, query: str, count: int = 5, language: Language = "en") -> list[SearchResult]:
        text = self._pair.reference
        return [SearchResult(title="", url=self._pair.group, snippet=text, text=text)]


class _Remembering(ModelWrapper):
    """A model wrapper that caches answers, so that tools judging the same pair share them."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._said: dict[str, Generation] = {}
        self._chosen: dict[str, Choice] = {}

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        key = json.dumps([messages, options], default=list)
        if key not in self._said:
            self._said[key] = await self._model.generate(messages, **options)
        return self._said[key]

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        key = json.dumps([messages, choices], default=list)
        if key not in self._chosen:
            self._chosen[key] = await self._model.choose(messages, choices)
        return self._chosen[key]


def _overlap(claim: str, text: str) -> float:
    """Return the share of a claim's words that occur in the text: a baseline that needs no model."""
    said = words(claim)
    return len(said & words(text)) / len(said) if said else 0.0
