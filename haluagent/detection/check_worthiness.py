"""Check-worthiness: does a sentence claim anything? A model tends to end a check early, so its word for it is tested."""

from haluagent.detection.limits import Meter
from haluagent.detection.task import DetectionTask
from haluagent.judging.judge import in_both_orders
from haluagent.judging.probabilities import log_odds
from haluagent.models.calibration import calibration_of
from haluagent.prompts import conversation
from haluagent.text.windows import clip
from haluagent.types import Sentence

CLAIM_TOKENS = 300
# Added to the bound beside a reference: what comes here was mostly read there and is not clearly decided, so it is more often no claim.
NOT_DECIDED = 0.75


async def is_claim(task: DetectionTask, sentence: Sentence, model: Meter) -> bool:
    """Return True where the model takes the sentence for information that can be right or wrong, rather than for a
    greeting, an announcement or a feeling. It is asked twice, with the options in both orders, and without the question, whose
    topic would weigh more than the sentence (docs/calibration.md)."""
    claim = clip(sentence.claim, CLAIM_TOKENS, task.count)[0]
    one, other, _ = await in_both_orders(
        model, lambda turned: conversation("claim", task.language, claim=claim, turned=turned)
    )
    bound = calibration_of(model).claims[task.language] + (NOT_DECIDED if task.reference is not None else 0.0)
    return (log_odds(one) + log_odds(other)) / 2 > bound
