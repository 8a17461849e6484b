"""Reflection: labels against the reference, and sentences against each other."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from scripted import Belief, believes

from haluagent import HaluAgent
from haluagent.detection.reflection import results, uses
from haluagent.events import Revised, Verdict
from haluagent.protocols import Choice, Message
from haluagent.types import Detection, Evidence, Label, MemoryEntry, Revision, Sentence

COSTS = "Describe the costs."  # no problem to solve: only the sentences are checked
CRATES = "One crate costs 17 * 3 = 54 dollars."  # wrong: it is 51


def labels(detection: Detection) -> list[Label]:
    return [entry.label for entry in detection.sentences]


@pytest.fixture
def detect(scripted: Any) -> Callable[..., Detection]:
    """A report by a model that calls the calculator where there is a sum and else compares with the reference."""

    def say(messages: Sequence[Message]) -> str:
        text = messages[1]["content"]
        target = scripted.checked(messages)
        line = next(line for line in text.splitlines() if line.startswith(f"[{target}]"))
        if "=" in line:
            return scripted.calculate(messages)  # type: ignore[no-any-return]
        return f'ACTION: match(sentence={target}, context="reference")'

    def detect(
        question: str, response: str, reference: str | None = None, belief: Belief = 0.5, **options: Any
    ) -> Detection:
        with HaluAgent(scripted(say, choose=believes(belief)), **options) as agent:
            return agent.detect(question, response, reference)

    return detect


# Against the reference -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "response", "reference"),
    [
        (
            "Tell me about the Elbe.",
            "The Elbe rises in the Giant Mountains. The Elbe ends in the Black Sea.",
            "A river of Europe. The Elbe rises in the Giant Mountains, and ends in the North Sea.",
        ),
        (
            "请介绍易北河。",
            "易北河发源于克尔科诺谢山。易北河最后流入黑海。",
            "欧洲的河流。易北河发源于克尔科诺谢山，流入北海。",
        ),
    ],
)
def test_what_stands_in_the_reference_word_for_word_is_not_contradicted_by_it(
    detect: Callable[..., Detection], question: str, response: str, reference: str
) -> None:
    detection = detect(question, response, reference, belief=0.01)
    first, second = detection.sentences
    assert (first.label, second.label) == ("supported", "contradicted")
    assert first.revised_from is None and second.revised_from is None
    span = first.evidence[-1].span
    assert first.evidence[-1].source == "reference" and span is not None
    assert reference[slice(*span)] == first.evidence[-1].text == first.sentence.text.rstrip(".。")


ADDED = "So it is 12 * 7 = 84."  # nothing is said but the sum
BOXES = "The seven boxes are empty: whoever says that so it is 12 * 7 = 84 is wrong."


def test_right_arithmetic_that_the_reference_clearly_contradicts_is_revised(detect: Callable[..., Detection]) -> None:
    (entry,) = detect("Describe the boxes.", ADDED, BOXES, belief=0.01).sentences
    assert (entry.label, entry.tool) == ("contradicted", "calculator")
    assert entry.revised_from is not None and entry.revised_from.label == "supported"
    assert [item.source for item in entry.evidence] == ["calculator", "reference"]


def test_a_calculation_that_the_reference_quotes_is_not_asked_about(detect: Callable[..., Detection]) -> None:
    detection = detect("Describe the boxes.", ADDED, f"A note. {ADDED} The end.", belief=0.01)
    assert labels(detection) == ["supported"] and detection.sentences[0].revised_from is None


@pytest.mark.parametrize("belief", [0.5, 0.99])
def test_a_reference_that_does_not_clearly_contradict_leaves_a_calculation(
    detect: Callable[..., Detection], belief: float
) -> None:
    detection = detect("Describe the boxes.", ADDED, BOXES, belief=belief)
    assert labels(detection) == ["supported"] and detection.sentences[0].revised_from is None
    assert detection.coverage.reference == 1.0  # it was read all the same


def test_answers_without_log_probabilities_are_not_enough_against_a_calculation(scripted: Any) -> None:
    class Unscored(scripted):  # type: ignore[misc]
        async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
            choice: Choice = await super().choose(messages, choices)
            return choice.model_copy(update={"calibrated": False})

    with HaluAgent(Unscored(scripted.calculate, choose=believes(0.0))) as agent:
        assert labels(agent.detect("Describe the boxes.", ADDED, BOXES)) == ["supported"]


def test_a_number_that_the_reference_lacks_is_not_enough_against_a_calculation(
    detect: Callable[..., Detection],
) -> None:
    detection = detect("Describe the boxes.", ADDED, "Seven boxes hold pens, a dozen each.", belief=0.99)
    assert labels(detection) == ["supported"]


def test_what_the_reference_says_word_for_word_is_not_contradicted(detect: Callable[..., Detection]) -> None:
    reference = f"It is said: {CRATES}"
    (entry,) = detect(COSTS, CRATES, reference, belief=0.01).sentences
    assert entry.label == "supported" and entry.revised_from is not None and entry.revised_from.label == "contradicted"
    place = entry.evidence[-1].span
    assert place is not None and reference[slice(*place)] == entry.evidence[-1].text == CRATES.rstrip(".")


@pytest.mark.parametrize(("belief", "label"), [(0.99, "unverified"), (0.5, "contradicted"), (0.01, "contradicted")])
def test_wrong_arithmetic_that_the_reference_clearly_supports_is_not_decided(
    detect: Callable[..., Detection], belief: float, label: Label
) -> None:
    reference = "The invoice: one crate costs 54 dollars, since 17 * 3 = 54 dollars according to it."
    assert labels(detect(COSTS, CRATES, reference, belief=belief)) == [label]


# Against each other ----------------------------------------------------------------------------------------------


def test_a_chain_of_steps_falls_with_its_first(detect: Callable[..., Detection]) -> None:
    response = (
        f"{CRATES} Two crates cost 54 * 2 = 108 dollars. With a tip that is 108 + 5 = 113 dollars. Pens cost 2 * 2 = 4."
    )
    detection = detect(COSTS, response)
    assert labels(detection) == ["contradicted", "contradicted", "contradicted", "unverified"]
    first, second, third, _ = detection.sentences
    assert first.revised_from is None
    for entry, cause, number in ((second, first, "54"), (third, second, "108")):
        assert entry.revised_from is not None and entry.revised_from.label == "unverified"
        assert [part.tool for part in entry.parts] == ["calculator"]
        assert entry.reason == f"it rests on {number} ({cause.sentence.name})"
        assert entry.confidence == pytest.approx(cause.confidence * 0.9)
        span = entry.evidence[-1].span
        assert span is not None and response[slice(*span)] == entry.evidence[-1].text == cause.sentence.text


def test_an_earlier_step_does_not_fall_with_a_later_one(detect: Callable[..., Detection]) -> None:
    assert labels(detect(COSTS, f"Two crates cost 54 * 2 = 108 dollars. {CRATES}")) == ["unverified", "contradicted"]


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("Describe the costs with a budget of 54 dollars.", "Two such sums are 54 * 2 = 108 dollars."),  # given
        (COSTS, "Two pens for 27 dollars cost 27 * 2 = 54 dollars."),  # worked out anew
        (COSTS, "Two crates cost 51 * 2 = 102 dollars."),  # the right number
        (COSTS, "The 17 crates with 3 pens are 17 + 3 = 20 things."),  # not a result
    ],
)
def test_what_rests_on_something_else_stays(detect: Callable[..., Detection], question: str, second: str) -> None:
    first, other = detect(question, f"{CRATES} {second}").sentences
    assert (first.label, other.label, other.revised_from) == ("contradicted", "unverified", None)
    assert [part.label for part in other.parts] == ["supported"]  # its sum is right; nothing checked the rest


def test_a_revision_keeps_the_first_label(scripted: Any) -> None:
    response = f"{CRATES} Two crates cost 54 * 2 = 108 dollars. With a tip that is 108 + 5 = 113 dollars."
    with HaluAgent(scripted(scripted.calculate)) as agent:
        events = list(agent.stream(COSTS, response))
    first = {event.entry.sentence.index: event.entry for event in events if isinstance(event, Verdict)}
    revised = [event.entry for event in events if isinstance(event, Revised)]
    assert [entry.sentence.index for entry in revised] == [2, 3]
    for entry in revised:
        before = first[entry.sentence.index]
        assert entry.revised_from == Revision(label=before.label, reason=before.reason)
        assert entry.evidence[: len(before.evidence)] == before.evidence


# What they are made of -------------------------------------------------------------------------------------------


def wrong(text: str, equation: str | None = None, revised: bool = False, source: str = "calculator") -> MemoryEntry:
    """An entry about a response that is one sentence."""
    span = (text.index(equation), text.index(equation) + len(equation)) if equation else None
    return MemoryEntry(
        sentence=Sentence(index=1, text=text, span=(0, len(text))),
        label="contradicted",
        evidence=(Evidence(source=source, text="", span=span),),
        revised_from=Revision(label="supported", reason="") if revised else None,
    )


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (wrong("17 * 3 = 54, and 2 * 2 = 4", "17 * 3 = 54"), ["54"]),  # of two equations the wrong one
        (wrong("17 * 3 = 54, and 2 * 2 = 4", "17 * 3 = 54", revised=True), ["54", "4"]),
        (wrong("17 * 3 = 54"), []),
        (wrong("17 * 3 = 54", "17 * 3 = 54", source="reference"), []),
        (wrong("There are 54 pens.", "54"), []),  # nothing was calculated
    ],
)
def test_results(entry: MemoryEntry, found: list[str]) -> None:
    assert [number.text for number in results(entry, entry.sentence.text)] == found


@pytest.mark.parametrize(
    ("text", "question", "found"),
    [
        ("54 + 6 = 60", "", ["54"]),
        ("There are fifty-four pens.", "", ["fifty-four"]),
        ("一共五十四元。", "", ["五十四"]),
        ("540 + 6 = 546", "", []),
        ("54 + 6 = 60", "Of 54 pens?", []),
        ("27 * 2 = 54", "", []),
        ("27 * 2 = 54, 54 + 6 = 60", "", ["54"]),
        ("", "", []),
    ],
)
def test_uses(text: str, question: str, found: list[str]) -> None:
    entry = wrong("17 * 3 = 54", "17 * 3 = 54")
    assert uses(text, results(entry, entry.sentence.text), question) == found
