"""Completed sentences bring in nothing, and lose no number, name or denial."""

from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.detection.decontextualisation import adds_nothing, needs_completion
from haluagent.text.segment import split


@pytest.mark.parametrize(
    ("text", "language", "needed"),
    [
        ("It rises in Poland.", "en", True),
        ("Later, they moved to Poland.", "en", True),
        ("- **Length**: it flows for 1047 km.", "en", True),
        ("Warsaw", "en", True),
        ("The Vistula carries ships that reach Krakow, and it freezes in winter.", "en", False),
        ("There were no bridges across the Vistula in Krakow until 1850.", "en", False),
        ("The Vistula rises in Poland and flows north.", "en", False),
        ("It is 2 + 2 = 4.", "en", False),
        ("def f(x): return it", "en", False),
        ("它发源于波兰。", "zh", True),
        ("后来，他搬到了波兰的首都。", "zh", True),
        ("在1998年他搬到了华沙。", "zh", True),
        ("二战期间，他住在波兰的首都。", "zh", True),
        ("该河全长一千多公里。", "zh", True),
        ("华沙", "zh", True),
        ("你应该先去华沙，再去看那里的维斯瓦河。", "zh", False),
        ("维斯瓦河发源于波兰南部，向北流入波罗的海。", "zh", False),
    ],
)
def test_only_pronouns_and_fragments_need_it(text: str, language: str, needed: bool) -> None:
    (sentence,) = split(text)
    assert needs_completion(sentence, language) is needed


@pytest.mark.parametrize(
    ("written", "original", "known", "kept"),
    [
        ("The Vistula rises in Poland.", "It rises in Poland.", "Where does the Vistula rise?", True),
        ("维斯瓦河发源于波兰。", "它发源于波兰。", "维斯瓦河发源于哪里？", True),
        ("The capital of Poland is Warsaw.", "Warsaw", "What is the capital of Poland?", True),
        ("The Vistula rises in the Beskids of Poland.", "It rises in Poland.", "Where does the Vistula rise?", False),
        ("The Vistula does not rise in Poland.", "It rises in Poland.", "Where does the Vistula not rise?", False),
        ("The Vistula rises in Poland.", "It does not rise in Poland.", "Where does the Vistula rises?", False),
        ("维斯瓦河发源于波兰。", "它不发源于波兰。", "维斯瓦河发源于哪里？", False),
        ("The Vistula is long.", "It is 1047 km long.", "How long is the Vistula?", False),
        ("", "It rises in Poland.", "Where?", False),
    ],
)
def test_a_completion_adds_and_loses_nothing(written: str, original: str, known: str, kept: bool) -> None:
    assert adds_nothing(written, original, f"{known} {original}") is kept


@pytest.mark.parametrize(
    ("free", "completed"), [("The Vistula rises in Poland.", True), ("The Oder rises there.", False)]
)
def test_it_is_kept_beside_the_text(scripted: Any, free: str, completed: bool) -> None:
    model = scripted(
        lambda messages: f'ACTION: match(sentence={scripted.checked(messages)}, context="reference")', free=free
    )
    with HaluAgent(model) as agent:
        detection = agent.detect(
            "Where does the Vistula rise?",
            "Good question. It rises in Poland.",
            reference="The Vistula rises in Poland.",
        )
    second = detection.sentences[1].sentence
    assert second.text == "It rises in Poland."
    assert second.standalone == (free if completed else None)
