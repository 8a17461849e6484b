"""Claims on the real embedded model: read from a response, and each held against the reference."""

from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.claims.check import check_claims

pytestmark = pytest.mark.engine


@pytest.mark.core
def test_a_wrong_claim_is_told_from_a_right_one(engine_model: Any) -> None:
    reference = "Mary Ellis built Harlow Tower in 1911."
    with HaluAgent(engine_model, sandbox="none", search="none") as agent:
        report = check_claims(agent, "Mary Ellis built Harlow Tower. John Carrick built Harlow Tower.", reference)
    right, wrong = report.claims
    assert (right.claim.span, right.label) == ((0, 30), "Entailment")
    assert (wrong.claim.span, wrong.label) in (((31, 63), "Contradiction"), ((31, 63), "Neutral"))
    assert report.verdict == wrong.label and report.error is None
