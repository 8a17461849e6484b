"""What other libraries keep of a run, read as a run: in their dicts, and in their own objects where they are installed."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from run_examples import ANSWER, ASKED, EXAMPLES, FUNCTION, INPUT, LOOK, OTEL_INPUT, SPANS, SYSTEM, message, span, text
from waiting import steps

from haluagent.checks.runs.forms.anthropic import from_anthropic as anthropic
from haluagent.checks.runs.forms.langgraph import from_langgraph as langgraph
from haluagent.checks.runs.forms.openai import from_openai_chat as chat
from haluagent.checks.runs.forms.openai import from_openai_responses as responses
from haluagent.checks.runs.forms.otel import from_otel as otel
from haluagent.checks.runs.forms.reading import SOURCES, convert
from haluagent.checks.runs.records import AgentRun
from haluagent.errors import ConfigError


def is_the_run(run: AgentRun, errors_are_said: bool) -> None:
    """All examples tell the same run; OpenAI's interfaces do not tell which result is an error."""
    assert (run.system, run.answer) == (SYSTEM, ANSWER)
    assert [tool.model_dump(exclude={"allowed"}) for tool in run.tools] == [FUNCTION]
    assert [(turn.role, turn.text) for turn in run.turns] == [("user", ASKED), ("assistant", LOOK)]
    osk, brod = run.turns[1].calls
    assert (osk.id, osk.tool, osk.arguments, osk.result, osk.failed) == (
        "a",
        "weather",
        {"city": "Osk"},
        '{"degrees": 21}',
        False,
    )
    assert (brod.id, brod.arguments, brod.result, brod.failed) == (
        "b",
        '{"city": "Bro',
        "no such city",
        errors_are_said,
    )


@pytest.mark.parametrize("source", sorted(SOURCES.keys() - {"detection", "toolbench"}))  # runs of their own
def test_all_forms_tell_the_same_run(source: str) -> None:
    run = convert(EXAMPLES[source], source)
    is_the_run(run, source not in ("openai", "openai-responses"))
    assert run == convert(EXAMPLES[source], source) and (
        run.run_id == "5b8e" if source == "otel" else run.run_id.startswith("run-")
    )


def test_the_old_function_call_has_no_ids() -> None:
    calls = [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": f'{{"n": {n}}}'}}
        for n in (1, 2)
    ]
    results = [{"role": "function", "name": "f", "content": answer} for answer in ("one", "two")]
    run = chat([{"role": "user", "content": "?"}, calls[0], results[0], calls[1], results[1]])
    assert [(c.id, c.arguments, c.result) for t in run.turns for c in t.calls] == [
        ("call-1", {"n": 1}, "one"), ("call-2", {"n": 2}, "two"),
    ]  # fmt: skip
    assert run.answer == ""


def test_ids_that_a_server_counts_anew_in_every_turn_stay_apart() -> None:
    def turn(n: int) -> list[dict[str, Any]]:
        call = {"id": "call_0", "function": {"name": "f", "arguments": {"n": n}}}
        return [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_0", "content": f"result {n}"},
        ]

    run = chat([*turn(1), *turn(2), *turn(3)])
    assert [(c.arguments, c.result) for t in run.turns for c in t.calls] == [
        ({"n": n}, f"result {n}") for n in (1, 2, 3)
    ]
    assert len({c.id for t in run.turns for c in t.calls}) == 3


@pytest.mark.parametrize("written", ['{"a": NaN}', "[1]", '"x"', "", '{"a": 1e999}', "[" * 5000, '{"a": 1'])
def test_arguments_that_are_no_object_stay_as_they_were_written(written: str) -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": written}}
    run = chat([{"role": "assistant", "tool_calls": [call]}])
    assert run.turns[0].calls[0].arguments == written


@pytest.mark.parametrize("more", [{"haluagent_stopped": True}, {"haluagent_stopped": "yes"}, {}, None])
def test_the_message_of_a_guard_tells_that_a_call_was_stopped(more: Any) -> None:
    called = {"type": "ai", "content": "", "tool_calls": [{"name": "weather", "args": {}, "id": "a"}]}
    told = {
        "type": "tool",
        "content": "not executed",
        "tool_call_id": "a",
        "status": "error",
        "additional_kwargs": more,
    }
    run = langgraph([{"type": "human", "content": "How warm?"}, called, told])
    assert run.turns[1].calls[0].failed and run.turns[1].calls[0].stopped is (more == {"haluagent_stopped": True})


def test_the_answer_is_the_last_text_that_makes_no_call() -> None:
    def run(*messages: tuple[str, str]) -> AgentRun:
        return langgraph(list(messages))

    asked_again = run(("human", "a?"), ("ai", "A."), ("human", "b?"), ("ai", "B."), ("human", "thanks"))
    assert (asked_again.answer, [turn.text for turn in asked_again.turns]) == ("B.", ["a?", "A.", "b?"])
    call = {
        "role": "assistant",
        "content": "Wait.",
        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
    }
    waiting = chat([{"role": "user", "content": "a?"}, {"role": "assistant", "content": "A."}, call])
    assert waiting.answer == "" and waiting.turns[-1].calls[0].result is None


def test_other_calls_of_the_responses_interface() -> None:
    items = [
        {
            "type": "mcp_call",
            "id": "m",
            "name": "search",
            "arguments": '{"q": "Osk"}',
            "output": "nothing",
            "server_label": "s",
        },
        {"type": "mcp_call", "id": "n", "name": "search", "arguments": "{}", "error": {"message": "q is missing"}},
        {"type": "custom_tool_call", "call_id": "c", "name": "shell", "input": "ls /tmp"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "a.txt"},
        {"type": "web_search_call", "id": "w", "status": "completed"},
    ]
    run = responses(items)
    assert [(c.id, c.arguments, c.result, c.failed) for t in run.turns for c in t.calls] == [
        ("m", {"q": "Osk"}, "nothing", False), ("n", {}, '{"message": "q is missing"}', True), ("c", "ls /tmp", "a.txt", False),
    ]  # fmt: skip


def test_a_provider_tells_only_what_is_new_of_a_conversation() -> None:
    results = {"a": {"degrees": 21}, "b": "no such city"}
    later = [message("tool", {"type": "tool_call_response", "id": i, "response": r}) for i, r in results.items()]
    spans = [SPANS[2], span("chat", 300, input__messages=later, output__messages=[message("assistant", text(ANSWER))])]
    is_the_run(otel(spans), False)


def test_what_the_spans_of_tools_say_stands_in_for_messages_that_lack_it() -> None:
    first = span("chat", 100, input__messages=OTEL_INPUT, output__messages=[message("assistant", text(LOOK))])
    tool = span(
        "execute_tool", 200, tool__name="weather", tool__call__arguments='{"city": "Osk"}', tool__call__result="21"
    )
    last = span("chat", 300, output__messages=[message("assistant", text(ANSWER))])
    run = otel([last, tool, first])
    assert [(c.tool, c.arguments, c.result) for c in run.turns[1].calls] == [("weather", {"city": "Osk"}, "21")]
    assert run.answer == ANSWER


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: chat([]), "the run is empty"),
        (lambda: chat("hi"), "messages is not a list"),
        (lambda: chat([{"role": "tool", "tool_call_id": "x"}]), r"messages\[0\] is a result of call 'x', which was not called"),
        (lambda: chat([{"role": "bot", "content": ""}]), r"messages\[0\].role is 'bot': use system"),
        (lambda: chat([{"content": "x"}]), r"messages\[0\].role is missing"),
        (lambda: chat([{"role": "user", "content": "x"}], [{}]), r"tools\[0\].name is missing"),
        (lambda: responses([{"type": "function_call", "name": "f"}]), r"items\[0\].call_id is missing"),
        (lambda: anthropic([{"role": "user", "content": [{"text": "x"}]}]), r"messages\[0\].content\[0\].type is missing"),
        (lambda: langgraph([{"type": "robot", "content": "x"}]), r"messages\[0\].type is 'robot'"),
        (lambda: langgraph([{"type": "human", "content": object()}]), "holds object"),
        (lambda: otel([{"name": "GET /"}]), "no span has gen_ai.input.messages"),
        (lambda: otel([SPANS[1], {**SPANS[2], "traceId": "other"}]), "the spans are of 2 traces"),
        (lambda: otel([{"attributes": {INPUT: '[{"role": "us'}}]), rf"spans\[0\]: {INPUT} is not JSON: was it cut off"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(make: Callable[[], AgentRun], line: str) -> None:
    with pytest.raises(ConfigError, match=line) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_second_result_of_a_call_is_no_result() -> None:
    with pytest.raises(ConfigError, match="is a second result of call 'b', which has one"):
        chat([*EXAMPLES["openai"]["messages"], {"role": "tool", "tool_call_id": "b", "content": "again"}])


def test_results_find_their_calls_whoever_tells_of_them_first() -> None:
    """A result without an id is that of the first call that waits; a span without one is that of the last."""
    calls = [{"type": "tool_call", "name": "f", "arguments": {"n": n}} for n in (1, 2, 3)]
    asked = span("chat", 100, output__messages=[message("assistant", *calls)])
    tool = span("execute_tool", 200, tool__name="f", tool__call__result="three")
    unnamed: list[dict[str, Any]] = [{"response": "one"}, {"response": "two", "id": ""}]
    told = [message("tool", {"type": "tool_call_response", **part}) for part in unnamed]
    run = otel([asked, tool, span("chat", 300, input__messages=told)])
    assert [call.result for turn in run.turns for call in turn.calls] == ["one", "two", "three"]
    with pytest.raises(ConfigError, match="is a result, and no call waits for one"):
        otel(
            [
                asked,
                tool,
                span(
                    "chat",
                    300,
                    input__messages=[*told, message("tool", {"type": "tool_call_response", "response": "x"})],
                ),
            ]
        )


@pytest.mark.parametrize("spans_too", [False, True])
def test_spans_whose_ids_are_counted_anew_in_every_turn(spans_too: bool) -> None:
    history: list[Any] = []
    spans = []
    for n in range(3):
        call = {"type": "tool_call", "id": "call_0", "name": "f", "arguments": {"n": n}}
        spans.append(span("chat", 10 * n, input__messages=[*history], output__messages=[message("assistant", call)]))
        if spans_too:
            spans.append(
                span("execute_tool", 10 * n + 5, tool__name="f", tool__call__id="call_0", tool__call__result=f"raw {n}")
            )
        told = {"type": "tool_call_response", "id": "call_0", "response": f"result {n}"}
        history += [message("assistant", call), message("tool", told)]
    spans.append(
        span(
            "chat",
            90,
            input__messages=history,
            output__messages=[message("assistant", {"type": "text", "content": "Done."})],
        )
    )
    run = otel(spans)
    assert [(call.arguments, call.result) for turn in run.turns for call in turn.calls] == [
        ({"n": n}, f"result {n}") for n in range(3)
    ]
    assert run.answer == "Done."


@pytest.mark.parametrize("names", ["c{}", None, "call_0"])  # the last is counted anew in every turn
def test_many_calls_are_read_in_proportion(names: str | None) -> None:
    read_calls(names, 10)
    assert read_calls(names, 100) < 2.2 * read_calls(names, 50)  # and four times, where each looks through all calls


def read_calls(names: str | None, count: int) -> int:
    """Read a run of many calls in both forms, and return what that took."""
    messages: list[dict[str, Any]] = []
    spans = []
    for n in range(count):
        given = names.format(n) if names else None
        call = {"name": "f", "arguments": f'{{"n": {n}}}'}
        if given:
            messages.append({"role": "assistant", "tool_calls": [{"id": given, "function": call}]})
            messages.append({"role": "tool", "tool_call_id": given, "content": f"result {n}"})
        else:
            messages += [
                {"role": "assistant", "function_call": call},
                {"role": "function", "name": "f", "content": f"result {n}"},
            ]
        part = {"type": "tool_call", "id": given, **call}
        named = {"tool__call__id": given} if given else {}
        spans.append(span("chat", 2 * n, output__messages=[message("assistant", part)]))
        spans.append(span("execute_tool", 2 * n + 1, tool__name="f", tool__call__result=f"result {n}", **named))
    runs: list[AgentRun] = []
    taken = steps(lambda: runs.extend((chat(messages), otel(spans))))
    for run in runs:
        told = [(call.arguments, call.result) for turn in run.turns for call in turn.calls]
        assert told == [({"n": n}, f"result {n}") for n in range(count)]
    return taken


@pytest.mark.integrations
def test_messages_of_langchain_in_all_their_writings() -> None:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage, messages_to_dict
    from langchain_core.tools import tool

    @tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return city

    wrong = {"name": "weather", "args": '{"city": "Bro', "id": "b", "error": "not JSON", "type": "invalid_tool_call"}
    right = {"name": "weather", "args": {"city": "Osk"}, "id": "a", "type": "tool_call"}
    messages: Any = [
        SystemMessage(SYSTEM), HumanMessage(ASKED), AIMessage(LOOK, tool_calls=[right], invalid_tool_calls=[wrong]),
        ToolMessage('{"degrees": 21}', tool_call_id="a", artifact=object()),
        ToolMessage("no such city", tool_call_id="b", status="error"), AIMessage(ANSWER),
    ]  # fmt: skip
    for form in (messages, messages_to_dict(messages), [one.model_dump() for one in messages]):
        is_the_run(langgraph(form, [{"function": FUNCTION}]), True)
    spec = langgraph(messages, [weather]).tools[0]
    assert (spec.name, spec.parameters["required"]) == ("weather", ["city"])


@pytest.mark.integrations
def test_objects_of_openai_and_anthropic() -> None:
    from anthropic.types import Message
    from openai.types.chat import ChatCompletionMessage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

    said = [
        ChatCompletionMessage.model_validate(one) if one["role"] == "assistant" else one
        for one in EXAMPLES["openai"]["messages"]
    ]
    is_the_run(chat(said, EXAMPLES["openai"]["tools"]), False)

    kinds: dict[str, Any] = {"message": ResponseOutputMessage, "function_call": ResponseFunctionToolCall}
    items = [
        kinds[one["type"]].model_construct(**one) if one.get("type") in kinds and one.get("role") != "user" else one
        for one in EXAMPLES["openai-responses"]["items"]
    ]
    is_the_run(responses(items, EXAMPLES["openai-responses"]["tools"], instructions=SYSTEM), False)

    given = EXAMPLES["anthropic"]
    usage = {"input_tokens": 1, "output_tokens": 1}
    base = {
        "id": "m",
        "type": "message",
        "model": "x",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    messages: list[Any] = []
    for one in given["messages"]:
        if one["role"] == "user":
            messages.append(one)
            continue
        blocks = Message.model_construct(**base, role="assistant", content=one["content"]).content
        messages.append({"role": "assistant", "content": blocks})
    is_the_run(anthropic(messages, given["system"], given["tools"]), True)
    answer = Message.model_validate({**base, "role": "assistant", "content": given["messages"][-1]["content"]})
    is_the_run(anthropic([*given["messages"][:-1], answer], given["system"], given["tools"]), True)


@pytest.mark.integrations
def test_spans_of_the_sdk_of_opentelemetry() -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Status, StatusCode

    tracer = TracerProvider().get_tracer("agent")
    spans: list[Any] = []
    with tracer.start_as_current_span("invoke_agent"):
        for kept in sorted(SPANS[1:], key=lambda kept: int(kept["startTimeUnixNano"])):
            named = {pair["key"]: pair["value"]["stringValue"] for pair in kept["attributes"]}
            with tracer.start_as_current_span(kept["name"], attributes=named) as made:
                if kept["status"]:
                    made.set_status(Status(StatusCode.ERROR))
            spans.append(made)
    written = [json.loads(made.to_json()) for made in spans]
    for form in (spans, spans[::-1], written):
        run = otel(form)
        is_the_run(run, True)
        assert run.run_id == f"{spans[0].context.trace_id:032x}"
