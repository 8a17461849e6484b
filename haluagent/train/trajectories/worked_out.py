"""Judgements of what follows from a text: figures (`figures.jsonl`), with the calculation to write, which names each number, and
the verdict beside the text with a calculation that a tool has added; and days (`days.jsonl`), with the verdict beside
the text and what the calendar adds to it."""

import random
from collections.abc import Iterator
from typing import Any

from haluagent.corpora import packaged
from haluagent.text.calendar_facts import calendar_facts
from haluagent.text.numbers import Number, find_numbers
from haluagent.tools.calculator.calculation import worked_out
from haluagent.tools.calculator.figures import figures, question_of
from haluagent.train.trajectories.judgements import TaughtClaim, held_out, trajectory
from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory

# The shares of verdicts with the claim's own calculation and with a wrong one that a hasty reader would write.
OWN, SLIP = 0.5, 0.3


def make(seed: int, *, held: bool = False) -> list[Trajectory]:
    """Return the calculations and verdicts, the same for the same seed. With `held`, those about the texts that are kept from
    teaching."""
    chance = random.Random(seed)
    made: list[Trajectory] = []
    for name, about in (("figures.jsonl", _figures), ("days.jsonl", _days)):
        rows = packaged.rows("haluagent.train.trajectories", name)
        made += [one for row in rows for one in about(row, chance) if held_out(one.group) is held]
    return made


def _days(row: dict[str, Any], chance: random.Random) -> Iterator[Trajectory]:
    known = f"{row['question']}\n{row['text']}"
    for place, one in enumerate(row["claims"]):
        claim = TaughtClaim(
            id=f"{row['id']}:{place}", source="days", language=row["language"], question=row["question"],
            claim=one["claim"], text=row["text"], label=one["label"], kind=one["how"],
        )  # fmt: skip
        facts = calendar_facts(claim.claim, known, claim.language)
        yield trajectory(claim, chance, fact="\n".join(facts))


def _figures(row: dict[str, Any], chance: random.Random) -> Iterator[Trajectory]:
    for place, one in enumerate(row["claims"]):
        claim = TaughtClaim(
            id=f"{row['id']}:{place}", source="figures", language=one["language"], question=row["question"],
            claim=one["claim"], text=row["text"], label=one["label"], kind=one["how"],
        )  # fmt: skip
        twin = row["claims"][place ^ 1]["claim"]
        wanted = [number for number in figures(claim.claim, claim.text, claim.question) if _sets_apart(number, twin)]
        if one["formula"] and len(wanted) == 1:
            yield from _calculation(claim, one["formula"], wanted[0])
        draw = chance.random()
        formula = one["formula"] if draw < OWN else one["slip"] if draw < OWN + SLIP else ""
        yield trajectory(claim, chance, fact=(_line(claim, formula, wanted[0]) or "") if formula and wanted else "")


def _sets_apart(figure: Number, twin: str) -> bool:
    """Return whether a claim's twin has another figure in its place."""
    return figure.value not in {number.value for number in find_numbers(twin)}


def _line(claim: TaughtClaim, formula: str, figure: Number) -> str | None:
    found = worked_out(formula, figure, claim.claim, f"{claim.text} {claim.question}", claim.language)
    return found.line if found else None


def _calculation(claim: TaughtClaim, formula: str, figure: Number) -> Iterator[Trajectory]:
    """Yield the calculation to write, if the calculator would take it."""
    if not _line(claim, formula, figure):
        return
    made = trajectory(claim, random.Random(0))
    messages = question_of(claim.claim, figure, made.reference or "", claim.question, claim.language)
    call = ModelCall(prompt="figure", messages=tuple(RecordedMessage(**message) for message in messages), reply=formula)
    yield made.model_copy(update={"id": f"{claim.id}:figure", "kind": "math", "calls": (call,)})
