"""What a detection costs, counted: branches share their prefix, so cost grows linearly with the sentences."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from haluagent import HaluAgent
from haluagent.protocols import Message
from haluagent.types import Detection, Usage


def numbered(sentences: int) -> str:
    return " ".join(f"Shelf {n} holds {n} * 12 = {n * 12} books." for n in range(1, sentences + 1))


def cached(scripted: Any) -> Any:
    """A scripted model with a prefix cache: characters shared with an earlier conversation are not evaluated."""

    class Cached(scripted):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.known: list[str] = []

        def _usage(self, messages: Sequence[Message], text: str) -> Usage:
            prompt = "\0".join(f"{message['role']}:{message['content']}" for message in messages)
            shared = max((len(_common(prompt, other)) for other in self.known), default=0)
            self.known.append(prompt)
            return Usage(calls=1, prompt_tokens=len(prompt), cached_tokens=shared, generated_tokens=len(text))

    return Cached(scripted.calculate)


def _common(one: str, other: str) -> str:
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return one[:position]
    return min(one, other, key=len)


def detect(scripted: Any, sentences: int, **options: Any) -> tuple[Detection, list[Usage]]:
    with HaluAgent(cached(scripted), **options) as agent:
        detection = agent.detect("How many books does each shelf hold at 12 books a board?", numbered(sentences))
    return detection, [step.usage for step in detection.steps if step.sentence]


def test_from_the_second_sentence_on_most_of_the_prompt_is_cached(scripted: Any) -> None:
    _, usages = detect(scripted, 6)
    later = usages[1:]
    assert len(later) >= 5
    assert sum(u.cached_tokens for u in later) >= 0.8 * sum(u.prompt_tokens for u in later)


def test_evaluated_tokens_grow_linearly(scripted: Any) -> None:
    few, many = (sum((u for u in detect(scripted, n)[1]), Usage()) for n in (4, 32))
    assert many.evaluated_tokens <= 8.8 * few.evaluated_tokens


@pytest.mark.parametrize("sentences", [8])
def test_every_sentence_is_asked_once(scripted: Any, sentences: int) -> None:
    detection, _ = detect(scripted, sentences, reflect=False)
    calls = Counter(step.call.name for step in detection.steps if step.call and step.sentence)
    assert calls == {"calculator": sentences, "match": sentences}, "the sum, and what is said of it"
    assert [part.label for entry in detection.sentences for part in entry.parts] == ["supported"] * sentences


@pytest.mark.engine
def test_what_sentences_share_stays_in_its_slot_while_others_work(engine_model: Any) -> None:
    """A slot that were emptied then would be found again by chance: samples of a prompt are put into any that are free."""
    import asyncio

    import httpx

    async def run() -> None:
        for word in ("mountain", "river"):  # long enough that the common beginning of all conversations does not count
            await engine_model.generate([{"role": "system", "content": f"{word} " * 200}], max_tokens=2)

    asyncio.run(run())
    url = engine_model.base_url.removesuffix("/v1") + "/slots"
    slots = httpx.get(url, headers={"Authorization": f"Bearer {engine_model.api_key}"}).json()
    assert sum(bool(slot.get("n_prompt_tokens")) for slot in slots) >= 2
