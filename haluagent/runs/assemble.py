"""A run put together from what was said, in its order: all converters end here."""

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from ..errors import ConfigError
from .records import AgentRun, TaskType, ToolSpec, ToolUse, Turn


class About(TypedDict, total=False):
    """What a converter may be told of a run. Without a `run_id` it is made from the run: the same run has the same one."""

    run_id: str | None
    task: TaskType
    language: Literal["auto", "en", "zh"]


@dataclass
class Call:
    given: str | None  # the id in the source: some servers count anew in every turn, or give none
    id: str
    tool: str
    arguments: dict[str, Any] | str
    result: str | None = None
    failed: bool = False


@dataclass
class Said:
    role: Literal["user", "assistant"]
    text: str = ""
    calls: list[Call] = field(default_factory=list)


class Assembly:
    """What was said so far. Calls get ids that are unique in the run, and results find theirs."""

    def __init__(self) -> None:
        self._system: list[str] = []
        self._said: list[Said] = []

    def instruct(self, text: str) -> None:
        if text and text not in self._system:
            self._system.append(text)

    def say(self, role: Literal["user", "assistant"], text: str) -> None:
        if text:
            self._said.append(Said(role, text))

    def call(self, given: str | None, tool: str, arguments: dict[str, Any] | str) -> Call:
        """A call that the model makes now: in the turn of the text before it, unless a result came in between."""
        taken = {call.id for call in self.calls}
        number = len(taken) + 1
        unique = given if given and given not in taken else next(
            name for extra in range(len(taken) + 1) if (name := f"{given or 'call'}-{number + extra}") not in taken
        )  # fmt: skip
        call = Call(given, unique, tool, arguments)
        last = self._said[-1] if self._said else None
        if last is None or last.role != "assistant" or any(made.result is not None for made in last.calls):
            last = Said("assistant")
            self._said.append(last)
        last.calls.append(call)
        return call

    def result(self, given: str | None, text: str, failed: bool, place: str, tool: str | None = None) -> None:
        """What came back, for the first call of that id (without one: of that tool) that has no result. Raises ConfigError
        where there is none."""
        same = [call for call in self.calls if (call.given == given if given else call.tool == tool)]
        open_calls = [call for call in same if call.result is None]
        if not open_calls:
            called = f"call {given!r}" if given else f"tool {tool!r}"
            why = f"second result of {called}, which has one" if same else f"result of {called}, which was not called"
            raise ConfigError(f"{place} is a {why}")
        open_calls[0].result, open_calls[0].failed = text, failed

    @property
    def calls(self) -> list[Call]:
        return [call for said in self._said for call in said.calls]

    def run(self, tools: tuple[ToolSpec, ...], about: About) -> AgentRun:
        """The run. Its answer is the last text of the model that makes no call, if no call comes after it; else it is empty.
        What the user said after the answer is left out. Raises ConfigError where nothing was said."""
        if not self._said:
            raise ConfigError("the run is empty: give the messages of the user, the model and the tools")
        last = max((at for at, said in enumerate(self._said) if said.role == "assistant"), default=-1)
        ends = last >= 0 and not self._said[last].calls
        turns = tuple(
            Turn(
                role=said.role,
                text=said.text,
                calls=tuple(
                    ToolUse(id=call.id, tool=call.tool, arguments=call.arguments, result=call.result, failed=call.failed)
                    for call in said.calls
                ),
            )
            for said in (self._said[:last] if ends else self._said)
        )
        run = AgentRun(
            run_id=about.get("run_id") or "",
            system="\n\n".join(self._system),
            tools=tools,
            turns=turns,
            answer=self._said[last].text if ends else "",
            task=about.get("task", "factual"),
            language=about.get("language", "auto"),
        )
        if run.run_id:
            return run
        return run.model_copy(update={"run_id": f"run-{hashlib.sha256(run.model_dump_json().encode()).hexdigest()[:16]}"})
