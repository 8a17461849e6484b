"""The paper's single growing transcript: one conversation in which the model splits, checks, reflects and answers.

Its cost grows with the square of the number of sentences; it is kept for models that were trained on it.
"""

from . import wire
from .branch import Detective, entry_of
from .errors import FormatError
from .limits import Meter
from .prompts import fence, render
from .protocols import Message
from .types import MemoryEntry, Sentence, Step, Stop

TURN_TOKENS = 200


async def transcript(detective: Detective, model: Meter) -> Stop:
    """Let the model lead until `get_answer` or a limit; sentences it left out are `unverified`.

    The step limit counts per sentence, as in branches, with one turn more for the split and one for the answer.
    """
    task, limits = detective.task, detective.limits
    tools = list(detective.registry)
    pointers = ["S0", *(sentence.name for sentence in task.sentences)]
    grammar = wire.grammar(tools, pointers, task.language)
    messages: list[Message] = task.opening()
    format_errors = 0
    stop: Stop = "step_limit"
    for _ in range(limits.steps * len(task.sentences) + 2):
        before = model.usage
        generation = await model.generate(
            messages,
            stop=["\n" + mark.strip() for mark in wire.OBSERVATION.values()],
            grammar=grammar,
            max_tokens=TURN_TOKENS,
        )
        try:
            turn = wire.parse(generation.text)
        except FormatError as error:
            format_errors += 1
            detective.keep(
                Step(sentence=None, thought=generation.text, call=None, result=None, error=str(error), usage=generation.usage)
            )
            if format_errors > limits.format_errors:
                stop = "format_errors"
                break
            _reply(messages, generation.text, str(error), task.language)
            continue
        sentence = _pointed(detective, turn)
        step = await detective.act(sentence.index if sentence else None, turn, model, before)
        if step.result and sentence and step.result.label:
            detective.record(entry_of(sentence, turn.call, step.result))
        if turn.call.name == "get_answer" and sentence is None and step.result:
            stop = "answer"
            break
        _reply(messages, generation.text, step.result.observation if step.result else step.error or "", task.language)
    kind = "ended" if stop == "answer" else stop
    reason = render("reason", task.language, kind=kind, detail="")
    for sentence in task.sentences:
        if sentence.index not in detective.memory:
            detective.record(MemoryEntry(sentence=sentence, label="unverified", reason=reason))
    return stop


def _pointed(detective: Detective, turn: wire.Turn) -> Sentence | None:
    """The sentence a call points to, where it points to one that exists."""
    pointer = str(turn.call.arguments.get("sentence", ""))
    names = {sentence.name: sentence for sentence in detective.task.sentences}
    if pointer == "S0":
        return Sentence(index=0, text=detective.task.response, span=(0, len(detective.task.response)))
    return names.get(pointer)


def _reply(messages: list[Message], said: str, observation: str, language: str) -> None:
    messages += [
        {"role": "assistant", "content": said},
        {"role": "user", "content": wire.OBSERVATION[language] + fence(observation)},
    ]
