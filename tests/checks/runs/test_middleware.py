"""A guard around a plain function, in a graph of LangGraph and in the OpenAI Agents SDK: what it is shown, and what is done."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from haluagent.checks.runs.records import AgentRun, HallucinationReport, Turn
from haluagent.errors import ConfigError
from haluagent.integrations.decorator import guarded

RIGHT, WRONG, REFUSAL, FEEDBACK = (
    "Parcel PX-1 is in Brod.",
    "Parcel PX-1 is in Osk.",
    "I cannot answer that.",
    "Osk is in no result.",
)
RESULT = '{"depot": "Brod"}'


class ScriptedGuard:
    """Has an answer that names Osk revised, and blocks it after `rounds`; knows a run by its id."""

    def __init__(self, rounds: int = 2) -> None:
        self.rounds = rounds
        self.runs: list[AgentRun] = []

    def check(self, run: AgentRun) -> Any:
        self.runs.append(run)
        done = sum(one.run_id == run.run_id for one in self.runs)
        action: Any = "emit" if "Osk" not in run.answer else "revise" if done <= self.rounds else "block"
        report = HallucinationReport(
            run_id=run.run_id, claims=(), tool_call_validations=(), overall_score=1, action=action
        )
        feedback, refusal = (FEEDBACK if action == "revise" else None), (REFUSAL if action == "block" else None)
        return SimpleNamespace(report=report, action=action, feedback=feedback, refusal=refusal)

    async def acheck(self, run: AgentRun) -> Any:
        await asyncio.sleep(0)
        return self.check(run)

    def saw_every_call_and_no_feedback(self) -> bool:
        calls = [[call for turn in run.turns for call in turn.calls] for run in self.runs]
        said = [turn.text for run in self.runs for turn in run.turns if turn.role == "user"]
        return all(len(made) == 1 and made[0].result == RESULT for made in calls) and FEEDBACK not in said


def a_run(answer: str, number: int = 1) -> AgentRun:
    return AgentRun(run_id=f"r{number}", turns=(Turn(role="user", text="Where is PX-1?"),), answer=answer)


@pytest.mark.parametrize(
    ("answers", "shown", "fed"),
    [
        ([RIGHT], RIGHT, [None]),
        ([WRONG, RIGHT], RIGHT, [None, FEEDBACK]),
        ([WRONG, WRONG, WRONG], REFUSAL, [None, FEEDBACK, FEEDBACK]),
    ],
)
def test_a_guarded_function_returns_what_may_be_shown(answers: list[str], shown: str, fed: list[str | None]) -> None:
    seen: list[str | None] = []
    guard = ScriptedGuard()

    @guarded(guard)
    def ask(question: str, *, feedback: str | None = None) -> AgentRun:
        seen.append(feedback)
        return a_run(answers[len(seen) - 1], len(seen))

    assert ask("Where is PX-1?") == shown and seen == fed
    assert {run.run_id for run in guard.runs} == {"r1"}

    seen.clear()
    guard.runs.clear()

    @guarded(guard)
    async def aask(question: str, **options: Any) -> AgentRun:
        seen.append(options["feedback"])
        return a_run(answers[len(seen) - 1], len(seen))

    assert asyncio.run(aask("Where is PX-1?")) == shown and seen == fed


def test_the_guard_of_the_package_bounds_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    from haluagent.checks.runs import gate
    from haluagent.checks.runs.guard import Guard

    async def acheck_run(agent: Any, run: AgentRun, **options: Any) -> HallucinationReport:
        action: Any = "emit" if run.answer == RIGHT else "revise"
        return HallucinationReport(
            run_id=run.run_id, claims=(), tool_call_validations=(), overall_score=1, action=action
        )

    monkeypatch.setattr(gate, "acheck_run", acheck_run)
    agent: Any = SimpleNamespace(wait_for=asyncio.run)
    for answers in ([WRONG, RIGHT], [WRONG, WRONG, WRONG]):
        fed: list[str | None] = []

        @guarded(Guard(agent, on_error="closed", rounds=2))
        def ask(answers: list[str], fed: list[str | None], feedback: str | None = None) -> AgentRun:
            fed.append(feedback)
            return a_run(answers[len(fed) - 1], len(fed))

        shown = ask(answers, fed)
        assert len(fed) == len(answers) and fed[0] is None and all(fed[1:])
        assert shown == RIGHT if RIGHT in answers else shown not in ("", "None", WRONG)


def test_a_function_that_cannot_be_guarded_is_said_so() -> None:
    with pytest.raises(ConfigError, match="ask has no parameter `feedback`"):

        @guarded(ScriptedGuard())
        def ask(question: str) -> AgentRun:
            return a_run(RIGHT)

    @guarded(ScriptedGuard())
    def told(feedback: str | None = None) -> str:
        return RIGHT

    with pytest.raises(ConfigError, match="told returned str: a guarded function returns an AgentRun"):
        told()


def graph(guard: Any, answers: list[str]) -> Any:
    """An agent that calls a tool once, and then says its answers one after the other."""
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    from haluagent.integrations.runs_langgraph import guard_node

    @tool
    def track(parcel: str) -> str:
        """Where a parcel is."""
        return RESULT

    left = list(answers)

    def agent(state: Any) -> Any:
        if not any(message.type == "tool" for message in state["messages"]):
            call = {"name": "track", "args": {"parcel": "PX-1"}, "id": "c1"}
            return {"messages": [AIMessage("", tool_calls=[call])]}
        return {"messages": [AIMessage(left.pop(0))]}

    made: Any = StateGraph(MessagesState)
    made.add_node("agent", agent)
    made.add_node("tools", ToolNode([track]))
    made.add_node("guard", guard_node(guard, revise="agent", tools=[track]))
    made.add_edge(START, "agent")
    made.add_conditional_edges(
        "agent", lambda state: "tools" if state["messages"][-1].tool_calls else "guard", ["tools", "guard"]
    )
    made.add_edge("tools", "agent")
    return made.compile()


@pytest.mark.integrations
@pytest.mark.parametrize(
    ("answers", "shown"),
    [([RIGHT], RIGHT), ([WRONG, RIGHT], RIGHT), ([WRONG, WRONG, RIGHT], RIGHT), ([WRONG] * 3, REFUSAL)],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_graph_goes_on_where_the_guard_says(answers: list[str], shown: str, asynchronous: bool) -> None:
    guard = ScriptedGuard()
    asked = {"messages": [("user", "Where is PX-1?")]}
    made = graph(guard, answers)
    state = asyncio.run(made.ainvoke(asked)) if asynchronous else made.invoke(asked)
    # Neither a rejected answer nor the feedback stays; the call and its result do.
    assert [(message.type, message.content) for message in state["messages"]] == [
        ("human", "Where is PX-1?"), ("ai", ""), ("tool", RESULT), ("ai", shown),
    ]  # fmt: skip
    assert [run.answer for run in guard.runs] == answers and len({run.run_id for run in guard.runs}) == 1
    assert guard.saw_every_call_and_no_feedback()
    assert guard.runs[0].tools[0].parameters["required"] == ["parcel"]


@pytest.mark.integrations
def test_a_second_question_is_another_run_with_the_results_of_the_first() -> None:
    guard = ScriptedGuard()
    made = graph(guard, [WRONG, RIGHT, WRONG, RIGHT])
    first = made.invoke({"messages": [("user", "Where is PX-1?")]})
    made.invoke({"messages": [*first["messages"], ("user", "Are you sure?")]})
    assert [run.run_id == guard.runs[0].run_id for run in guard.runs] == [True, True, False, False]
    assert guard.saw_every_call_and_no_feedback()


@pytest.mark.integrations
def test_a_guard_node_that_stands_elsewhere_says_so() -> None:
    from haluagent.integrations.runs_langgraph import guard_node

    node = guard_node(ScriptedGuard(), revise="agent")
    for messages in ([], [("user", "Where?")]):
        with pytest.raises(ConfigError, match="the last message of the state is no answer: put the guard after"):
            node.invoke({"messages": messages})


def sdk_agent(answers: list[str], **options: Any) -> Any:
    """An agent of the OpenAI Agents SDK with a model that calls a tool once, and then says its answers."""
    from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    set_tracing_disabled(True)
    left = list(answers)

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
            items = input if isinstance(input, list) else []
            if not any(item.get("type") == "function_call_output" for item in items):
                arguments = json.dumps({"parcel": "PX-1"})
                output: Any = ResponseFunctionToolCall(
                    type="function_call", call_id="c1", name="track", arguments=arguments
                )
            else:
                text = ResponseOutputText(type="output_text", text=left.pop(0), annotations=[])
                output = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

    @function_tool
    def track(parcel: str) -> str:
        """Where a parcel is."""
        return RESULT

    return Agent(name="parcels", instructions="You track parcels.", model=Scripted(), tools=[track], **options)


@pytest.mark.integrations
@pytest.mark.parametrize(
    ("answers", "shown"),
    [([RIGHT], RIGHT), ([WRONG, RIGHT], RIGHT), ([WRONG, WRONG, RIGHT], RIGHT), ([WRONG] * 3, REFUSAL)],
)
def test_the_loop_around_an_agent_of_the_sdk(answers: list[str], shown: str) -> None:
    from haluagent.integrations.openai_agents import RunGuardrail

    guard = ScriptedGuard()
    check = RunGuardrail(guard)
    for number, agent in enumerate([sdk_agent(answers), sdk_agent(answers, output_guardrails=[check.output])], start=1):
        assert asyncio.run(check.run(agent, "Where is PX-1?")) == shown
        assert [run.answer for run in guard.runs] == answers * number and len(
            {run.run_id for run in guard.runs}
        ) == number
    assert guard.saw_every_call_and_no_feedback()
    run = guard.runs[0]
    assert (run.system, run.turns[0].text, run.tools[0].name) == ("You track parcels.", "Where is PX-1?", "track")
    assert run.turns[1].calls[0].arguments == {"parcel": "PX-1"} and run.tools[0].parameters["required"] == ["parcel"]


@pytest.mark.integrations
def test_the_guardrail_of_the_sdk_trips_on_what_is_not_emitted_and_needs_the_hooks() -> None:
    from agents import OutputGuardrailTripwireTriggered, Runner

    from haluagent.integrations.openai_agents import RunGuardrail

    guard = ScriptedGuard(rounds=0)
    check = RunGuardrail(guard)
    with pytest.raises(OutputGuardrailTripwireTriggered) as caught:
        asyncio.run(Runner.run(sdk_agent([WRONG], output_guardrails=[check.output]), "Where is PX-1?", hooks=check))
    found = caught.value.guardrail_result.output.output_info
    assert (found["action"], found["refusal"], found["report"]["action"]) == ("block", REFUSAL, "block")
    result = asyncio.run(
        Runner.run(sdk_agent([RIGHT], output_guardrails=[check.output]), "Where is PX-1?", hooks=check)
    )
    assert result.final_output == RIGHT
    with pytest.raises(ConfigError, match="give it to the runner too"):
        asyncio.run(Runner.run(sdk_agent([RIGHT], output_guardrails=[check.output]), "Where is PX-1?"))
    with pytest.raises(ConfigError, match="session cannot be given here"):
        asyncio.run(check.run(sdk_agent([RIGHT]), "Where is PX-1?", session=object()))


@pytest.mark.integrations
def test_many_runs_of_the_sdk_at_once_are_kept_apart_and_a_tool_may_give_the_answer() -> None:
    from haluagent.integrations.openai_agents import RunGuardrail

    guard = ScriptedGuard()
    check = RunGuardrail(guard)

    async def ask() -> list[str]:
        agents = [sdk_agent([WRONG, RIGHT]) for _ in range(20)]
        return await asyncio.gather(*(check.run(agent, f"Where is PX-1, {n}?") for n, agent in enumerate(agents)))

    assert asyncio.run(ask()) == [RIGHT] * 20
    assert len({run.run_id for run in guard.runs}) == 20 and guard.saw_every_call_and_no_feedback()
    assert asyncio.run(check.run(sdk_agent([], tool_use_behavior="stop_on_first_tool"), "Where is PX-1?")) == RESULT
    assert guard.runs[-1].answer == RESULT and guard.saw_every_call_and_no_feedback()
