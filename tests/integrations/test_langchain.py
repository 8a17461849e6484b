"""The check as a LangChain Runnable and a LangGraph node, in the real libraries, on a scripted model."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from scripted import believes

from haluagent import ConfigError, HaluAgent, ModelError

pytestmark = pytest.mark.integrations

RIGHT, WRONG, OPEN = "It is 12 * 7 = 84.", "Seven boxes hold 12 * 7 = 85 pens.", "They came by train."


@pytest.fixture
def agent(scripted: Any) -> Iterator[HaluAgent]:
    with HaluAgent(scripted(scripted.calculate, choose=believes("said")), search="none", sandbox="none") as agent:
        yield agent


@pytest.fixture
def broken(scripted: Any) -> Iterator[HaluAgent]:
    class Broken(scripted):  # type: ignore[misc]
        async def generate(self, *args: Any, **options: Any) -> Any:
            raise ModelError("the endpoint is gone")

        choose = generate

    with HaluAgent(Broken(), search="none", sandbox="none") as agent:
        yield agent


def check(agent: HaluAgent, **options: Any) -> Any:
    from haluagent.integrations.langchain import HallucinationCheck

    return HallucinationCheck(agent, **options)


def test_in_a_chain_the_mapping_goes_on_with_the_report(agent: HaluAgent) -> None:
    from langchain_core.runnables import RunnablePassthrough

    chain = RunnablePassthrough.assign(answer=lambda item: item["question"].replace("?", ".")) | check(agent)
    out = chain.invoke({"question": "Is 12 * 7 = 85?", "session": 7})
    assert (out["session"], out["answer"], out["flagged"]) == (7, "Is 12 * 7 = 85.", True)
    assert out["detection"]["hallucination"] is True
    assert out["detection"]["sentences"][0]["label"] == "contradicted"


def test_sync_async_batch_and_stream_say_the_same(agent: HaluAgent) -> None:
    items = [{"question": "How many?", "response": text} for text in (RIGHT, WRONG)]
    runnable = check(agent)

    async def asynchronous() -> list[Any]:
        return [
            await runnable.ainvoke(items[0]),
            *await runnable.abatch(items),
            *[one async for one in runnable.astream(items[1])],
        ]

    found = [runnable.invoke(items[0]), *runnable.batch(items), *runnable.stream(items[1])]
    assert [out["flagged"] for out in found] == [False, False, True, True]
    assert [out["flagged"] for out in asyncio.run(asynchronous())] == [False, False, True, True]


def test_documents_and_messages_are_read_as_their_text(agent: HaluAgent, scripted: Any) -> None:
    from langchain_core.documents import Document
    from langchain_core.messages import AIMessage

    answer = AIMessage(content=[{"type": "text", "text": RIGHT}])
    documents = [Document(page_content="A box holds a dozen."), Document(page_content="There are boxes."), "And pens."]
    out = check(agent).invoke({"input": "How many?", "answer": answer, "context": documents})
    assert out["answer"] is answer and out["detection"]["response"] == RIGHT and out["flagged"] is False
    prompts = "".join(message["content"] for seen in agent.model.seen for message in seen)  # type: ignore[attr-defined]
    assert "A box holds a dozen.\n\nThere are boxes.\n\nAnd pens." in prompts
    assert check(agent).invoke({"input": "How many?", "answer": RIGHT, "context": []})["flagged"] is False


def test_what_is_flagged_is_marked_raised_or_replaced(agent: HaluAgent) -> None:
    from haluagent.integrations.langchain import ResponseFlagged

    item = {"question": "How many?", "response": WRONG}
    out = check(agent, when_flagged="replace", replacement="Sorry.").invoke(item)
    assert (out["response"], out["flagged"], out["detection"]["response"]) == ("Sorry.", True, WRONG)
    with pytest.raises(ResponseFlagged, match="HALLUCINATION FOUND") as raised:
        check(agent, when_flagged="raise").invoke(item)
    assert raised.value.detection.hallucination is True
    right = check(agent, when_flagged="replace").invoke(item | {"response": RIGHT})
    assert (right["response"], right["flagged"]) == (RIGHT, False)


def test_thresholds_and_what_stays_open(agent: HaluAgent) -> None:
    def flagged(response: str, **options: Any) -> Any:
        return check(agent, **options).invoke({"question": "How many?", "response": response})["flagged"]

    assert flagged(OPEN) is True
    assert flagged(OPEN, undecided="pass", threshold=0.0) is False  # a threshold is for what was checked
    assert flagged(RIGHT, threshold=0.0) is True
    assert flagged(WRONG, threshold=1.0) is False


def test_a_model_that_failed_raises_is_flagged_or_goes_on(broken: HaluAgent) -> None:
    item = {"question": "How?", "response": OPEN}
    with pytest.raises(ModelError, match="the endpoint is gone"):
        check(broken, undecided="pass").invoke(item)
    for on_error, flagged in (("flag", True), ("pass", False)):
        out = check(broken, on_error=on_error, undecided="pass").invoke(item)
        assert out["flagged"] is flagged and "the endpoint is gone" in out["detection"]["error"]
        assert out["detection"]["hallucination"] is None


def test_an_engine_that_does_not_start_has_a_report_too(agent: HaluAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ModelError("no engine")

    monkeypatch.setattr(agent, "prepare", fail)
    out = check(agent, on_error="flag").invoke({"question": "How?", "response": OPEN})
    assert (out["flagged"], out["detection"]["error"], out["detection"]["stop"]) == (True, "no engine", "error")


def test_a_response_needs_no_question(agent: HaluAgent) -> None:
    out = check(agent).invoke({"response": OPEN})
    assert out["detection"]["question"] == "" and out["response"] == OPEN


def test_what_cannot_be_is_refused(agent: HaluAgent) -> None:
    for options, complaint in (
        ({"on_error": "flagged"}, "on_error='flagged': use 'raise' or 'flag' or 'pass'"),
        ({"when_flagged": "drop"}, "when_flagged='drop'"),
        ({"undecided": "raise"}, "undecided='raise'"),
        ({"threshold": 50}, "threshold=50: give a probability"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            check(agent, **options)
    with pytest.raises(ConfigError, match="no key response or answer, only: question, output"):
        check(agent).invoke({"question": "How?", "output": OPEN})
    with pytest.raises(ConfigError, match="int is no text"):
        check(agent).invoke({"question": "How?", "response": 85})


@pytest.fixture
def graph() -> Any:
    """A graph that answers with a fixed text, after a tool, and checks that."""
    from langchain_core.messages import AIMessage, ToolMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    from haluagent.integrations.langchain import check_node

    class State(MessagesState):
        context: list[str]
        detection: dict[str, Any]
        flagged: bool

    def build(agent: HaluAgent, answer: str, **options: Any) -> Any:
        def respond(state: State) -> dict[str, Any]:
            call = {"name": "stock", "args": {}, "id": "1"}
            read = [
                ToolMessage("12 pens a box", tool_call_id="1"),
                ToolMessage("lost", tool_call_id="2", status="error"),
            ]
            return {"messages": [AIMessage("", tool_calls=[call]), *read, AIMessage(answer)]}

        graph = StateGraph(State)
        graph.add_node("respond", respond)
        graph.add_node("check", check_node(agent, **options))
        graph.add_edge(START, "respond")
        graph.add_edge("respond", "check")
        graph.add_edge("check", END)
        return graph.compile()

    return build


def test_a_node_checks_the_last_answer_against_what_tools_returned(agent: HaluAgent, graph: Any) -> None:
    earlier = [("user", "Hello?"), ("assistant", "1 + 1 = 3.")]
    state = {"messages": [*earlier, ("user", "How many pens?")], "context": ["seven boxes"]}
    out = graph(agent, WRONG).invoke(state)
    assert out["flagged"] is True and out["detection"]["response"] == WRONG
    assert out["detection"]["question"] == "How many pens?"
    assert [message.text for message in out["messages"]][-1] == WRONG
    assert asyncio.run(graph(agent, RIGHT).ainvoke(state))["flagged"] is False
    prompts = "".join(message["content"] for seen in agent.model.seen for message in seen)  # type: ignore[attr-defined]
    assert "12 pens a box\n\nseven boxes" in prompts and "lost" not in prompts


def test_a_node_puts_a_message_in_the_place_of_the_flagged_one(agent: HaluAgent, graph: Any) -> None:
    state = {"messages": [("user", "How many pens?")]}
    out = graph(agent, WRONG, when_flagged="replace", replacement="Sorry.").invoke(state)
    texts = [message.text for message in out["messages"]]
    assert texts[-1] == "Sorry." and WRONG not in texts and len(texts) == 5
    assert graph(agent, RIGHT, when_flagged="replace").invoke(state)["messages"][-1].text == RIGHT


def test_a_node_before_the_answer_is_refused(agent: HaluAgent) -> None:
    from haluagent.integrations.langchain import check_node

    for messages in ([], [("user", "How many?")], [("assistant", "Hello."), ("user", "How many?")]):
        with pytest.raises(ConfigError, match="put the check after the node that answers"):
            check_node(agent).invoke({"messages": messages})


def test_without_langchain_the_extra_is_named() -> None:
    code = "import sys; sys.modules['langchain_core'] = None; import haluagent.integrations.langchain"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'haluagent.errors.ConfigError: LangChain is not installed: pip install "haluagent[langchain]"' in ran.stderr
