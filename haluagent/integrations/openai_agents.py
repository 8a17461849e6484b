"""The OpenAI Agents SDK: an output guardrail that sees the whole run (extra `openai-agents`)."""

import dataclasses
from contextvars import ContextVar
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from haluagent.checks.runs.forms.merge import Merge
from haluagent.checks.runs.forms.openai import from_openai_responses
from haluagent.checks.runs.forms.plain import arguments_of, dump, plain
from haluagent.checks.runs.records import AgentRun, TaskType, ToolSpec
from haluagent.errors import ConfigError
from haluagent.integrations.calls import call_to_check

try:
    from agents import (
        Agent,
        FunctionTool,
        GuardrailFunctionOutput,
        Handoff,
        ItemHelpers,
        ModelResponse,
        OutputGuardrail,
        OutputGuardrailTripwireTriggered,
        RunConfig,
        RunContextWrapper,
        RunHooks,
        Runner,
        ToolGuardrailFunctionOutput,
        ToolInputGuardrail,
        ToolInputGuardrailData,
    )
except ImportError:
    raise ConfigError('The OpenAI Agents SDK is not installed: pip install "haluagent[openai-agents]"') from None

__all__ = ["RunGuardrail"]


@dataclasses.dataclass
class Question:
    """The state shared by the rounds of one question."""

    run_id: str
    feedback: set[str] = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Seen:
    """The messages and calls of one run, both received and sent by the model, as items of the Responses API."""

    system: str = ""
    run_id: str = dataclasses.field(default_factory=lambda: f"run-{uuid4()}")
    items: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    merge: Merge = dataclasses.field(default_factory=Merge)
    agents: list[Agent[Any]] = dataclasses.field(default_factory=list)


NOT_SEEN = "the guardrail has not seen the run: give it to the runner too, as Runner.run(…, hooks=check)"
QUESTION: ContextVar[Question | None] = ContextVar("question", default=None)


class RunGuardrail(RunHooks[Any]):
    """A guard (runs.guard.Guard) over runs of agents. Pass it to the runner as hooks, which see the calls, and give its
    `output` to the answering agent as a guardrail, its `calls` to the tools:

        check = RunGuardrail(guard)

        @function_tool(tool_input_guardrails=[check.calls])
        def refund(order_id: str) -> str: ...

        agent = Agent(name="…", tools=[refund], output_guardrails=[check.output])
        await Runner.run(agent, "…", hooks=check)

    A call of such a tool only runs if the guard allows it. In place of the result of a stopped call the model gets a text
    that says what is wrong, and may try again as often as the guard allows. `output_info` of the tool's guardrail has
    the `validation`, and whether it was the `final` attempt.

    Every answer that the guard does not emit triggers the tripwire, whether it is to be revised or blocked, since a
    guardrail cannot send an answer back. `output_info` has the `action`, the `feedback` or `refusal`, and the `report`.
    The method `run` is a loop that does send answers back. One object may serve many runs at once. Raises ConfigError
    if the hooks were not passed to the run.
    """

    def __init__(self, guard: Any, *, task: TaskType = "factual") -> None:
        self._guard = guard
        self._task: TaskType = task
        self._seen: WeakKeyDictionary[RunContextWrapper[Any], Seen] = WeakKeyDictionary()
        self.output: OutputGuardrail[Any] = OutputGuardrail(guardrail_function=self._check, name="haluagent")
        self.calls: ToolInputGuardrail[Any] = ToolInputGuardrail(guardrail_function=self._check_call, name="haluagent")

    async def run(self, agent: Agent[Any], question: Any, **options: Any) -> str:
        """Return the text that may be shown: the answer if the guard emits it, otherwise its refusal. An answer to be
        revised goes back to the agent with the feedback, as often as the guard allows. `options` are those of
        Runner.run, except hooks and those that keep the conversation elsewhere, because rejected answers would stay in
        it. Raises ConfigError for one of these."""
        if (
            kept := {"hooks", "session", "conversation_id", "previous_response_id", "auto_previous_response_id"}
            & options.keys()
        ):
            raise ConfigError(f"{min(kept)} cannot be given here: run the agent with Runner.run, and hooks=check")
        shared = Question(f"run-{uuid4()}")
        config = options.pop("run_config", None) or RunConfig()
        if self.output not in agent.output_guardrails:
            config = dataclasses.replace(config, output_guardrails=[*(config.output_guardrails or []), self.output])
        token = QUESTION.set(shared)
        try:
            while True:
                try:
                    result = await Runner.run(agent, question, hooks=self, run_config=config, **options)
                    return str(result.final_output)
                except OutputGuardrailTripwireTriggered as trip:
                    found = trip.guardrail_result.output.output_info
                    if trip.guardrail_result.guardrail is not self.output or trip.run_data is None:
                        raise
                    if found["action"] != "revise":
                        return str(found["refusal"])
                    shared.feedback.add(found["feedback"])
                    said = [item.to_input_item() for item in trip.run_data.new_items]
                    told = {"role": "user", "content": found["feedback"]}
                    question = [*ItemHelpers.input_to_new_input_list(trip.run_data.input), *said, told]
        finally:
            QUESTION.reset(token)

    async def on_llm_start(
        self, context: RunContextWrapper[Any], agent: Agent[Any], system_prompt: str | None, input_items: list[Any]
    ) -> None:
        seen = self._seen.setdefault(context, Seen())
        seen.system = system_prompt or ""
        if agent not in seen.agents:
            seen.agents.append(agent)
        items = [plain(item, "an item of the run") for item in input_items]
        for item, new in zip(items, seen.merge.new([_key(item) for item in items]), strict=True):
            if new:
                seen.items.append(item)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse) -> None:
        seen = self._seen.setdefault(context, Seen())
        for output in response.output:
            item = plain(output, "an item of the run")
            seen.merge.said(_key(item))
            seen.items.append(item)

    async def _check(self, context: RunContextWrapper[Any], agent: Agent[Any], answer: Any) -> GuardrailFunctionOutput:
        seen = self._seen.get(context)
        if seen is None:
            raise ConfigError(NOT_SEEN)
        text = answer if isinstance(answer, str) else _json(answer)
        checked = await self._guard.acheck(await self._run(seen, context, text))
        found = {
            "action": checked.action,
            "feedback": checked.feedback,
            "refusal": checked.refusal,
            "report": checked.report.model_dump(mode="json") if checked.report is not None else None,
        }
        return GuardrailFunctionOutput(output_info=found, tripwire_triggered=checked.action != "emit")

    async def _check_call(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        called = data.context
        # A tool has a context of its own. It shares the usage of its run, and of the runs that this one is part of.
        runs = (seen for context, seen in list(self._seen.items()) if context.usage is called.usage)
        seen = next((one for one in runs if any(_is_call(item, called.tool_call_id) for item in one.items)), None)
        if seen is None:
            raise ConfigError(NOT_SEEN)
        run = await self._run(seen, called)
        call = call_to_check(run, called.tool_name, arguments_of(called.tool_arguments), called.tool_call_id)
        checked = await self._guard.acheck_call(run, call)
        validation = checked.validation.model_dump(mode="json") if checked.validation is not None else None
        found = {"validation": validation, "final": checked.final}
        if checked.allowed:
            return ToolGuardrailFunctionOutput.allow(found)
        return ToolGuardrailFunctionOutput.reject_content(checked.feedback, found)

    async def _run(self, seen: Seen, context: RunContextWrapper[Any], answer: str | None = None) -> AgentRun:
        """Return the run that was seen, up to now or to its answer."""
        shared = QUESTION.get()
        told = shared.feedback if shared else set()
        items = [item for item in seen.items if not (item.get("role") == "user" and item.get("content") in told)]
        calls = [item["call_id"] for item in items if item.get("type") == "function_call"]
        done = {item.get("call_id") for item in items if item.get("type") == "function_call_output"}
        waiting = [call for call in calls if call not in done]
        if waiting and answer is not None:  # the answer is the result of a tool
            items.append({"type": "function_call_output", "call_id": waiting[0], "output": answer})
            items.append({"type": "message", "role": "assistant", "content": answer})
        tools = [spec for agent in seen.agents for spec in await _tools(agent, context)]
        run_id = shared.run_id if shared else seen.run_id
        return from_openai_responses(items, tools, instructions=seen.system, run_id=run_id, task=self._task)


def _is_call(item: dict[str, Any], call_id: str) -> bool:
    return item.get("type") == "function_call" and item.get("call_id") == call_id


def _key(item: dict[str, Any]) -> str:
    """Return the identity of an item, which must stay the same when it is sent again: a message has lost its id by
    then."""
    kind = item.get("type") or "message"
    if kind == "message":
        content = item.get("content")
        texts = (
            [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
        )
        return dump([kind, item.get("role"), texts])
    return dump([kind, item.get("call_id") or item.get("id")])


async def _tools(agent: Agent[Any], context: RunContextWrapper[Any]) -> list[ToolSpec]:
    """Return the tools of an agent, including the agents that it can hand over to, since those are called like
    tools."""
    found = []
    for tool in await agent.get_all_tools(context):
        schema = tool.params_json_schema if isinstance(tool, FunctionTool) else {"type": "object"}
        found.append(ToolSpec(name=tool.name, description=getattr(tool, "description", ""), parameters=schema))
    for other in agent.handoffs:
        if isinstance(other, Handoff):
            found.append(
                ToolSpec(name=other.tool_name, description=other.tool_description, parameters=other.input_json_schema)
            )
        else:
            found.append(ToolSpec(name=Handoff.default_tool_name(other), parameters={"type": "object"}))
    return found


def _json(answer: Any) -> str:
    return dump(plain(answer, "the answer"))
