"""What the model may do instead of checking, and what it may not: made-up arguments, and giving up before a search."""

from typing import Any

import pytest
from scripted import believes

from haluagent import HaluAgent, Limits
from haluagent.protocols import SearchResult
from haluagent.report.lines import plain
from haluagent.types import Detection


def by_sentence(detection: Detection) -> dict[int, str]:
    return {entry.sentence.index: entry.label for entry in detection.sentences}


class OneDocument:
    name = "one"

    async def search(self, query: str, count: int = 5, language: str = "en") -> list[SearchResult]:
        text = "Whales breathe air with their lungs."
        return [SearchResult(title="Whales", url="file:///whales.txt", snippet=text, text=text)]


def test_where_there_is_a_search_a_claim_is_looked_up_before_it_is_given_up(scripted: Any) -> None:
    def say(messages: Any) -> str:
        name = scripted.checked(messages)
        if "it makes a claim" in messages[-1]["content"]:
            return f'ACTION: web_search(sentence={name}, query="whales breathe")'
        return f'ACTION: get_answer(sentence={name}, label="unverified")'

    with HaluAgent(scripted(say, choose=0.5), search=OneDocument(), sandbox="none") as agent:
        detection = agent.detect("Do they?", "Yes they do. Whales breathe air with their lungs.")
    assert by_sentence(detection)[2] == "supported"
    (evidence,) = detection.sentences[1].evidence
    assert (evidence.url, evidence.span) == ("file:///whales.txt", (0, 35))


@pytest.mark.parametrize("ending", ['get_answer(sentence={}, label="no_claim")', "get_answer(sentence={})"])
def test_what_was_looked_up_in_vain_stays_open_and_is_not_looked_up_in_haste(scripted: Any, ending: str) -> None:
    """A model that has searched for a sentence may say that it claims nothing, as small ones do; it is asked nothing more."""

    def say(messages: Any) -> str:
        name = scripted.checked(messages)
        searched = any("web_search(" in one["content"] for one in messages if one["role"] == "assistant")
        return "ACTION: " + (ending if searched else 'web_search(sentence={}, query="seals")').format(name)

    model, limits = scripted(say, choose=believes(0.01)), Limits(queries=2)
    with HaluAgent(model, search=OneDocument(), sandbox="none", limits=limits) as agent:
        detection = agent.detect("Do they?", "Yes they do. Sea lions sleep on rocks.")
    assert by_sentence(detection)[2] == "unverified" and "something else" in detection.sentences[1].reason
    called = [step.call.name for step in detection.steps if step.sentence == 2 and step.call]
    assert called == ["web_search", "get_answer"]


def test_a_call_with_something_made_up_is_rejected_and_in_the_report(scripted: Any) -> None:
    def say(messages: Any) -> str:
        year = "" if "is in none of the texts" in messages[-1]["content"] else " 1815"
        return f'ACTION: web_search(sentence={scripted.checked(messages)}, query="whales{year}")'

    with HaluAgent(scripted(say, choose=0.5), search=OneDocument(), sandbox="none") as agent:
        detection = agent.detect("Do they?", "Whales breathe air with their lungs.")
    rejected = [step for step in detection.steps if step.rejected]
    assert [step.call.arguments["query"] for step in rejected if step.call] == ["whales 1815"]
    assert by_sentence(detection) == {1: "supported"}
    assert "rejected before it ran: 1815" in plain(detection)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ('change_tools(sentence={}, reason="no tool can hear")', "no tool fits: no tool can hear"),
        ('talk_to_user(sentence={}, missing="the recording")', "to check this, it takes: the recording"),
    ],
)
def test_a_model_may_say_why_it_cannot_check(scripted: Any, call: str, says: str) -> None:
    model = scripted(lambda messages: "ACTION: " + call.format(scripted.checked(messages)))
    with HaluAgent(model, search="none") as agent:
        detection = agent.detect("How does it sound?", "It sounds sad. It is played in minor.")
    assert by_sentence(detection) == {1: "unverified", 2: "unverified"}
    assert {entry.reason for entry in detection.sentences} == {says}
    assert detection.hallucination is None
