"""What the prompts of one response share stands first in them, and they are asked in the order of its sentences: an engine's prefix
cache then evaluates it once."""

import re
from os.path import commonprefix
from typing import Any

from haluagent import HaluAgent

RESPONSE = (
    "The mill was built by the guild. Its market holds people on a busy day. The tower is the oldest of them all."
)
REFERENCE = "The mill, the market and the tower of the town were built by one guild."


def test_what_all_prompts_share_comes_first_and_sentences_come_in_order(scripted: Any) -> None:
    def say(messages: Any) -> str:
        return f'THOUGHT: a fact\nACTION: match(sentence={scripted.checked(messages)}, context="reference")'

    model = scripted(say, lambda messages: 0.98)
    agent = HaluAgent(model, sandbox="none", search="none", concurrency=1, ablate=["completion"])

    with agent:
        agent.detect("What is in the town?", RESPONSE, REFERENCE)

    prompts = ["\n".join(message["content"] for message in messages) for messages in model.seen]
    turns = [prompt for prompt in prompts if "Check S" in prompt]
    judgements = [prompt for prompt in prompts if "<claim>" in prompt]
    assert [re.findall(r"Check (S\d)", turn)[-1] for turn in turns] == ["S1", "S2", "S3"]
    assert RESPONSE[-20:] in commonprefix(turns) and commonprefix(turns).endswith("Check S")
    assert len(judgements) >= 3
    assert REFERENCE in commonprefix(judgements) and commonprefix(judgements).rstrip().endswith("<claim>")
