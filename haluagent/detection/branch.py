"""Verification of one sentence: a short ReAct branch of thought, action and observation that ends in a label."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence

from haluagent.detection.check_worthiness import is_claim
from haluagent.detection.limits import TURN_TOKENS, Meter
from haluagent.detection.reflection import tested_again
from haluagent.detection.state import DetectionState
from haluagent.detection.verdict import (
    WAYS_OUT,
    act,
    label,
    no_claim,
    offer,
    offer_later,
    open_text,
    states_something,
    undecided,
)
from haluagent.errors import FormatError
from haluagent.judging.found import as_it_stands
from haluagent.prompts import fence, fence_turn, render
from haluagent.protocols import Generation, Message, Multilingual
from haluagent.tooling import turn_format
from haluagent.tooling.tool import Tool
from haluagent.types import Language, MemoryEntry, Sentence, Step, Stop, ToolCall, ToolResult

READER = "match"  # the tool that reads a sentence beside the reference
SEARCHER = "web_search"  # the tool that looks a sentence up
CLEARLY = 0.8  # the confidence with which a reference decides what seems to claim nothing


async def verify(state: DetectionState, sentence: Sentence, model: Meter) -> MemoryEntry:
    """Check one sentence and record its label. Raises ModelError and BudgetExceeded; a tool never raises here."""
    if state.autonomy == "guided":
        await _compute(state, sentence, model)
    offered = await asyncio.to_thread(offer, state, sentence, model)
    if all(item.system for item in offered):
        reason = render("reason", state.task.language, kind="no_tool", detail="")
        return await undecided(state, sentence, reason, model)
    if sentence.text.endswith((":", "：")) and any(item.system for item in offered):
        return no_claim(state, sentence, "announces")
    return await _Branch(state, sentence, model, offered).run()


async def _compute(state: DetectionState, sentence: Sentence, model: Meter) -> None:
    """Have the tools that cannot decide a sentence compute the facts that they can add to it (`Tool.adds`), for the one that judges
    it."""
    context, tools = state.context(model, sentence.index), state.registry
    adding = await asyncio.to_thread(
        lambda: [one for one in tools if tools.adds(one, context, sentence) and not tools.fits(one, context, sentence)]
    )
    for item in adding:
        thought = render("reason", state.task.language, kind="adds", detail="")
        turn = turn_format.ModelTurn(
            thought=thought, call=ToolCall(name=item.name, arguments={"sentence": sentence.name})
        )
        await act(state, sentence.index, turn, model, model.usage)


class _Branch:
    """The conversation about one sentence, and what is offered in it."""

    def __init__(self, state: DetectionState, sentence: Sentence, model: Meter, offered: list[Tool]) -> None:
        self.state = state
        self.sentence = sentence
        self.model = model
        self.language = state.task.language
        self.offered = offered
        self.withdrawn: set[str] = set()
        self.seen: list[ToolCall] = []
        self.failed: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.turn_began = model.usage
        self.messages: list[Message] = state.task.messages(sentence, state.recalled(sentence))
        self.told = ""
        self.format_errors = 0
        self.steps_left = state.limits.steps
        self.last_observation = ""
        self.remark = ""
        self.doubted: MemoryEntry | None = None
        self.reading: Step | None = None  # beside the reference, before the model took a turn
        self.looked_up = False
        self.pending: tuple[turn_format.ModelTurn, Step] | None = None  # looked up, if the sentence claims anything
        self.chance = random.Random(sentence.claim)  # of a detection without the model's choice

    async def run(self) -> MemoryEntry:
        guided = self.state.autonomy == "guided" and "reading" not in self.state.ablate
        if guided and len(self.offered) > 1 and self.only_read() and (entry := await self.read_first()):
            return entry
        here = guided and isinstance(self.state.services.search, Multilingual)
        while self.steps_left and not self.exhausted():
            if here and not self.looked_up and self.only(SEARCHER):
                if entry := await self.look_up_first():
                    return entry
                continue
            self.steps_left -= 1
            turn = await self.next_turn()
            if turn is None:
                return await self.give_up("format_errors")
            if turn.call in self.seen:
                await self.withdraw(turn.call.name)
                repeated = render("reason", self.language, kind="repeated", detail="")
                self.state.keep(self.step(turn, repeated))
                self.reply_to(turn, repeated)
            else:
                self.seen.append(turn.call)
                if entry := await self.act(turn):
                    return entry
        return await self.give_up("undecided" if self.exhausted() else "step_limit")

    def exhausted(self) -> bool:
        """Return whether no tool is left that verifies."""
        return all(item.system for item in self.offered)

    async def act(self, turn: turn_format.ModelTurn) -> MemoryEntry | None:
        """Make the call, unless its result is known. Return the entry that it leads to, or None where the branch goes on."""
        if self.pending and turn.call.name == SEARCHER:  # the model, too, takes the sentence for a claim
            known_call = self.pending[0].call
            if entry := await self.conclude_pending():
                return entry
            if turn.call == known_call or not self.only(SEARCHER):
                return None
        known = self.reading.result if self.reading and self.reading.call == turn.call else None
        step = await act(self.state, self.sentence.index, turn, self.model, self.turn_began, known)
        return await self.conclude(turn, step)

    async def conclude(self, turn: turn_format.ModelTurn, step: Step) -> MemoryEntry | None:
        """Return the entry that a call has led to, or None where the branch goes on."""
        if self.doubted:
            return tested_again(self.state, self.doubted, step.result)
        if turn.call.name in WAYS_OUT and step.result:
            return await self.end_without_check(turn, step.result)
        said = observation = step.result.observation if step.result else step.error or ""
        if step.result and step.result.label:
            if entry := label(self.state, self.sentence, turn.call, step.result):
                return await self.doubt(turn, entry)
            observation = render("reason", self.language, kind="open", detail=open_text(self.state, self.sentence))
            said = f"{said}; {observation}"
        if step.result and self.may_ask_again(turn.call.name, step.result):
            said = f"{said}; {render('reason', self.language, kind='search_again', detail='')}"
        elif step.result:  # it could not decide, or not all, and would not the next time
            await self.withdraw(turn.call.name)
            if step.result.facts:
                await self.offer_readers()
        else:
            self.failed[turn.call.name] += 1
            if self.failed[turn.call.name] > 1:
                await self.withdraw(turn.call.name)
        earlier = self.last_observation if self.asked[turn.call.name] > 1 else ""
        self.last_observation = "; ".join(filter(None, (earlier, observation)))
        self.reply_to(turn, said)
        return None

    async def doubt(self, turn: turn_format.ModelTurn, entry: MemoryEntry) -> MemoryEntry | None:
        """Return the entry that a call leads to; None where it contradicts the sentence, and a model that leads can test that with
        another tool: a false alarm costs a user more than a miss."""
        if entry.label != "contradicted" or self.state.autonomy != "free" or self.sentence.index == 0:
            return entry
        await self.withdraw(turn.call.name)
        others = [item for item in self.offered if not item.system]
        if not others:
            return entry
        self.doubted = entry
        self.offered = [*others, self.state.registry["get_answer"]]
        self.reply_to(turn, f"{entry.reason}; {render('reason', self.language, kind='surprising', detail='')}")
        return None

    def may_ask_again(self, name: str, result: ToolResult) -> bool:
        """Count a call that decided nothing, and return whether its tool may be called again, in other words, and a step is left
        for that."""
        self.asked[name] += 1
        return result.again and self.steps_left > 0 and self.asked[name] < self.state.limits.queries

    async def withdraw(self, name: str) -> None:
        """Stop offering a tool that has nothing new to say here. After the last one those are offered that were not yet."""
        self.withdrawn.add(name)
        self.offered = [item for item in self.offered if item.system or item.name != name]
        if self.exhausted():
            others = await asyncio.to_thread(offer_later, self.state, self.sentence, self.model)
            self.offered = [*(item for item in others if item.name not in self.withdrawn), *self.offered]

    async def offer_readers(self) -> None:
        """Offer the tools that read the facts which one has left, also those that could not decide without them."""
        later = await asyncio.to_thread(offer_later, self.state, self.sentence, self.model)
        readers = {item.name: item for item in later if not item.external}
        self.withdrawn -= readers.keys()
        self.reading = None  # what was read without the facts
        self.seen = [call for call in self.seen if call.name not in readers]
        self.offered = [*readers.values(), *(item for item in self.offered if item.name not in readers)]

    def step(self, turn: turn_format.ModelTurn, error: str) -> Step:
        """Make the step of a turn that led to no call."""
        usage = self.model.usage - self.turn_began
        return Step(
            sentence=self.sentence.index, thought=turn.thought, call=turn.call, result=None, error=error, usage=usage
        )

    async def next_turn(self) -> turn_format.ModelTurn | None:
        """Return the only possible turn, or else the model's next readable one. Its format errors are shown to the model;
        None where there were too many."""
        self.turn_began = self.model.usage
        if call := await asyncio.to_thread(self.obvious_call):
            return turn_format.ModelTurn(
                thought=render("reason", self.language, kind="only_tool", detail=""), call=call
            )
        await self.model.warm(self.state.task.system)
        offered = self.offered
        if "choice" in self.state.ablate:
            offered = [self.chance.choice(offered)]
        self.tell(offered)
        while True:
            self.turn_began = self.model.usage
            grammar = turn_format.grammar(offered, [self.sentence.name], self.language, self.failed)
            generation = await write_turn(self.model, self.messages, grammar)
            try:
                return await self.filled(
                    self.allowed(turn_format.parse(generation.text, generation.truncated), offered)
                )
            except FormatError as error:
                self.format_errors += 1
                self.state.keep(unusable(self.sentence.index, generation, error))
                if self.format_errors > self.state.limits.format_errors:
                    return None
                self.reply(generation.text, str(error))

    def tell(self, offered: Sequence[Tool]) -> None:
        """Tell the model which tools it may call now, since the system prompt lists all of them."""
        told = render("offered", self.language, tools=[item.name for item in offered])
        if told != self.told:
            self.told = told
            last = self.messages[-1]
            self.messages[-1] = Message(role=last["role"], content=f"{last['content']}\n{told}")

    def obvious_call(self) -> ToolCall | None:
        """Return the call where only one tool is offered, it can be called in one way only, and it has not failed."""
        return self.only_call(self.offered[0]) if len(self.offered) == 1 else None

    def only_call(self, tool: Tool) -> ToolCall | None:
        """Return the call of a tool that can be called in one way only, and has not failed."""
        if self.failed[tool.name]:
            return None
        return self.state.registry.obvious(tool, self.state.context(self.model, self.sentence.index), self.sentence)

    def allowed(self, turn: turn_format.ModelTurn, offered: Sequence[Tool]) -> turn_format.ModelTurn:
        """Return the turn where it calls an offered tool about this sentence. A grammar ensures that; an endpoint without
        grammars has to be checked. Raises FormatError."""
        names = [item.name for item in offered]
        if turn.call.name not in names:
            raise FormatError(f"{turn.call.name} is not offered here; call {' or '.join(names)}")
        pointed = turn.call.arguments.get("sentence", self.sentence.name)
        if str(pointed) != self.sentence.name:
            raise FormatError(f"check {self.sentence.name} only: write sentence={self.sentence.name}")
        return turn

    async def filled(self, turn: turn_format.ModelTurn) -> turn_format.ModelTurn:
        """Return the turn of a model that leads with the arguments that its tool takes here, if there is only one way to call it: a
        calculation from a reference, which the turn does not show, is left to the calculator."""
        if self.state.autonomy != "free":
            return turn
        only = await asyncio.to_thread(self.only_call, self.state.registry[turn.call.name])
        return turn.model_copy(update={"call": only}) if only else turn

    def reply_to(self, turn: turn_format.ModelTurn, observation: str) -> None:
        self.reply(turn_format.write(turn, self.language), observation)

    def reply(self, said: str, observation: str) -> None:
        self.messages += exchange(said, observation, self.language)

    async def end_without_check(self, turn: turn_format.ModelTurn, result: ToolResult) -> MemoryEntry | None:
        """End the branch where the model says that there is nothing to check, or no tool to check it with. The first is tested, also
        by the reference, and not believed of what it has looked up. For the second, every tool that could look it up is tried
        first; what the model said is kept for the reason."""
        looked_up = any(self.state.registry[name].external for name in self.asked)  # what is looked up claims something
        empty = result.label == "no_claim" and not looked_up and not states_something(self.sentence.text)
        readable = self.state.task.reference is not None and READER in (item.name for item in self.offered)
        if empty and not await is_claim(self.state.task, self.sentence, self.model):
            # "Okafor bakes the cakes." seems to claim nothing, and may be wrong.
            entry = self.clearly((await self.read())[1]) if readable else None
            return entry or label(self.state, self.sentence, turn.call, result)
        if self.could_look_up() and not (
            looked_up and all(self.asked[one.name] for one in self.offered if not one.system)
        ):
            self.offered = [item for item in self.offered if not item.system]
            self.remark = "" if turn.call.name == "get_answer" or self.repeats_a_demo(turn.call) else result.observation
            self.reply_to(turn, render("reason", self.language, kind="claims", detail=""))
            if self.pending:
                return await self.conclude_pending()
            if self.reading and self.only_read():
                return await self.conclude(*await self.read())
            return None
        refused = result.label == "no_claim"  # the model waved through a sentence that states something
        ended = render("reason", self.language, kind="ended", detail="") if refused else result.observation
        return await undecided(self.state, self.sentence, self.last_observation or ended, self.model)

    def only(self, name: str) -> bool:
        """Return whether nothing but the tool of this name can decide the sentence, if it claims anything."""
        return [one.name for one in self.offered if not one.system] == [name]

    def only_read(self) -> bool:
        """Return whether nothing but reading the sentence beside the reference can decide it, if it claims anything."""
        return self.state.task.reference is not None and self.only(READER)

    async def read_first(self) -> MemoryEntry | None:
        """Read the sentence beside the reference before the model takes a turn, since there is no other tool to choose. The turn is
        for what is left open: whether a sentence that is not clearly decided claims anything."""
        turn, step = await self.read()
        if states_something(self.sentence.text):
            return await self.conclude(turn, step)
        return self.clearly(step)

    async def look_up_first(self) -> MemoryEntry | None:
        """Search a collection on this machine for the question and the sentence as they stand, since there is no other tool to choose
        and it costs nothing. The model's turn is for what is left open: whether the sentence claims anything, and a query in other words,
        if there may be one."""
        self.looked_up = True
        thought = render("reason", self.language, kind="look_up", detail="")
        query = as_it_stands(self.state.task.question, self.sentence)
        call = ToolCall(name=SEARCHER, arguments={"sentence": self.sentence.name, "query": query})
        turn = turn_format.ModelTurn(thought=thought, call=call)
        step = await act(self.state, self.sentence.index, turn, self.model, self.model.usage, written=False)
        self.pending = turn, step
        if len(self.offered) == 1 or states_something(self.sentence.text):
            return await self.conclude_pending()
        return self.clearly(step)

    async def conclude_pending(self) -> MemoryEntry | None:
        """Conclude what was looked up before the model took a turn, of a sentence that turns out to claim something."""
        assert self.pending
        looked, self.pending = self.pending, None
        return await self.conclude(*looked)

    async def read(self) -> tuple[turn_format.ModelTurn, Step]:
        """Read the sentence beside the reference, once."""
        thought = render("reason", self.language, kind="read", detail="")
        call = ToolCall(name=READER, arguments={"sentence": self.sentence.name, "context": "reference"})
        turn = turn_format.ModelTurn(thought=thought, call=call)
        if self.reading is None:
            self.reading = await act(self.state, self.sentence.index, turn, self.model, self.model.usage)
        return turn, self.reading

    def clearly(self, step: Step) -> MemoryEntry | None:
        """Return the entry that a call has led to; None where it does not clearly decide the sentence."""
        if step.call is None or step.result is None or step.result.label is None or step.result.confidence < CLEARLY:
            return None
        return label(self.state, self.sentence, step.call, step.result)

    def repeats_a_demo(self, call: ToolCall) -> bool:
        """Return True where the model only repeats an example, which says nothing about this sentence."""
        said = [str(value) for name, value in call.arguments.items() if name != "sentence"]
        return any(text in demo.call for text in said for demo in self.state.registry[call.name].demos)

    def could_look_up(self) -> bool:
        """Return True while a tool is offered that can look the claim up, in a reference or by a search."""
        somewhere = self.state.task.reference is not None or self.state.services.search is not None
        return somewhere and any(not item.system for item in self.offered)

    async def give_up(self, kind: str) -> MemoryEntry:
        """End without a label. Reaching a limit is no judgement, so closed-book mode decides nothing then either."""
        if self.doubted:
            return self.doubted
        limits: dict[str, Stop] = {"step_limit": "step_limit", "format_errors": "format_errors"}
        if kind in limits:
            self.state.stops.append(limits[kind])
        detail = "; ".join(filter(None, (self.last_observation, self.remark)))
        reason = render("reason", self.language, kind=kind, detail=detail)
        return await undecided(self.state, self.sentence, reason, self.model, closed_book=kind not in limits)


async def write_turn(model: Meter, messages: Sequence[Message], grammar: str) -> Generation:
    """Let the model write one turn, up to the observation that a tool will make."""
    stop = ["\n" + mark.strip() for mark in turn_format.OBSERVATION.values()]
    return await model.generate(messages, stop=stop, grammar=grammar, max_tokens=TURN_TOKENS)


def unusable(sentence: int | None, generation: Generation, error: FormatError) -> Step:
    """Make the step of a turn that cannot be used."""
    return Step(
        sentence=sentence, thought=generation.text, call=None, result=None, error=str(error), usage=generation.usage
    )


def exchange(said: str, observation: str, language: Language) -> list[Message]:
    """Return a turn of the model and the answer to it. Both may repeat text from outside, so both are fenced."""
    return [
        {"role": "assistant", "content": fence_turn(said)},
        {"role": "user", "content": turn_format.OBSERVATION[language] + fence(observation)},
    ]
