"""A check whose verdict does not hang on the last digits of a score."""

from collections.abc import Sequence
from typing import Any

from haluagent.agent import HaluAgent
from haluagent.checks.faithfulness.check import acheck
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.types import Usage

MARGIN = 0.1  # of the score: how far it may move without being worse
RETESTS = 2


async def acheck_steadily(
    agent: HaluAgent,
    question: str | None,
    answer: str,
    documents: str | Sequence[str],
    *,
    margin: float = 0.0,
    threshold: float = 0.5,
    **options: Any,
) -> Faithfulness:
    """Check an answer as `acheck` does. If its score is within `margin` of the threshold, check it `RETESTS` times more, and
    return the report with the median score and the usage of all: a server that computes several requests together gives
    slightly different scores each time."""
    found = [await acheck(agent, question, answer, documents, threshold=threshold, **options)]
    if margin and found[0].verdict and abs(found[0].score - threshold) <= margin:
        found += [
            await acheck(agent, question, answer, documents, threshold=threshold, **options) for _ in range(RETESTS)
        ]
    if len(found) == 1:
        return found[0]
    decided = sorted((one for one in found if one.verdict), key=lambda one: one.score)
    usage, seconds = sum((one.usage for one in found), Usage()), sum(one.seconds for one in found)
    return decided[len(decided) // 2].model_copy(update={"usage": usage, "seconds": seconds})
