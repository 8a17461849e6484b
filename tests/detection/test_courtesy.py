"""A response that only offers help or asks back makes no claim, and no model is asked about it."""

import pytest

from haluagent import HaluAgent


@pytest.mark.parametrize(
    ("question", "response"),
    [
        ("Write a poem.", "I'd be happy to help! What should the poem be about?"),
        ("写一首诗。", "我很乐意帮您！您想要什么主题的诗？"),
    ],
)
def test_an_offer_and_a_question_back_claim_nothing(scripted, question: str, response: str) -> None:
    model = scripted()
    detection = HaluAgent(model=model, search="none", sandbox="none").detect(question, response)
    assert [entry.label for entry in detection.sentences] == ["no_claim", "no_claim"]
    assert detection.hallucination is None and model.seen == []


def test_what_stands_beside_an_offer_is_checked(scripted) -> None:
    model = scripted(scripted.calculate)
    response = "I'd be happy to help! 2 + 2 = 5."
    detection = HaluAgent(model=model, search="none", sandbox="none").detect("Help me.", response)
    assert [entry.label for entry in detection.sentences] == ["no_claim", "contradicted"]
