"""Claims on the real embedded model: read from a response, and each held against the reference."""

from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.checks.claims.check import check_claims

pytestmark = pytest.mark.engine


@pytest.mark.core
def test_a_wrong_claim_is_told_from_a_right_one(engine_model: Any) -> None:
    reference = "Harlow Tower stands in Brod. Mary Ellis built it in 1911."
    with HaluAgent(engine_model, sandbox="none", search="none") as agent:
        report = check_claims(agent, "Mary Ellis built Harlow Tower. It was built in 1935.", reference)
    print(report)
    assert report.error is None
