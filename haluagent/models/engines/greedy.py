"""`python -m haluagent.models.engines.greedy WEIGHTS`: what the embedded engine writes to a few prompts, how it chooses, and how fast
it reads."""

import asyncio
import sys

from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.models.engines.own_build import GreedyAnswers

# Their answers are certain, so that rounding hardly ever changes a word.
_QUESTIONS = (
    "Repeat the sentence above about the ferry, once.",
    "What is the capital of Italy?",
    "Write the numbers from one to ten as words.",
    "把上面关于渡轮的句子重复一遍。",
    "法国的首都是哪里？",
    "日本的首都是哪里？",
)
_CHOICE = {
    "en": "Does the ferry run in June? A: yes. B: no. C: that is not said.",
    "zh": "渡轮六月开吗？A：开。B：不开。C：没有说。",
}
_FILLER = {"en": "The ferry runs every day from May to September. ", "zh": "渡轮从五月到九月每天开行。"}


async def measure(model: EmbeddedModel) -> GreedyAnswers:
    """Return what a model answers to the prompts of the check, after texts of some 500 tokens each."""
    model.start()
    texts, shares, seconds, tokens = [], [], 0.0, 0
    for number, question in enumerate(_QUESTIONS):
        language = "en" if question.isascii() else "zh"
        text = f"{number}. {_FILLER[language] * 45}\n\n"
        prompt = f"{text}{question}"
        found = await model.generate([{"role": "user", "content": prompt}], max_tokens=1)
        seconds += found.usage.seconds
        tokens += found.usage.prompt_tokens - found.usage.cached_tokens
        texts.append((await model.generate([{"role": "user", "content": prompt}], max_tokens=24)).text)
        choice = await model.choose([{"role": "user", "content": text + _CHOICE[language]}], "ABC")
        shares += [choice.probabilities[option] for option in "ABC"]
    await model.aclose()
    return GreedyAnswers(texts=tuple(texts), shares=tuple(shares), speed=tokens / seconds)


if __name__ == "__main__":
    print(asyncio.run(measure(EmbeddedModel(sys.argv[1], adapter=None))).model_dump_json())
