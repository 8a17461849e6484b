"""Agreement of samples: an opinion, never a verdict."""

from typing import Any

import pytest
from scripted import believes, prompt

from haluagent import HaluAgent
from haluagent.errors import ConfigError

QUESTION = "Who designed the Alster Tower?"
SAMPLE = "It was Ada Brunn who designed it."


def detect(scripted: Any, believed: Any, **options: Any) -> tuple[Any, Any]:
    def choose(messages: Any) -> Any:
        return believes(believed)(messages) if SAMPLE in prompt(messages) else [0.2, 0.8]

    model = scripted(lambda messages: "ACTION: get_answer()", choose=choose, free=options.pop("free", SAMPLE))
    with HaluAgent(model, search="none", sandbox="none", reflect=False, **options) as agent:
        return agent.detect(options.pop("question", QUESTION), "Ada Brunn designed the Alster Tower."), model


@pytest.mark.parametrize(("believed", "low", "high"), [("said", 0.8, 1), ("silent", 0.4, 0.6), ("otherwise", 0, 0.2)])
def test_agreement_is_an_opinion_and_never_a_label(scripted: Any, believed: str, low: float, high: float) -> None:
    detection, _ = detect(scripted, believed, samples=3)
    (entry,) = detection.sentences
    assert entry.label == "unverified" and detection.hallucination is None
    assert low <= entry.opinion <= high
    assert detection.score == pytest.approx(0.5 + (0.5 - entry.opinion) / 2)


def test_the_samples_are_drawn_once_and_each_is_compared(scripted: Any) -> None:
    _, model = detect(scripted, "said", samples=3)
    drawn = [seen for seen in model.seen if prompt(seen).strip() == QUESTION]
    compared = [seen for seen in model.seen if SAMPLE in prompt(seen)]
    assert len(drawn) == 1 and len(compared) == 2 * 3


def test_without_samples_or_with_empty_ones_it_is_the_models_own_belief(scripted: Any) -> None:
    for options in ({}, {"samples": 3, "free": " "}):
        detection, model = detect(scripted, "said", **options)
        assert detection.sentences[0].opinion == 0.2
        assert not any(SAMPLE in prompt(seen) for seen in model.seen)


def test_closed_book_needs_none(scripted: Any) -> None:
    detection, model = detect(scripted, "said", samples=3, closed_book=True)
    assert (detection.sentences[0].label, detection.sentences[0].opinion) == ("contradicted", 0.2)
    assert not any(SAMPLE in prompt(seen) for seen in model.seen)


def test_fewer_than_none_are_refused(scripted: Any) -> None:
    with pytest.raises(ConfigError, match="samples=-1"):
        HaluAgent(scripted(), samples=-1)
