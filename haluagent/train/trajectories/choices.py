"""Turns of branches in which several tools are offered (`choices.jsonl`): which of them is called first for a sentence, with
what, and why; and, where it has computed something that is to be compared with a text, the call that compares it."""

import asyncio
import random
from collections.abc import Iterator
from typing import Any

from haluagent.arithmetic.conversions import find_conversions
from haluagent.arithmetic.equations import find_equations
from haluagent.bench.answers import LabelledAnswer
from haluagent.corpora import packaged
from haluagent.detection.branch import exchange
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.detection.state import DetectionState
from haluagent.detection.task import make_task
from haluagent.detection.verdict import act, offer, offer_later
from haluagent.errors import ModelError
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.prompts import render
from haluagent.protocols import Generation, Message, Services
from haluagent.text.segment import split
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import Tool
from haluagent.tooling.turn_format import ModelTurn, write
from haluagent.tools import default_registry
from haluagent.train.trajectories.judgements import held_out
from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory
from haluagent.types import Language, Sentence, ToolCall

LEFT_OUT = 0.2  # the share of the other tools that are not offered
SHUFFLED = 0.3  # the share of turns in which the tools stand in no order
CHAINED = 0.6  # the share of computations after which the comparison is taught
_THEN: dict[Language, tuple[str, ...]] = {
    "en": (
        "now the statement beside the text and what was worked out",
        "what was computed still has to be compared with the text",
        "with that the text can decide",
    ),
    "zh": ("再结合算出的结果和原文比较", "算出的结果还要和文本对照", "有了这个结果，再看文本怎么说"),
}


class _Reader:
    """What a task needs of a model that was fine-tuned on all tools."""

    name = "reader"
    context = 8192

    def __init__(self, registry: Registry) -> None:
        self.fine_tuned_tools = frozenset(item.name for item in registry)
        self._tokens = ApproximateTokenizer()

    def count_tokens(self, text: str) -> int:
        return self._tokens.count(text)

    async def generate(self, messages: list[Message], **_: Any) -> Generation:
        raise ModelError("it writes nothing")


def make(seed: int, *, held: bool = False) -> list[Trajectory]:
    """Return the turns, the same for the same seed. With `held`, those about the texts that are kept from teaching."""
    chance = random.Random(seed)
    registry = default_registry()
    rows = packaged.rows("haluagent.train.trajectories", "choices.jsonl")
    own = [row for row in rows if held_out(row.get("document") or row["question"]) is held]
    return [made for row in own for made in _turns(row, registry, chance)]


def _turns(row: dict[str, Any], registry: Registry, chance: random.Random) -> Iterator[Trajectory]:
    """Yield a turn for each sentence that is cut as it is labelled and has a tool that is offered."""
    labelled = [{"text": one["text"], "tools": one["tools"]} for one in row["sentences"]]
    answer = LabelledAnswer.model_validate({**row, "sentences": labelled})
    item = answer.item()
    reader: Any = _Reader(registry)
    task = make_task(item.question, item.response, item.reference, item.language, registry, reader, free=True)
    searched = Services(search=object())  # type: ignore[arg-type]  # only that there is one counts
    state = DetectionState(task, registry, Limits(), lambda event: None, services=searched, autonomy="free")
    state.task = task.segmented(tuple(split(item.response)))
    meter = Meter(reader, Budget(Limits()))
    for place, (one, (start, end)) in enumerate(zip(row["sentences"], answer.spans(), strict=True)):
        cut = [sentence for sentence in state.task.sentences if sentence.span[0] < end and sentence.span[1] > start]
        if len(cut) != 1 or cut[0].text.strip() != one["text"].strip():
            continue
        offered = [tool.name for tool in offer(state, cut[0], meter)]
        wanted = next((name for name in one["tools"] or ["get_answer"] if name in offered), None)
        if wanted is None or not _leads_somewhere(registry[wanted], one, state, cut[0], meter):
            continue
        shown = [name for name in offered if name in (wanted, *one["tools"]) or chance.random() >= LEFT_OUT]
        if chance.random() < SHUFFLED:
            chance.shuffle(shown)
        messages = state.task.messages(cut[0])
        messages[-1]["content"] += "\n" + render("offered", item.language, tools=shown)
        call = ToolCall(name=wanted, arguments=_arguments(wanted, one, cut[0], item.reference is not None))
        first = ModelTurn(thought=one["thought"], call=call)
        calls = [_recorded(messages, first, cut[0], item.language)]
        if wanted in ("calculator", "date") and chance.random() < CHAINED:
            calls += _compared(state, cut[0], meter, first, one.get("formula"), messages, shown, chance)
        yield Trajectory(
            id=f"{row['id']}:{place}", group=row["id"], source="choices", kind="knowledge", language=item.language,
            question=item.question, response=item.response, reference=item.reference,
            gold=None, teacher="gold", verdict=None, calls=tuple(calls),
        )  # fmt: skip


def _recorded(messages: list[Message], turn: ModelTurn, sentence: Sentence, language: Language) -> ModelCall:
    said = tuple(RecordedMessage(**message) for message in messages)
    return ModelCall(prompt="agent", sentence=sentence.index, messages=said, reply=write(turn, language))


def _compared(
    state: DetectionState,
    sentence: Sentence,
    meter: Meter,
    first: ModelTurn,
    formula: str | None,
    messages: list[Message],
    shown: list[str],
    chance: random.Random,
) -> Iterator[ModelCall]:
    """Yield the turn after one that has computed something and decided nothing, if a text can decide with it. The `formula` is what
    the calculator has written where the turn leaves it to the tool."""
    given = {"formula": formula} if formula and first.call.name == "calculator" else {}
    computing = ToolCall(name=first.call.name, arguments=first.call.arguments | given)
    try:
        step = asyncio.run(act(state, sentence.index, first.model_copy(update={"call": computing}), meter, meter.usage))
    except ModelError:  # the tool needs a model
        return
    if not step.result or step.result.label:
        return
    language = state.task.language
    readers = [tool.name for tool in offer_later(state, sentence, meter) if not tool.external]
    left = [name for name in shown if name != first.call.name]
    offered = [*(name for name in readers if name not in left), *left]
    if "match" not in readers or len(offered) == 1:
        return
    before = "response" if sentence.index > 1 else "question"
    context = before if state.task.reference is None else "reference"
    call = ToolCall(name="match", arguments={"sentence": sentence.name, "context": context})
    messages = [*messages, *exchange(write(first, language), step.result.observation, language)]
    messages[-1]["content"] += "\n" + render("offered", language, tools=offered)
    yield _recorded(messages, ModelTurn(thought=chance.choice(_THEN[language]), call=call), sentence, language)


def _leads_somewhere(tool: Tool, one: dict[str, Any], state: DetectionState, sentence: Sentence, meter: Meter) -> bool:
    """Return whether a call leads to something, where the tool computes."""
    context, tools = state.context(meter, sentence.index), state.registry
    if tool.name == "calculator":
        written = "formula" in one and context.reference is None
        return written or _shown(sentence.text) or tools.obvious(tool, context, sentence) is not None
    return tool.name != "date" or tools.fits(tool, context, sentence) or tools.adds(tool, context, sentence)


def _shown(text: str) -> bool:
    """Return whether a sentence shows a calculation that the calculator reads by itself."""
    return bool(find_equations(text) or find_conversions(text))


def _arguments(tool: str, one: dict[str, Any], sentence: Sentence, reference: bool) -> dict[str, Any]:
    """Return the arguments of a call: the sentence, and what else the tool asks for."""
    arguments: dict[str, Any] = {"sentence": sentence.name}
    if tool == "web_search":
        arguments["query"] = one.get("query") or sentence.text[:60]
    elif tool == "match":
        arguments["context"] = "reference" if reference else "question"
    elif tool == "calculator" and "formula" in one and not reference and not _shown(sentence.text):
        arguments["formula"] = one["formula"]  # the turn does not show a reference: there the tool has it written
    elif tool == "get_answer":
        arguments["label"] = "no_claim"
    return arguments
