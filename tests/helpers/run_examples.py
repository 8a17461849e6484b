"""One run as six libraries keep it, in dicts."""

import json
from typing import Any

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "weather", "description": "The weather of a city.", "parameters": PARAMETERS}
TEXTS = (
    "Be short.",
    "How warm is it in Osk and in Brod?",
    "Let me look.",
    "It is 21 degrees in Osk; I do not know about Brod.",
)
SYSTEM, ASKED, LOOK, ANSWER = TEXTS


def message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts), **({"finish_reason": "stop"} if role == "assistant" else {})}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


OTEL_CALLS = [
    text(LOOK),
    {"type": "reasoning", "content": "two cities"},
    {"type": "tool_call", "id": "a", "name": "weather", "arguments": {"city": "Osk"}},
    {"type": "tool_call", "id": "b", "name": "weather", "arguments": '{"city": "Bro'},
]
OTEL_INPUT = [message("user", text(ASKED))]
OTEL_SECOND = [
    *OTEL_INPUT,
    message("assistant", *OTEL_CALLS),
    message("tool", {"type": "tool_call_response", "id": "a", "response": {"degrees": 21}}),
    message("tool", {"type": "tool_call_response", "id": "b", "response": "no such city"}),
]
INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"


def span(operation: str, start: int, failed: bool = False, **attributes: Any) -> dict[str, Any]:
    """A span of OTLP's JSON. Data is written as JSON text, as exporters without structured attributes do."""
    named = {"gen_ai." + name.replace("__", "."): value for name, value in attributes.items()}
    given = {
        name: {"stringValue": value if isinstance(value, str) else json.dumps(value)}
        for name, value in ({"gen_ai.operation.name": operation} | named).items()
    }
    listed = [{"key": name, "value": value} for name, value in given.items()]
    return {
        "traceId": "5b8e", "name": operation, "startTimeUnixNano": str(start), "status": {"code": 2} if failed else {},
        "attributes": listed,
    }  # fmt: skip


SPANS = [
    span("invoke_agent", 90, input__messages=OTEL_INPUT, output__messages=[message("assistant", text(ANSWER))]),
    span("chat", 300, input__messages=OTEL_SECOND, output__messages=[message("assistant", text(ANSWER))]),
    span(
        "chat", 100, system_instructions=[text(SYSTEM)], tool__definitions=[{"type": "function", **FUNCTION}],
        input__messages=OTEL_INPUT, output__messages=[message("assistant", *OTEL_CALLS)],
    ),
    span("execute_tool", 200, tool__name="weather", tool__call__id="a", tool__call__result='{"degrees": 21}'),
    span("execute_tool", 210, True, tool__name="weather", tool__call__id="b"),
]  # fmt: skip

TOOLBENCH = f"You are AutoGPT.\nSpecifically, you have access to the following APIs: {[FUNCTION, {'name': 'Finish'}]!r}"
GIVEN = {"return_type": "give_answer", "final_answer": ANSWER}

EXAMPLES: dict[str, Any] = {
    "toolbench": {
        "id": "Step 3: How warm is it?",
        "conversations": [
            {"from": "system", "value": TOOLBENCH},
            {"from": "user", "value": f"\n{ASKED}\nBegin!\n"},
            {"from": "assistant", "value": f'\nThought: {LOOK}\nAction: weather\nAction Input: {{"city": "Osk"}}'},
            {"from": "function", "value": '{"error": "", "response": "21 degrees"}'},
            {"from": "assistant", "value": f"\nThought: \nAction: Finish\nAction Input: {json.dumps(GIVEN)}"},
        ],
        "answer_generation": None,
    },
    "detection": {
        "question": ASKED,
        "response": "Osk has 21 degrees.",
        "language": "en",
        "hallucination": None,
        "score": 0.5,
        "sentences": [
            {
                "sentence": {"index": 1, "text": "Osk has 21 degrees.", "span": [0, 19]},
                "label": "unverified",
                "reason": "no search",
            }
        ],
        "steps": [
            {
                "sentence": 1,
                "thought": LOOK,
                "call": {"name": "web_search", "arguments": {"sentence": "S1", "query": "Osk degrees"}},
                "result": None,
                "error": "there is no search",
            }
        ],
    },
    "openai": {
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"role": "developer", "content": SYSTEM},
            {
                "role": "user",
                "content": [{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": "data:"}}],
            },
            {
                "role": "assistant",
                "content": LOOK,
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Osk"}'}},
                    {"id": "b", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Bro'}},
                ],
            },
            {"role": "tool", "tool_call_id": "b", "content": "no such city"},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": '{"degrees": 21}'}]},
            {"role": "assistant", "content": ANSWER},
        ],
    },
    "openai-responses": {
        "instructions": SYSTEM,
        "tools": [{"type": "function", **FUNCTION}],
        "items": [
            {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "two cities"}]},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": LOOK, "annotations": []}],
            },
            {"type": "function_call", "call_id": "a", "name": "weather", "arguments": '{"city": "Osk"}'},
            {"type": "function_call", "call_id": "b", "name": "weather", "arguments": '{"city": "Bro'},
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [{"type": "input_text", "text": '{"degrees": 21}'}],
            },
            {"type": "function_call_output", "call_id": "b", "output": "no such city"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER}]},
        ],
    },
    "anthropic": {
        "system": [{"type": "text", "text": SYSTEM}],
        "tools": [{"name": "weather", "description": "The weather of a city.", "input_schema": PARAMETERS}],
        "messages": [
            {"role": "user", "content": ASKED},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "two cities", "signature": "s"},
                    {"type": "text", "text": "Let me "},
                    {"type": "text", "text": "look."},
                    {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Osk"}},
                    {"type": "tool_use", "id": "b", "name": "weather", "input": '{"city": "Bro'},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "a",
                        "content": [{"type": "text", "text": '{"degrees": 21}'}],
                    },
                    {"type": "tool_result", "tool_use_id": "b", "content": "no such city", "is_error": True},
                ],
            },
            {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
        ],
    },
    "langgraph": {
        "tools": [{"type": "function", "function": FUNCTION}],
        "messages": [
            {"type": "system", "content": SYSTEM},
            {"type": "human", "content": ASKED},
            {
                "type": "ai",
                "content": [
                    {"type": "text", "text": LOOK},
                    {"type": "tool_use", "id": "a", "name": "weather", "input": {}},
                ],
                "tool_calls": [{"name": "weather", "args": {"city": "Osk"}, "id": "a", "type": "tool_call"}],
                "invalid_tool_calls": [{"name": "weather", "args": '{"city": "Bro', "id": "b", "error": "not JSON"}],
            },
            {"type": "tool", "content": '{"degrees": 21}', "tool_call_id": "a", "status": "success"},
            {"type": "tool", "content": "no such city", "tool_call_id": "b", "status": "error"},
            {"type": "ai", "content": ANSWER},
        ],
    },
    "otel": {"resourceSpans": [{"scopeSpans": [{"spans": SPANS[:2]}, {"spans": SPANS[2:]}]}]},
}
