"""Tell a question of fact from a writing assignment, which is checked as a whole, by its conditions.

In the paper the agent decides whether to split a response or to check it as a whole; this is that decision.
"""

from haluagent.detection.limits import Meter
from haluagent.detection.state import DetectionState
from haluagent.prompts import conversation
from haluagent.text.lengths import length_requirement
from haluagent.text.windows import clip


async def is_writing(state: DetectionState, model: Meter) -> bool:
    """Return True where the question sets a length and the model takes it for a writing assignment."""
    task = state.task
    if length_requirement(task.question) is None:
        return False
    messages = conversation("writing", task.language, question=clip(task.question, task.room, task.count)[0])
    choice = await model.choose(messages, ["A", "B"])
    return choice.probabilities["B"] > 0.5
