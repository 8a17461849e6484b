"""A judge in the form of Lynx (Ravi et al., 2024, arXiv 2407.08488): reasons first, then PASS or FAIL, as JSON.

The words of the prompt are our own, and the model is the one at hand: Lynx's own weights are not used.
"""

from haluagent.checks.faithfulness import parse
from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.windows import clip
from haluagent.types import Language, Usage

ANSWER_TOKENS = 400
PROMPT_TOKENS = 400  # more than the template takes in any tokenizer


async def judge(
    model: Model, question: str, response: str, reference: str | None, language: Language
) -> tuple[bool | None, float, Usage, str | None]:
    """The verdict (True for a hallucination, None where the answer says neither PASS nor FAIL), its score (1 for FAIL, 0
    for PASS, else 0.5), what it cost, and the error where there is no verdict. What is longer than the model's context is
    clipped. Raises ModelError where the endpoint failed."""
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
    """True where the answer's score is FAIL, False where it is PASS, None where it is neither."""
    score = parse.read(text).score
    return None if score is None else score == "FAIL"
