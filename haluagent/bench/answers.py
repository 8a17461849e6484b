"""Answers of several sentences with a label for each, or the tools that can check it: what the agent makes of every one.

This is how a chatbot is checked in use: most sentences are right, and one wrong among them is to be found without an
alarm on the others.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import ValidationInfo, field_validator, model_validator

from haluagent.arithmetic.results import stated_results
from haluagent.bench.datasets.items import Item
from haluagent.bench.datasets.rows import NamedRow, RowModel, Text, named
from haluagent.bench.report.text import NONE, short
from haluagent.bench.rows import Row
from haluagent.bench.scoring.sources import estimate
from haluagent.detection.verdict import WAYS_OUT
from haluagent.errors import ConfigError
from haluagent.text.language import GAP
from haluagent.text.numbers import find_numbers, matches
from haluagent.types import Detection, Label, Language, MemoryEntry, ReasonCode, Record, Span, Step

Given = Label | ReasonCode  # the label of a sentence, or why it is unverified
Gold = Literal["supported", "contradicted", "not_in_reference", "no_claim"]
GIVEN: tuple[Given, ...] = ("supported", "contradicted", "not_in_reference", "unverified", "no_claim")
WRONG: frozenset[Gold] = frozenset({"contradicted", "not_in_reference"})
_NO_CHECKS = frozenset({"split_text", *WAYS_OUT})
_WORST: tuple[Given, ...] = ("contradicted", "not_in_reference", "unverified", "supported", "no_claim")


class LabelledSentence(RowModel):
    """A sentence with its label, or with the tools of which one should be called first (none for a sentence that claims
    nothing), or with both. `value` is what the calculation of its figure gives, right or not, rounded as it is."""

    text: Text
    label: Gold | None = None
    tools: list[Text] | None = None
    value: float | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.label is None and self.tools is None:
            raise ValueError("a sentence with a label, or with tools")
        return self


class LabelledAnswer(NamedRow):
    """An answer whose sentences, joined, are the response: by a space in English, by nothing in Chinese; a sentence that
    begins with a line break begins a line."""

    language: Language
    document: str = ""
    question: str
    sentences: list[LabelledSentence]

    @field_validator("sentences")
    @classmethod
    def _has_a_measure(cls, sentences: list[LabelledSentence], info: ValidationInfo) -> list[LabelledSentence]:
        if not info.data.get("document", "").strip() and any(sentence.tools is None for sentence in sentences):
            raise ValueError("sentences with tools, where there is no document")
        return sentences

    def spans(self) -> list[Span]:
        """Return the place of each sentence in the response."""
        found: list[Span] = []
        at = 0
        for sentence in self.sentences:
            if found and not sentence.text.startswith("\n"):
                at += len(GAP[self.language])
            found.append((at, at + len(sentence.text)))
            at = found[-1][1]
        return found

    def item(self) -> Item:
        """Return the answer as an item of a run, whose gold label is whether any sentence is wrong."""
        response = ""
        for sentence, (start, _) in zip(self.sentences, self.spans(), strict=True):
            response = response.ljust(start) + sentence.text
        return Item(
            id=str(self.name), question=self.question, response=response, reference=self.document or None, language=self.language,
            wrong=any(sentence.label in WRONG for sentence in self.sentences),
        )  # fmt: skip


class JudgedSentence(Record):
    """What a labelled sentence was taken for, in the answer that it stands in. `called` is the first tool that was called for it,
    None if none was; `worked_out` says whether a calculator came to its value, None if it has none."""

    answer: str
    language: Language
    gold: Gold | None
    given: Given
    tools: tuple[str, ...] | None = None
    called: str | None = None
    worked_out: bool | None = None


def load(path: Path) -> list[LabelledAnswer]:
    """Return the answers of a JSON Lines file. Raises ConfigError naming a line that cannot be read, or an id that stands
    twice."""
    if path.suffix != ".jsonl":
        raise ConfigError(f"{path} is no .jsonl file: give one answer a line (docs/benchmarks.md)")
    return list(named(path.parent, path.stem, LabelledAnswer).values())


def found(answers: Mapping[str, LabelledAnswer], judged: Sequence[Row]) -> list[JudgedSentence]:
    """Return what each labelled sentence was taken for: the worst of what the agent said of the sentences in its place. An
    answer that failed leaves its sentences unverified."""
    every = []
    for row in judged:
        answer = answers[row.id]
        entries = row.detection.sentences if row.detection else ()
        for sentence, span in zip(answer.sentences, answer.spans(), strict=True):
            own = [entry for entry in entries if _overlap(entry, span)]
            outcomes = {entry.outcome for entry in own}
            worst: Given = next((one for one in _WORST if one in outcomes), "unverified")
            every.append(
                JudgedSentence(
                    answer=row.id, language=row.language, gold=sentence.label, given=worst,
                    tools=None if sentence.tools is None else tuple(sentence.tools), called=_called(row.detection, own),
                    worked_out=None if sentence.value is None else _worked_out(row.detection, own, sentence.value),
                )
            )  # fmt: skip
    return every


def _called(detection: Detection | None, entries: Sequence[MemoryEntry]) -> str | None:
    """Return the first tool that was called for the sentences of the entries, or the one that decided them with the whole
    response; None if no tool looked at them."""
    indexes = {entry.sentence.index for entry in entries}
    steps = detection.steps if detection else ()
    calls = [step.call.name for step in steps if step.sentence in indexes and step.call and not step.rejected]
    calls += [entry.tool for entry in entries if entry.tool]
    return next((name for name in calls if name not in _NO_CHECKS), None)


def _worked_out(detection: Detection | None, entries: Sequence[MemoryEntry], value: float) -> bool:
    """Return whether a calculation of the calculator for the sentences of the entries gave a value, as far as it is rounded."""
    indexes = {entry.sentence.index for entry in entries}
    steps = detection.steps if detection else ()
    seen = [step.result.observation for step in steps if step.sentence in indexes and step.result and _calculated(step)]
    (wanted,) = find_numbers(f"{abs(value):f}".rstrip("0").rstrip("."))
    given = (number.value for observation in seen for number in stated_results(observation))
    return any(matches(abs(one) * scale, wanted) for one in given for scale in (1, 100))  # a share, or in percent


def _calculated(step: Step) -> bool:
    return step.call is not None and step.call.name == "calculator"


def _overlap(entry: MemoryEntry, span: Span) -> bool:
    start, end = entry.sentence.span
    return entry.sentence.index > 0 and start < span[1] and end > span[0]


def table(sentences: Sequence[JudgedSentence]) -> str:
    """Return, as Markdown, the counts of what sentences of each gold label were taken for, and the shares that count: right
    sentences supported and contradicted, wrong ones caught and passed, each with its 95 % interval (answers are
    resampled whole). Where sentences name tools, also how often the first call was one of them, and what was called instead;
    where they have a value, how often a calculator came to it."""
    lines = [
        f"| gold | n | {' | '.join(name.replace('_', ' ') for name in GIVEN)} |",
        "|---|---:" + "|---:" * len(GIVEN) + "|",
    ]
    for gold in get_args(Gold):
        counts = Counter(one.given for one in sentences if one.gold == gold)
        cells = [str(counts[name]) for name in GIVEN]
        lines.append(f"| {gold.replace('_', ' ')} | {counts.total()} | {' | '.join(cells)} |")
    lines += ["", "| share, % | all | en | zh |", "|---|---:|---:|---:|"]
    for name, chosen, counts_as in _SHARES:
        cells = []
        for language in (None, *get_args(Language)):
            own = [one for one in sentences if chosen(one) and language in (None, one.language)]
            cells.append(short(estimate([counts_as(one) for one in own], [one.answer for one in own])))
        if any(cell != NONE for cell in cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    instead = Counter(
        (" or ".join(one.tools) or "none", one.called or "none")
        for one in sentences
        if one.tools is not None and not _well_called(one)
    )
    if instead:
        lines += ["", "| wanted | called | n |", "|---|---|---:|"]
        lines += [f"| {wanted} | {called} | {count} |" for (wanted, called), count in instead.most_common()]
    return "\n".join(lines)


def _well_called(one: JudgedSentence) -> bool:
    return one.called in one.tools if one.tools else one.called is None


_SHARES: tuple[tuple[str, Callable[[JudgedSentence], bool], Callable[[JudgedSentence], bool]], ...] = (
    ("right sentences supported", lambda one: one.gold == "supported", lambda one: one.given == "supported"),
    ("right sentences contradicted", lambda one: one.gold == "supported", lambda one: one.given == "contradicted"),
    ("right sentences not in the reference", lambda one: one.gold == "supported", lambda one: one.given == "not_in_reference"),
    ("wrong sentences caught", lambda one: one.gold in WRONG, lambda one: one.given in WRONG),
    ("wrong sentences supported", lambda one: one.gold in WRONG, lambda one: one.given == "supported"),
    ("no claims seen as such", lambda one: one.gold == "no_claim", lambda one: one.given == "no_claim"),
    ("no claims with an alarm", lambda one: one.gold == "no_claim", lambda one: one.given in WRONG),
    ("a right tool called first", lambda one: bool(one.tools), _well_called),
    ("the right figure worked out", lambda one: one.worked_out is not None, lambda one: one.worked_out is True),
    ("no claims that no tool was called for", lambda one: one.tools == (), _well_called),
)  # fmt: skip
