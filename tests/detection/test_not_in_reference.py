"""What the reference does not say is no label: a reason beside "unverified", with doubt, through a whole detection."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from scripted import Belief, believes

from haluagent import HaluAgent
from haluagent.report.lines import plain
from haluagent.types import Detection, Label, Language

QUESTION = {"en": "What is known of the Elbe?", "zh": "关于易北河知道些什么？"}
RESPONSE = {
    "en": "The Elbe rises in the Czech Republic. The Elbe carries many ships.",
    "zh": "易北河发源于捷克。易北河上有很多船。",
}
REFERENCE = {
    "en": "The Elbe rises in the Giant Mountains of the Czech Republic.",
    "zh": "易北河发源于捷克的克尔科诺谢山。",
}
SHIPS = {"en": "ships", "zh": "船"}
NAMED = {"en": "not in the reference", "zh": "资料没有提到"}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


@pytest.fixture
def detect(scripted: Any) -> Callable[..., Detection]:
    """A detection whose model believes this of the second sentence, and that the reference says the first."""

    def detect(language: Language, belief: Belief, **options: Any) -> Detection:
        model = scripted(
            lambda messages: f'ACTION: match(sentence={scripted.checked(messages)}, context="reference")',
            choose=believes(lambda text: belief if re.search(f"{SHIPS[language]}.\n</claim>", text) else "said"),
        )
        with HaluAgent(model, search="none", sandbox="none", **options) as agent:
            return agent.detect(QUESTION[language], RESPONSE[language], REFERENCE[language])

    return detect


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("belief", "label", "hallucination"),
    [("said", "supported", False), ("otherwise", "contradicted", True), ("silent", "unverified", None)],
)
def test_a_detection_tells_the_three_apart(
    detect: Callable[..., Detection], language: Language, belief: Belief, label: Label, hallucination: bool | None
) -> None:
    detection = detect(language, belief)
    first, second = detection.sentences
    assert (first.label, second.label, detection.hallucination) == ("supported", label, hallucination)
    assert first.reason_code is None
    assert second.reason_code == ("not_in_reference" if belief == "silent" else None)
    assert (detection.score > 0.9) is (belief != "said") and (NAMED[language] in plain(detection)) is (
        belief == "silent"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_in_the_json(detect: Callable[..., Detection], language: Language) -> None:
    detection = detect(language, "silent")
    made = detection.model_dump(mode="json")
    assert made["schema_version"] == 2
    assert [entry["reason_code"] for entry in made["sentences"]] == [None, "not_in_reference"]
    assert made["sentences"][1]["confidence"] == detection.score > 0.9
    assert Detection.model_validate_json(detection.model_dump_json()) == detection
