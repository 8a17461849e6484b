"""From passages to labels and from labels to a verdict."""

from typing import Any

import pytest

from haluagent.checks.claims.checkers import ClaimFinding
from haluagent.checks.claims.merge import aggregate, merge, ratios
from haluagent.checks.claims.records import Citation, Claim

E, N, C = "Entailment", "Neutral", "Contradiction"
CLAIM = Claim(content=("Osk", "has", "a tower"))


def found(*said: str | None) -> list[ClaimFinding]:
    """A finding for each, whose citation has its number, and whose probability grows with it."""
    return [
        ClaimFinding(label, 0.5 + at / 10, Citation(passage=at, span=(0, 1), text="x"), error=None if label else "late")
        for at, label in enumerate(said)
    ]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "label", "cited"),
    [
        ((N, C, E), E, [2]),
        ((E, C, E, N), E, [0, 2]),
        ((N, C, N, C), C, [1, 3]),
        ((N, N), N, [0, 1]),
        ((), N, []),
        ((E, None), E, [0]),  # whatever the other would have said
        ((C, None), None, []),
        ((None, N), None, []),
    ],
)
def test_any_entailment_else_any_contradiction_else_neutral(said: Any, label: str | None, cited: list[int]) -> None:
    one = merge(CLAIM, found(*said), "choice")
    assert (one.label, [citation.passage for citation in one.citations]) == (label, cited)
    assert one.probability == (0.5 + cited[-1] / 10 if cited else None)
    assert one.error == (None if label else "late")


@pytest.mark.parametrize(
    ("labels", "strict", "major"),
    [
        ([E, E], E, E),
        ([E, E, N], N, E),
        ([E, E, C], C, E),
        ([E, C], C, C),
        ([E, N], N, N),
        ([N, C, C, N], C, C),
        ([E, N, N], N, N),
        ([], "Abstain", "Abstain"),
        ([E, None], None, None),
    ],
)
def test_verdicts(labels: Any, strict: str | None, major: str | None) -> None:
    assert [aggregate(labels, kind) for kind in ("strict", "major", "soft")] == [strict, major, major]  # type: ignore[arg-type]


def test_ratios_sum_to_one_where_there_are_claims() -> None:
    assert ratios([E, E, C, N]) == {E: 0.5, N: 0.25, C: 0.25}  # type: ignore[list-item]
    assert ratios([]) == {E: 0.0, N: 0.0, C: 0.0}
