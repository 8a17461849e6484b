"""First turns of branches in which several tools are offered (`choices.jsonl`): which of them is called for a sentence, with
what, and why."""

import random
from collections.abc import Iterator
from typing import Any

from haluagent.arithmetic.conversions import find_conversions
from haluagent.arithmetic.equations import find_equations
from haluagent.bench.answers import LabelledAnswer
from haluagent.corpora import packaged
from haluagent.detection.limits import Budget, Limits, Meter
from haluagent.detection.state import DetectionState
from haluagent.detection.task import make_task
from haluagent.detection.verdict import offer
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.prompts import render
from haluagent.protocols import Services
from haluagent.text.segment import split
from haluagent.tooling.registry import Registry
from haluagent.tooling.tool import Tool
from haluagent.tooling.turn_format import ACTION, THOUGHT, write_call
from haluagent.tools import default_registry
from haluagent.train.trajectories.judgements import held_out
from haluagent.train.trajectories.records import ModelCall, RecordedMessage, Trajectory
from haluagent.types import Sentence, ToolCall

LEFT_OUT = 0.2  # the share of the other tools that are not offered
SHUFFLED = 0.3  # the share of turns in which the tools stand in no order


class _Reader:
    """What a task needs of a model that was fine-tuned on all tools."""

    name = "reader"
    context = 8192

    def __init__(self, registry: Registry) -> None:
        self.fine_tuned_tools = frozenset(item.name for item in registry)
        self._tokens = ApproximateTokenizer()

    def count_tokens(self, text: str) -> int:
        return self._tokens.count(text)


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
    task = make_task(item.question, item.response, item.reference, item.language, registry, reader)
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
        reply = f"{THOUGHT[item.language]}{one['thought']}\n{ACTION[item.language]}{write_call(call)}"
        yield Trajectory(
            id=f"{row['id']}:{place}", group=row["id"], source="choices", kind="knowledge", language=item.language,
            question=item.question, response=item.response, reference=item.reference,
            gold=None, teacher="gold", verdict=None,
            calls=(ModelCall(
                prompt="agent", sentence=cut[0].index, reply=reply,
                messages=tuple(RecordedMessage(**message) for message in messages),
            ),),
        )  # fmt: skip


def _leads_somewhere(tool: Tool, one: dict[str, Any], state: DetectionState, sentence: Sentence, meter: Meter) -> bool:
    """Return whether a call leads to something, where the tool computes."""
    context, tools = state.context(meter, sentence.index), state.registry
    if tool.name == "calculator":
        known = "formula" in one or tools.obvious(tool, context, sentence) is not None
        return known or _shown(sentence.text)
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
    elif tool == "calculator" and "formula" in one and not _shown(sentence.text):
        arguments["formula"] = one["formula"]
    elif tool == "get_answer":
        arguments["label"] = "no_claim"
    return arguments
