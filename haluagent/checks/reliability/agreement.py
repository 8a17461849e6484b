"""How far a judge of tool use agrees with people (Relign, appendix A): on calls that were labelled by hand."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from pydantic import ValidationError

from haluagent.checks.reliability.records import HALLUCINATIONS, CallFinding, CallKind
from haluagent.checks.runs.forms import reading
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError
from haluagent.types import Record

KINDS: tuple[CallKind, ...] = get_args(CallKind)


class LabelledCalls(Record):
    """A run, and the kind that people gave to its calls, by their id. Calls without a label are not compared."""

    run: AgentRun
    labels: dict[str, CallKind]


class KindAgreement(Record):
    """One kind: how many calls people gave it, how many the judge gave it, and how many both."""

    kind: CallKind
    people: int
    judge: int
    both: int


class JudgeAgreement(Record):
    """The agreement on `n` calls. `accuracy` is the share with the same kind, `kappa` is Cohen's (1960) over the five
    kinds, None where both gave one kind to all calls; `wrong_accuracy` and `wrong_kappa` tell only right from wrong."""

    n: int
    accuracy: float
    kappa: float | None
    wrong_accuracy: float
    wrong_kappa: float | None
    kinds: tuple[KindAgreement, ...]


def labelled_runs(text: str, place: str) -> Iterator[LabelledCalls]:
    """Yield the labelled runs of JSON lines, `{"run": …, "labels": {call id: kind}}`.

    Raise a `ConfigError` that names the line, for a label of no call or an unknown kind too.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        here = f"{place}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise ConfigError(f"{here} is not JSON") from None
        if not isinstance(row, dict) or not isinstance(row.get("labels"), dict) or "run" not in row:
            raise ConfigError(f'{here}: a line is {{"run": a run, "labels": {{call id: kind}}}}')
        run = reading.parse(row["run"], f"{here}, run")
        ids = {call.id for turn in run.turns for call in turn.calls}
        if unknown := sorted(set(row["labels"]) - ids):
            raise ConfigError(f"{here}: the run has no call {unknown[0]!r}")
        try:
            yield LabelledCalls(run=run, labels=row["labels"])
        except ValidationError:
            raise ConfigError(f"{here}: a label is one of {', '.join(KINDS)}") from None


def compared(run: LabelledCalls, findings: Iterable[CallFinding]) -> list[tuple[CallKind, CallKind]]:
    """Return what people and the judge said of each labelled call."""
    return [(run.labels[found.call_id], found.kind) for found in findings if found.call_id in run.labels]


def agreement(pairs: Sequence[tuple[CallKind, CallKind]]) -> JudgeAgreement:
    """Return the agreement of people (first) and a judge on the same calls. Raise `ConfigError` without any."""
    if not pairs:
        raise ConfigError("no call is labelled: give each one a kind under `labels`")
    wrong = [(people != "none", judge != "none") for people, judge in pairs]
    return JudgeAgreement(
        n=len(pairs),
        accuracy=sum(people == judge for people, judge in pairs) / len(pairs),
        kappa=kappa(pairs),
        wrong_accuracy=sum(people == judge for people, judge in wrong) / len(wrong),
        wrong_kappa=kappa(wrong),
        kinds=tuple(
            KindAgreement(
                kind=kind,
                people=sum(people == kind for people, _ in pairs),
                judge=sum(judge == kind for _, judge in pairs),
                both=sum(people == judge == kind for people, judge in pairs),
            )
            for kind in ("none", *HALLUCINATIONS)
        ),
    )


def kappa(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Return Cohen's kappa of two labellings in [-1, 1]: 1 is full agreement, 0 that of chance. None if chance is full."""
    n = len(pairs)
    observed = sum(one == other for one, other in pairs) / n
    firsts, seconds = [one for one, _ in pairs], [other for _, other in pairs]
    chance = sum(firsts.count(label) * seconds.count(label) for label in set(firsts)) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def agreement_table(found: JudgeAgreement) -> str:
    """Return the agreement as text: the figures, then a Markdown table by kind with precision and recall in percent."""

    def shown(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    lines = [
        f"{found.n} calls; the same kind: {100 * found.accuracy:.1f} % (kappa {shown(found.kappa)}); right or wrong: "
        f"{100 * found.wrong_accuracy:.1f} % (kappa {shown(found.wrong_kappa)})",
        "",
        "| kind | people | judge | both | precision | recall |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for of in found.kinds:
        shares = [f"{100 * of.both / total:.1f}" if total else "-" for total in (of.judge, of.people)]
        lines.append(f"| {of.kind} | {of.people} | {of.judge} | {of.both} | {' | '.join(shares)} |")
    return "\n".join(lines)
