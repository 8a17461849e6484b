"""Assembling a run from what was said, in order. All converters end here."""

import hashlib
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from haluagent.checks.runs.records import AgentRun, TaskType, ToolSpec, ToolUse, Turn
from haluagent.errors import ConfigError


class RunHeader(TypedDict, total=False):
    """Options of a converter. Without a `run_id` it is derived from the run: the same run gets the same one."""

    run_id: str | None
    task: TaskType
    language: Literal["auto", "en", "zh"]


@dataclass
class AssembledCall:
    given: str | None  # the id in the source: some servers start over in every turn, or give none
    id: str
    tool: str
    arguments: dict[str, Any] | str
    turn: int  # its index in what was said
    result: str | None = None
    failed: bool = False
    stopped: bool = False  # by a guard, before it ran
    told: bool = False  # whether its result is from a message rather than a span


class CallsById:
    """Some calls of a run, in order."""

    def __init__(self) -> None:
        self.all: list[AssembledCall] = []
        self._open: deque[AssembledCall] = deque()  # those without a result; others may remain, but never at the ends

    def add(self, call: AssembledCall) -> None:
        self.all.append(call)
        self._open.append(call)

    def first_open(self) -> AssembledCall | None:
        """Return the first call without a result."""
        while self._open and self._open[0].result is not None:
            self._open.popleft()
        return self._open[0] if self._open else None

    def last_open(self) -> AssembledCall | None:
        while self._open and self._open[-1].result is not None:
            self._open.pop()
        return self._open[-1] if self._open else None


@dataclass
class AssembledTurn:
    role: Literal["user", "assistant"]
    text: str = ""
    calls: list[AssembledCall] = field(default_factory=list)
    answered: bool = False  # whether one of its calls has a result


class Assembly:
    """The turns so far. Calls get ids that are unique in the run, and results are matched to calls."""

    def __init__(self) -> None:
        self._system: dict[str, None] = {}
        self._said: list[AssembledTurn] = []
        self._ids: set[str] = set()
        self.calls = CallsById()
        self.calls_of_id: defaultdict[str, CallsById] = defaultdict(CallsById)  # by the id in the source
        self.calls_of_tool: defaultdict[str, CallsById] = defaultdict(CallsById)

    def instruct(self, text: str) -> None:
        if text:
            self._system[text] = None

    def say(self, role: Literal["user", "assistant"], text: str) -> None:
        if text:
            self._said.append(AssembledTurn(role, text))

    def call(self, given: str | None, tool: str, arguments: dict[str, Any] | str) -> AssembledCall:
        """Add a call that the model makes now, in the turn of the text before it unless a result came in between."""
        number = len(self._ids) + 1
        unique = given if given and given not in self._ids else next(
            name for extra in range(number) if (name := f"{given or 'call'}-{number + extra}") not in self._ids
        )  # fmt: skip
        last = self._said[-1] if self._said else None
        # A converter may already have given the last call its result.
        if (
            last is None
            or last.role != "assistant"
            or last.answered
            or (last.calls and last.calls[-1].result is not None)
        ):
            last = AssembledTurn("assistant")
            self._said.append(last)
        call = AssembledCall(given, unique, tool, arguments, len(self._said) - 1)
        last.calls.append(call)
        self._ids.add(unique)
        for calls in (self.calls, self.calls_of_tool[tool], *([self.calls_of_id[given]] if given else [])):
            calls.add(call)
        return call

    def result(
        self, given: str | None, text: str, failed: bool, place: str, tool: str | None = None, *, stopped: bool = False
    ) -> None:
        """Add a result to the first call of that id (without an id: of that tool) that has none.

        Raise `ConfigError` if there is no such call.
        """
        same = self.calls_of_id[given] if given else self.calls_of_tool[tool or ""]
        call = same.first_open()
        if call is None:
            called = f"call {given!r}" if given else f"tool {tool!r}"
            why = (
                f"second result of {called}, which has one" if same.all else f"result of {called}, which was not called"
            )
            raise ConfigError(f"{place} is a {why}")
        call.stopped = stopped
        self.answer(call, text, failed)

    def answer(self, call: AssembledCall, text: str, failed: bool) -> None:
        """Set the result of a call."""
        call.result, call.failed = text, failed
        self._said[call.turn].answered = True

    def run(self, tools: tuple[ToolSpec, ...], about: RunHeader) -> AgentRun:
        """Return the run.

        Its answer is the model's last text without a call, if no call comes after it; otherwise it is empty. What the
        user said after the answer is left out. Raise `ConfigError` if nothing was said.
        """
        if not self._said:
            raise ConfigError("the run is empty: give the messages of the user, the model and the tools")
        last = max((at for at, said in enumerate(self._said) if said.role == "assistant"), default=-1)
        ends = last >= 0 and not self._said[last].calls
        turns = tuple(
            Turn(
                role=said.role,
                text=said.text,
                calls=tuple(
                    ToolUse(
                        id=call.id,
                        tool=call.tool,
                        arguments=call.arguments,
                        result=call.result,
                        failed=call.failed,
                        stopped=call.stopped,
                    )
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
        return run.model_copy(
            update={"run_id": f"run-{hashlib.sha256(run.model_dump_json().encode()).hexdigest()[:16]}"}
        )
