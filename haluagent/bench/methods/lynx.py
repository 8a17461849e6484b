"""A judge in the style of Lynx (Ravi et al., 2024, arXiv 2407.08488): reasoning first, then PASS or FAIL, as JSON.

The wording of the prompt is our own, and it runs on the given model: Lynx's own weights are not used.
"""

from haluagent.checks.faithfulness import parse
from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.windows import clip
from haluagent.types import Language, Usage

ANSWER_TOKENS = 400
PROMPT_TOKENS = 400  # an upper bound for the template in any tokenizer


async def judge(
    model: Model, question: str, response: str, reference: str | None, language: Language
) -> tuple[bool | None, float, Usage, str | None]:
    """Return the verdict (True for a hallucination, None if the answer says neither PASS nor FAIL), its score (1 for
    FAIL, 0 for PASS, else 0.5), the usage, and the error if there is no verdict. Texts that exceed the model's context
    are clipped. Raises ModelError if the endpoint failed."""
    if not reference:
        return None, 0.5, Usage(), "this judge needs a reference, and the item has none"
    room = max(model.context - ANSWER_TOKENS - PROMPT_TOKENS, 256)
    messages = conversation(
        "lynx",
        language,
        question=clip(question, room // 6, model.count_tokens)[0],
        reference=clip(reference, room // 2, model.count_tokens)[0],
        response=clip(response, room // 3, model.count_tokens)[0],
    )
    generation = await model.generate(messages, max_tokens=ANSWER_TOKENS)
    wrong = read(generation.text)
    if wrong is None:
        return None, 0.5, generation.usage, "neither PASS nor FAIL in: " + " ".join(generation.text.split())[:200]
    return wrong, float(wrong), generation.usage, None


def read(text: str) -> bool | None:
    """Return True if the answer's score is FAIL, False if it is PASS, None if it is neither."""
    score = parse.read(text).score
    return None if score is None else score == "FAIL"
