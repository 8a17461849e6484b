"""Agreement of samples: what a model knows it says again, and what it made up it says otherwise the next time.

Manakul, Liusie and Gales, "SelfCheckGPT: Zero-Resource Black-Box Hallucination Detection for Generative Large Language
Models", EMNLP 2023; its variant by prompt, in which a sentence that a sample does not mention counts one half.
"""

import asyncio

from haluagent.judging.judge import WINDOW_TOKENS, ask
from haluagent.prompts import conversation
from haluagent.protocols import ToolContext
from haluagent.text.windows import clip
from haluagent.types import Sentence

SAMPLE_TOKENS = 256
TEMPERATURE = 1.0


class Samples:
    """Further answers of the model to the question, drawn where a sentence first needs them; `number` of them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._texts: tuple[str, ...] | None = None
        self._lock = asyncio.Lock()

    async def agreement(self, context: ToolContext, sentence: Sentence) -> float | None:
        """Return the mean share in [0, 1] to which the samples say the sentence; one that does not mention it counts one half.
        None where there are no samples, since none are wanted or there is no question, or where the model gave no
        probabilities."""
        texts = await self._draw(context)
        judged = [await ask(context, sentence, text, "statement") for text in texts]
        if not judged or not all(one.calibrated for one in judged):
            return None
        return sum(one.supported + (1 - one.supported) * (1 - one.against) / 2 for one in judged) / len(judged)

    async def _draw(self, context: ToolContext) -> tuple[str, ...]:
        if not self.number or not context.question:
            return ()
        async with self._lock:
            if self._texts is None:
                question = clip(context.question, WINDOW_TOKENS, context.model.count_tokens)[0]
                generation = await context.model.generate(
                    conversation("sample", context.language, question=question),
                    max_tokens=SAMPLE_TOKENS,
                    temperature=TEMPERATURE,
                    samples=self.number,
                )
                self._texts = tuple(text.strip() for text in generation.texts if text.strip())
            return self._texts
