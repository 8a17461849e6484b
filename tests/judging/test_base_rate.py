"""The share of sentences that are right beforehand: a model's calibration has one, and a user may know better."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from click.testing import Result
from scripted import believes
from typer.testing import CliRunner

from haluagent import HaluAgent
from haluagent.checks.claims.check import check_claims
from haluagent.checks.faithfulness.check import check
from haluagent.cli.main import app
from haluagent.errors import ConfigError
from haluagent.judging.judge import ask
from haluagent.judging.probabilities import at_base_rate, log_odds
from haluagent.models.adapters import all_shipped
from haluagent.models.calibration import IDENTITY, Wording

ELBE = "The Elbe rises in the Giant Mountains and flows into the North Sea near Cuxhaven."
RESPONSE = "The Elbe ends at the coast. Ships use it."


@pytest.mark.parametrize(
    ("wording", "own", "wanted"),
    [
        ("statement", None, 0.8),
        ("answer", None, 0.8),
        ("consistency", None, 0.5),
        ("statement", 0.3, 0.3),
        ("results", 0.9, 0.9),
    ],
)
def test_the_context_goes_before_the_calibration_which_is_for_sentences_beside_texts(
    scripted: Any, make_context: Any, wording: Wording, own: float | None, wanted: float
) -> None:
    model = scripted(choose=believes(0.4))
    model.calibration = IDENTITY.model_copy(update={"base_rate": 0.8})
    context = replace(make_context("", RESPONSE, reference=ELBE, model=model), base_rate=own)
    found = asyncio.run(ask(context, context.sentence(1), ELBE, wording))
    assert log_odds(found.supported) == pytest.approx(log_odds(at_base_rate(0.4, wanted)), abs=0.02)


@pytest.mark.parametrize(
    ("base_rate", "verdict", "label"), [(0.3, "FAIL", "Contradiction"), (0.8, "PASS", "Entailment")]
)
def test_one_knob_moves_a_check_and_claims(scripted: Any, base_rate: float, verdict: str, label: str) -> None:
    model = scripted(choose=believes(0.45))
    model.calibration = IDENTITY
    with HaluAgent(model, sandbox=None, search=None, base_rate=base_rate) as agent:
        assert check(agent, "", RESPONSE, ELBE, mode="fast").verdict == verdict
        assert check_claims(agent, RESPONSE, ELBE).verdict == label


def test_the_shipped_thresholds_are_one_half_so_that_no_sentence_is_supported_at_less() -> None:
    for adapter in all_shipped():
        assert adapter.calibration and adapter.calibration.thresholds.supported >= 0.5, adapter.name


@pytest.mark.parametrize("base_rate", [0.0, 1.0, -0.2, 1.5])
def test_a_share_of_none_or_all_is_refused(scripted: Any, base_rate: float) -> None:
    with pytest.raises(ConfigError, match="above 0 and below 1"):
        HaluAgent(scripted(), base_rate=base_rate)
    result: Result = CliRunner().invoke(
        app, ["check", "--answer", "x", "--document", "y", "--base-rate", str(base_rate)]
    )
    assert result.exit_code == 2 and "above 0 and below 1" in result.output
