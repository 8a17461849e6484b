"""A small tool-using agent for any endpoint: turn by turn, each with one call, until the task ends."""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from haluagent.checks.reliability import turns
from haluagent.checks.reliability.records import Ending, ReliabilitySettings
from haluagent.checks.runs.records import AgentRun, ToolSpec, ToolUse
from haluagent.checks.runs.records import Turn as Said
from haluagent.errors import FormatError
from haluagent.prompts import conversation, fence
from haluagent.protocols import Generation, Message, Model
from haluagent.text.windows import clip
from haluagent.tooling.turn_format import OBSERVATION
from haluagent.types import Language, Usage

TURN_TOKENS = 1024
LEAST_TOKENS = 150  # the fewest tokens that a turn needs
MARGIN = 64  # tokens that the chat template adds
RESULT_TOKENS = 400
UNREADABLE = 2  # consecutive turns, after which the run ends

LoopCall = Callable[[str, dict[str, Any] | str], Awaitable[tuple[str, bool]]]


class Done(NamedTuple):
    """A run, its ending, and the cost of its model calls."""

    run: AgentRun
    ending: Ending
    usage: Usage


async def solve(
    model: Model,
    run_id: str,
    query: str,
    tools: Sequence[ToolSpec],
    call: LoopCall,
    settings: ReliabilitySettings,
    language: Language,
) -> Done:
    """Let a model work on a request with tools, and return its run.

    `call` makes a call and returns its result and whether that is an error. Once all calls are used up, the model may
    only end the task. Raise `ModelError`, and `ConfigError` for a schema that cannot be turned into a grammar.
    """
    agent = _Agent(model, query, tools, settings, language)
    said: list[Said] = [Said(role="user", text=query)]
    calls = unreadable = 0

    def done(ending: Ending, answer: str = "") -> Done:
        # Without the system prompt: it describes the tools, and an example in it is not a value that the user gave.
        run = AgentRun(run_id=run_id, tools=tuple(tools), turns=tuple(said), answer=answer, language=language)
        return Done(run, ending, agent.usage)

    while True:
        generation = await agent.turn(only_end=calls >= settings.max_calls)
        if generation is None:
            return done("context")
        try:
            turn = turns.parse(generation.text, truncated=generation.truncated)
        except FormatError as error:
            unreadable += 1
            if unreadable >= UNREADABLE:
                return done("unreadable")
            agent.observe(generation.text, str(error))
            continue
        unreadable = 0
        if turn.ending is not None and (settings.indecisive or turn.ending == "answer"):
            said.append(Said(role="assistant", text=turn.thought))
            return done(turn.ending, turn.said)
        if calls >= settings.max_calls:
            return done("calls")
        calls += 1
        result, failed = await call(turn.name, turn.arguments)
        use = ToolUse(id=f"c{calls}", tool=turn.name, arguments=turn.arguments, result=result, failed=failed)
        said.append(Said(role="assistant", text=turn.thought, calls=(use,)))
        agent.observe(turns.write(turn, language), result)


def opening(query: str, tools: Sequence[ToolSpec], settings: ReliabilitySettings, language: Language) -> list[Message]:
    """Return the messages before the model's first turn."""
    offered = [
        {"name": tool.name, "description": tool.description, "parameters": json.dumps(_shown(tool), ensure_ascii=False)}
        for tool in tools
    ]
    return list(
        conversation(
            "tool_agent", language, tools=offered, indecisive=settings.indecisive, calls=settings.max_calls, query=query
        )
    )


def exchange(written: str, result: str, language: Language, count: Callable[[str], int]) -> list[Message]:
    """Return a turn of the model and what it is shown of the result. `count` returns the number of tokens in a text."""
    shown, _ = clip(result, RESULT_TOKENS, count)
    return [
        {"role": "assistant", "content": clip(written, TURN_TOKENS, count)[0]},
        {"role": "user", "content": OBSERVATION[language] + fence(shown)},
    ]


def _shown(tool: ToolSpec) -> dict[str, Any]:
    return {key: tool.parameters.get(key, empty) for key, empty in (("properties", {}), ("required", []))}


class _Agent:
    """The conversation so far."""

    def __init__(
        self, model: Model, query: str, tools: Sequence[ToolSpec], settings: ReliabilitySettings, language: Language
    ) -> None:
        self.messages: list[Message] = opening(query, tools, settings, language)
        self.usage = Usage()
        self._model = model
        self._settings = settings
        self._language = language
        self._grammars = [
            turns.grammar(offered, language, indecisive=settings.indecisive) if settings.grammar else None
            for offered in (tools, ())
        ]

    async def turn(self, *, only_end: bool) -> Generation | None:
        """Generate the model's next turn; return None if the context is full."""
        used = sum(self._model.count_tokens(message["content"]) + MARGIN // 4 for message in self.messages)
        room = self._model.context - used - MARGIN
        if room < LEAST_TOKENS:
            return None
        generation = await self._model.generate(
            self.messages,
            stop=["\n" + OBSERVATION[self._language].strip()],
            grammar=self._grammars[only_end],
            max_tokens=min(TURN_TOKENS, room),
            temperature=self._settings.temperature,
        )
        self.usage += generation.usage
        return generation

    def observe(self, written: str, result: str) -> None:
        """Add a turn and its result to the conversation."""
        self.messages += exchange(written, result, self._language, self._model.count_tokens)
