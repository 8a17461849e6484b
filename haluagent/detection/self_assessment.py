"""Self-assessment: the model's own belief about a sentence. It is never a check, only an opinion where none was possible."""

from haluagent.detection.task import DetectionTask
from haluagent.prompts import conversation
from haluagent.protocols import Model
from haluagent.text.windows import clip
from haluagent.types import Sentence


async def self_assessment(task: DetectionTask, sentence: Sentence, model: Model) -> float | None:
    """Return the probability in [0, 1] that the model gives to the sentence being true, from one scored choice; None where
    the server gives no probabilities, since a single written word does not tell how sure it is."""
    choices = {"en": ["Yes", "No"], "zh": ["是", "否"]}[task.language]
    messages = conversation(
        "opinion",
        task.language,
        question=clip(task.question, task.room // 2, task.count)[0],
        claim=clip(sentence.claim, task.room // 2, task.count)[0],
    )
    choice = await model.choose(messages, choices)
    return choice.probabilities[choices[0]] if choice.calibrated else None
