"""A guard where calls are made: a tool node of LangGraph, an agent of LangChain, the OpenAI Agents SDK, a plain function.

Each time a scripted model invents an order number, is told so, and takes the right one; the tool keeps what it did.
"""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from haluagent.checks.runs.audit import read_audit
from haluagent.checks.runs.forms.langgraph import from_langgraph
from haluagent.checks.runs.forms.openai import from_openai_chat
from haluagent.checks.runs.guard import Guard
from haluagent.checks.runs.records import AgentRun, HallucinationReport
from haluagent.errors import ConfigError
from haluagent.integrations.decorator import CallStopped, guarded, guarded_tool

ASKED, SYSTEM, ANSWER = "Refund my order DD-20933, please.", "Refunds go to the account AC-5512.", "It is refunded."
INVENTED, RIGHT = {"order_id": "DD-20993"}, {"order_id": "DD-20933"}
PARAMETERS = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "account": {"type": "string"}},
    "required": ["order_id"],
}
TOOLS = [{"type": "function", "function": {"name": "refund", "parameters": PARAMETERS}}]


class Recording(Guard):
    """A guard of calls that also keeps the runs whose answers it is given, and lets these out."""

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(None, on_error="closed", audit=path, **options)
        self.runs: list[AgentRun] = []

    def check(self, run: AgentRun) -> Any:
        self.runs.append(self._stopped.mark(run))
        report = HallucinationReport(
            run_id=run.run_id, claims=(), tool_call_validations=(), overall_score=1, action="emit"
        )
        return SimpleNamespace(report=report, action="emit", feedback=None, refusal=None)

    async def acheck(self, run: AgentRun) -> Any:
        return self.check(run)

    def calls(self) -> list[tuple[Any, bool]]:
        """The arguments of the calls of the last run, and whether they were stopped."""
        return [(call.arguments, call.stopped) for turn in self.runs[-1].turns for call in turn.calls]


@pytest.fixture
def guard(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "log")


def logged(guard: Recording) -> list[tuple[str, Any, bool]]:
    lines = [line.report for line in read_audit(guard._audit.path) if line.report] if guard._audit else []
    return [(line.action, one.args, one.stopped) for line in lines for one in line.tool_call_validations]


def langchain_tool(done: list[str]) -> Any:
    from langchain_core.tools import StructuredTool

    def refund(order_id: str, account: str = "AC-5512") -> str:
        """Refund an order."""
        done.append(order_id)
        return '{"status": "accepted"}'

    async def arefund(order_id: str, account: str = "AC-5512") -> str:
        """Refund an order."""
        return refund(order_id, account)

    return StructuredTool.from_function(refund, arefund)


def scripted_chat(calls: list[dict[str, Any]]) -> Any:
    """A chat model of LangChain that makes one call after the other, and then answers."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Scripted(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

        def _generate(self, messages: Any, *given: Any, **options: Any) -> ChatResult:
            number = sum(isinstance(message, ToolMessage) for message in messages)
            made = [{"name": "refund", "args": calls[number], "id": f"c{number}"}] if number < len(calls) else []
            message = AIMessage("" if made else ANSWER, tool_calls=made)
            return ChatResult(generations=[ChatGeneration(message=message)])

    return Scripted()


def graph(guard: Any, calls: list[dict[str, Any]], done: list[str]) -> Any:
    from langgraph.graph import START, MessagesState, StateGraph

    from haluagent.integrations.calls_langgraph import guarded_tool_node
    from haluagent.integrations.runs_langgraph import guard_node

    model, tools = scripted_chat(calls), [langchain_tool(done)]
    made: Any = StateGraph(MessagesState)
    made.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    made.add_node("tools", guarded_tool_node(guard, tools, system=SYSTEM))
    made.add_node("guard", guard_node(guard, revise="agent", tools=tools, system=SYSTEM))
    made.add_edge(START, "agent")
    made.add_conditional_edges(
        "agent", lambda state: "tools" if state["messages"][-1].tool_calls else "guard", ["tools", "guard"]
    )
    made.add_edge("tools", "agent")
    return made.compile()


def langchain_agent(guard: Any, calls: list[dict[str, Any]], done: list[str], **options: Any) -> Any:
    from langchain.agents import create_agent

    from haluagent.integrations.calls_langchain import CallGuard

    return create_agent(
        scripted_chat(calls),
        tools=[langchain_tool(done)],
        system_prompt=SYSTEM,
        middleware=[CallGuard(guard)],
        **options,
    )


@pytest.mark.integrations
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("make", [graph, langchain_agent])
def test_a_graph_runs_only_the_right_call(guard: Recording, make: Any, asynchronous: bool) -> None:
    done: list[str] = []
    made, asked = make(guard, [INVENTED, RIGHT], done), {"messages": [("user", ASKED)]}
    state = asyncio.run(made.ainvoke(asked)) if asynchronous else made.invoke(asked)
    assert done == ["DD-20933"] and state["messages"][-1].content == ANSWER
    first, second = (message for message in state["messages"] if message.type == "tool")
    assert (first.status, second.status) == ("error", "success")
    assert "order_id: id 'DD-20993' comes from nowhere in the run" in first.content
    assert logged(guard) == [("revise", INVENTED, True)]
    assert "haluagent_system" not in state
    run = from_langgraph(state["messages"])  # also of messages that were stored
    assert [(call.arguments, call.stopped) for turn in run.turns for call in turn.calls] == [
        (INVENTED, True), (RIGHT, False),
    ]  # fmt: skip
    if make is graph:
        assert guard.calls() == [(INVENTED, True), (RIGHT, False)]


@pytest.mark.integrations
@pytest.mark.parametrize("make", [graph, langchain_agent])
def test_a_graph_gets_so_many_retries(guard: Recording, make: Any) -> None:
    done: list[str] = []
    invented = [{"order_id": f"DD-2099{number}"} for number in range(4)]
    state = make(guard, invented, done).invoke({"messages": [("user", ASKED)]})
    told = [message.content for message in state["messages"] if message.type == "tool"]
    assert done == [] and ["Ask the user" in text for text in told] == [False, False, True, True]
    assert [action for action, *_ in logged(guard)] == ["revise", "revise", "block", "block"]


@pytest.mark.integrations
@pytest.mark.parametrize("make", [graph, langchain_agent])
def test_what_the_system_prompt_gives_may_run(guard: Recording, make: Any) -> None:
    done: list[str] = []
    given = {"order_id": "DD-20933", "account": "AC-5512"}
    make(guard, [{**given, "account": "AC-5521"}, given], done).invoke({"messages": [("user", ASKED)]})
    assert done == ["DD-20933"] and len(logged(guard)) == 1


@pytest.mark.integrations
def test_an_agent_that_is_resumed_still_knows_its_prompt(guard: Recording) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    done: list[str] = []
    given, saver = {"order_id": "DD-20933", "account": "AC-5512"}, InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    stops = langchain_agent(guard, [given], done, checkpointer=saver, interrupt_before=["tools"])
    stops.invoke({"messages": [("user", ASKED)]}, config)
    assert done == []
    other = Recording(Path(guard._audit.path)) if guard._audit else guard  # of another process
    langchain_agent(other, [given], done, checkpointer=saver).invoke(None, config)
    assert done == ["DD-20933"] and logged(guard) == []


@pytest.mark.integrations
def test_two_calls_at_once_of_which_one_is_invented(guard: Recording) -> None:
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import START, MessagesState, StateGraph

    from haluagent.integrations.calls_langgraph import guarded_tool_node

    done: list[str] = []
    made: Any = StateGraph(MessagesState)
    made.add_node("tools", guarded_tool_node(guard, [langchain_tool(done)]))
    made.add_edge(START, "tools")
    # Some servers give every call of a conversation the same id.
    calls = [{"name": "refund", "args": arguments, "id": "c"} for arguments in (INVENTED, RIGHT)]
    calls.append({"name": "pay_out", "args": {}, "id": "d"})
    state = made.compile().invoke({"messages": [HumanMessage(ASKED), AIMessage("", tool_calls=calls)]})
    assert done == ["DD-20933"]
    assert [message.status for message in state["messages"][2:]] == ["error", "success", "error"]


def sdk_agent(guard: Any, calls: list[dict[str, Any]], done: list[str]) -> tuple[Any, Any]:
    """An agent of the OpenAI Agents SDK that makes one call after the other, and then answers; and its guardrail."""
    from agents import Agent, Model, ModelResponse, Usage, function_tool, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    from haluagent.integrations.openai_agents import RunGuardrail

    set_tracing_disabled(True)
    check = RunGuardrail(guard)

    class Scripted(Model):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
            items = input if isinstance(input, list) else []
            number = sum(item.get("type") == "function_call_output" for item in items)
            if number < len(calls):
                output: Any = ResponseFunctionToolCall(
                    type="function_call", call_id=f"c{number}", name="refund", arguments=json.dumps(calls[number])
                )
            else:
                text = ResponseOutputText(type="output_text", text=ANSWER, annotations=[])
                output = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[text]
                )
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **options: Any) -> Any:
            raise NotImplementedError

    @function_tool(tool_input_guardrails=[check.calls])
    def refund(order_id: str) -> str:
        """Refund an order."""
        done.append(order_id)
        return '{"status": "accepted"}'

    return Agent(name="shop", instructions=SYSTEM, model=Scripted(), tools=[refund]), check


@pytest.mark.integrations
def test_the_sdk_runs_only_the_right_call(guard: Recording) -> None:
    from agents import Runner, UserError

    done: list[str] = []
    agent, check = sdk_agent(guard, [INVENTED, RIGHT], done)
    assert asyncio.run(check.run(agent, ASKED)) == ANSWER and done == ["DD-20933"]
    assert guard.calls() == [(INVENTED, True), (RIGHT, False)]
    assert logged(guard) == [("revise", INVENTED, True)]
    result = asyncio.run(Runner.run(agent, ASKED, hooks=check))
    assert result.final_output == ANSWER and done == ["DD-20933"] * 2
    found = result.tool_input_guardrail_results[0].output.output_info
    assert found["validation"]["status"] == "fabricated" and found["final"] is False
    outputs = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert "comes from nowhere" in outputs[0] and "accepted" in outputs[1]
    with pytest.raises(UserError, match="give it to the runner too"):
        asyncio.run(Runner.run(agent, ASKED))


@pytest.mark.integrations
def test_the_sdk_gets_so_many_retries_and_runs_at_once_are_kept_apart(guard: Recording) -> None:
    from agents import Runner

    done: list[str] = []
    agent, check = sdk_agent(guard, [{"order_id": f"DD-2099{number}"} for number in range(4)], done)

    async def ask() -> list[Any]:
        return await asyncio.gather(*(Runner.run(agent, ASKED, hooks=check) for _ in range(10)))

    for result in asyncio.run(ask()):
        told = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
        assert ["Ask the user" in text for text in told] == [False, False, True, True]
    assert done == []


class Loop:
    """An agent without a framework: a loop over the messages of a chat, with a model that is scripted."""

    def __init__(self, guard: Any, calls: list[dict[str, Any]]) -> None:
        self.calls, self.done = list(calls), list[str]()
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}]

        @guarded_tool(guard, self.run)
        def refund(order_id: str, **more: Any) -> str:
            self.done.append(order_id)
            return '{"status": "accepted"}'

        self.refund: Any = refund

    def run(self) -> AgentRun:
        return from_openai_chat(self.messages, TOOLS, run_id="loop")

    def ask(self, question: str) -> AgentRun:
        self.messages.append({"role": "user", "content": question})
        for number, arguments in enumerate(self.calls):
            call = {"id": f"c{number}", "function": {"name": "refund", "arguments": json.dumps(arguments)}}
            self.messages.append({"role": "assistant", "tool_calls": [call]})
            try:
                result = self.refund(**arguments)
            except CallStopped as stopped:
                result = str(stopped)
            self.messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
        self.messages.append({"role": "assistant", "content": ANSWER})
        return self.run()


def test_a_plain_loop_runs_only_the_right_call(guard: Recording) -> None:
    loop = Loop(guard, [INVENTED, {"order_id": "DD-20933", "note": "x"}, RIGHT])
    assert guarded(guard)(lambda question, feedback: loop.ask(question))(ASKED) == ANSWER
    assert loop.done == ["DD-20933"]
    assert [stopped for _, stopped in guard.calls()] == [True, True, False]
    assert [args for _, args, _ in logged(guard)] == [INVENTED, {"order_id": "DD-20933", "note": "x"}]
    assert "note: no such argument" in loop.messages[5]["content"]


def test_a_plain_loop_gets_so_many_retries(guard: Recording) -> None:
    loop = Loop(guard, [{"order_id": f"DD-2099{number}"} for number in range(4)])
    loop.ask(ASKED)
    told = [message["content"] for message in loop.messages if message["role"] == "tool"]
    assert loop.done == [] and ["Ask the user" in text for text in told] == [False, False, True, True]


def test_a_plain_tool_may_be_async_and_need_not_be_in_the_run(guard: Recording) -> None:
    run = from_openai_chat([{"role": "user", "content": ASKED}], TOOLS, run_id="r")

    @guarded_tool(guard, lambda: run)
    async def refund(order_id: str, account: str = "") -> str:
        return order_id

    assert asyncio.run(refund("DD-20933")) == "DD-20933"
    with pytest.raises(CallStopped) as caught:
        asyncio.run(refund("DD-20993"))
    assert caught.value.checked.validation.status == "fabricated"

    @guarded_tool(guard, lambda: None)  # type: ignore[arg-type, return-value]
    def wrong() -> None: ...

    with pytest.raises(ConfigError, match="`run` returned NoneType"):
        wrong()
