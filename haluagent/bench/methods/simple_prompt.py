"""The plain prompt that a detector must beat: does the response contain a hallucination, yes or no?

It follows the baseline of the HaluAgent paper (Cheng et al., 2024, arXiv 2406.11277, Figure 6), in our own words.
"""

from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.windows import clip
from haluagent.types import Language, Usage

PROMPT_TOKENS = 300  # an upper bound for the template and the answer in any tokenizer
CHOICES: dict[Language, list[str]] = {"en": ["Yes", "No"], "zh": ["是", "否"]}


async def judge(
    model: Model, question: str, response: str, reference: str | None, language: Language
) -> tuple[bool | None, float, Usage, str | None]:
    """Return the verdict (True for a hallucination), its score (the probability of a yes), the usage, and the error if
    there is no verdict. It takes one scored choice; texts that exceed the model's context are clipped. Raises
    ModelError if the endpoint failed."""
    room = max(model.context - PROMPT_TOKENS, 256)
    messages = conversation(
        "simple",
        language,
        question=clip(question, room // 6, model.count_tokens)[0],
        reference=clip(reference or "", room // 2, model.count_tokens)[0],
        response=clip(response, room // 3, model.count_tokens)[0],
    )
    yes, no = CHOICES[language]
    choice = await model.choose(messages, [yes, no])
    if not choice.calibrated and choice.probabilities[yes] == choice.probabilities[no]:
        return None, 0.5, choice.usage, "the model wrote neither yes nor no"
    return choice.probabilities[yes] > choice.probabilities[no], choice.probabilities[yes], choice.usage, None
