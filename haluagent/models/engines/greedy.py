"""`python -m haluagent.models.engines.greedy WEIGHTS`: what the embedded engine writes to a few prompts, and how fast it reads."""

import asyncio
import sys

from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.models.engines.own_build import GreedyAnswers

_QUESTIONS = (
    "Name three rivers of Europe.",
    "A ticket costs 14 euros. What do five cost?",
    "Write a sentence about the sea.",
    "法国的首都是哪里？",
    "一张票十四元，五张票多少钱？",
    "用一句话介绍长城。",
)
_FILLER = {"en": "The ferry runs every day from May to September. ", "zh": "渡轮从五月到九月每天开行。"}


async def measure(model: EmbeddedModel) -> GreedyAnswers:
    """Return the greedy answers of a model to the prompts of the check, after texts of some 500 tokens each."""
    model.start()
    texts, seconds, tokens = [], 0.0, 0
    for number, question in enumerate(_QUESTIONS):
        filler = _FILLER["en" if question.isascii() else "zh"]
        prompt = f"{number}. {filler * 45}\n\n{question}"
        found = await model.generate([{"role": "user", "content": prompt}], max_tokens=1)
        seconds += found.usage.seconds
        tokens += found.usage.prompt_tokens - found.usage.cached_tokens
        texts.append((await model.generate([{"role": "user", "content": prompt}], max_tokens=24)).text)
    await model.aclose()
    return GreedyAnswers(texts=tuple(texts), speed=tokens / seconds)


if __name__ == "__main__":
    print(asyncio.run(measure(EmbeddedModel(sys.argv[1], adapter=None))).model_dump_json())
