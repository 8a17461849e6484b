"""Whether a sentence claims anything. A model that may end a check would rather do so: its word for it is put to the
test."""

from .calibration import calibration_of
from .limits import Meter
from .prompts import conversation
from .task import Task
from .tokens import clip
from .tools._calibration import log_odds
from .types import Sentence

CLAIM_TOKENS = 300


async def is_claim(task: Task, sentence: Sentence, model: Meter) -> bool:
    """Whether the model, asked with the options in both orders, holds the sentence for information that can be right or
    wrong, rather than for a greeting, an announcement or a feeling."""
    odds = 0.0
    for turned in (False, True):
        messages = conversation(
            "claim",
            task.language,
            question=clip(task.question, CLAIM_TOKENS, task.count)[0],
            claim=clip(sentence.claim, CLAIM_TOKENS, task.count)[0],
            turned=turned,
        )
        choice = await model.choose(messages, ["A", "B"])
        odds += log_odds(choice.probabilities["B" if turned else "A"]) / 2
    return odds > calibration_of(model).claims[task.language]
