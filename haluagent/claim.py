"""Whether a sentence claims anything. A model that may end a check would rather do so: its word for it is put to the
test."""

from .calibration import calibration_of
from .limits import Meter
from .prompts import conversation
from .task import Task
from .tokens import clip
from .tools._calibration import log_odds
from .tools._judge import in_both_orders
from .types import Sentence

CLAIM_TOKENS = 300


async def is_claim(task: Task, sentence: Sentence, model: Meter) -> bool:
    """Whether the model, asked with the options in both orders, holds the sentence for information that can be right or
    wrong, rather than for a greeting, an announcement or a feeling."""
    question = clip(task.question, CLAIM_TOKENS, task.count)[0]
    claim = clip(sentence.claim, CLAIM_TOKENS, task.count)[0]
    one, other, _ = await in_both_orders(
        model, lambda turned: conversation("claim", task.language, question=question, claim=claim, turned=turned)
    )
    return (log_odds(one) + log_odds(other)) / 2 > calibration_of(model).claims[task.language]
