"""Check one sentence of a finished report again."""

from haluagent.detection.pipeline import Run
from haluagent.detection.reflection import look_globally
from haluagent.detection.verdict import combine
from haluagent.errors import ConfigError
from haluagent.events import Answered
from haluagent.types import Detection


async def recheck(run: Run, detection: Detection, index: int) -> Detection:
    """Verify sentence `index` again with the tools of `run` and put the new entry into a copy of the report.

    The other entries stay, but for what rests on this one; the facts that tools found about the sentence before are kept.
    Where the endpoint fails the old entry stays too, and the report has the error. Raises ConfigError where there is no such
    sentence.
    """
    old = next((entry for entry in detection.sentences if entry.sentence.index == index), None)
    if old is None:
        names = ", ".join(str(entry.sentence.index) for entry in detection.sentences)
        raise ConfigError(f"there is no sentence {index} in this report; it has {names}")
    await run.state.segment(tuple(entry.sentence for entry in detection.sentences if entry.sentence.index > 0))
    for entry in detection.sentences:
        if entry.sentence.index != index:
            run.state.memory.record(entry)
    run.state.before = detection.steps
    await run.one(old.sentence)
    if run.error is not None:  # nothing new was learned: what was known stays
        run.state.record(old)
    look_globally(run.state)
    entries = tuple(run.state.memory[entry.sentence.index] for entry in detection.sentences)
    hallucination, score = combine(entries)
    new = detection.model_copy(
        update={
            "sentences": entries,
            "hallucination": hallucination,
            "score": score,
            "steps": (*detection.steps, *run.state.steps),
            "usage": detection.usage + run.usage,
            "error": run.error,
        }
    )
    run.state.emit(Answered(detection=new))
    return new
