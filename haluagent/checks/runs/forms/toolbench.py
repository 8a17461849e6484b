"""Converting the trajectories of ToolBench (Qin et al. 2023, "ToolLLM") to runs: a conversation of its training data, or
the record that its inference writes."""

import ast
import re
import warnings
from typing import Any

from haluagent.checks.runs.forms.assemble import Assembly
from haluagent.checks.runs.forms.plain import arguments_of, load, name_of, objects, plain, text_of, tools_of
from haluagent.checks.runs.records import AgentRun, ToolSpec
from haluagent.errors import ConfigError

FINISH = "Finish"  # its function that ends a task: with an answer, or by giving up
APIS = "you have access to the following APIs:"
LONGEST = 500_000  # characters of a list of APIs
_STEP = re.compile(r"Action\s*:\s*(.*?)\s*\n\s*Action Input\s*:(.*)", re.DOTALL)
_THOUGHT = re.compile(r"^\s*Thought\s*:\s*", re.IGNORECASE)


def from_toolbench(given: dict[str, Any]) -> AgentRun:
    """Convert a trajectory to a run: `{id, conversations}` with the steps as texts, or an object with
    `answer_generation`, of whose messages the longest path is read.

    `Finish` is no call: its answer is the run's. A result with an `error` has failed. No tool takes a parameter that it
    does not name. Raise a `ConfigError` that names the field that is missing or wrong.
    """
    generated = given.get("answer_generation")
    if isinstance(generated, dict):
        paths = generated.get("train_messages")
        if not isinstance(paths, list) or not paths or not all(isinstance(path, list) for path in paths):
            raise ConfigError("answer_generation.train_messages holds no messages")
        messages = objects(max(paths, key=len), "train_messages")
        tools = generated.get("function")
    else:
        steps = objects(given.get("conversations", given.get("messages")), "conversations")
        messages = [_message(step, f"conversations[{number}]") for number, step in enumerate(steps)]
        tools = _apis("\n".join(text_of(one["content"]) for one in messages if one["role"] == "system"))
    made = Assembly()
    for number, message in enumerate(messages):
        _add(made, message, f"messages[{number}]")
    run_id = plain(given.get("id", given.get("query_id")), "id")
    return made.run(_strict(tools_of(tools)), {"run_id": None if run_id is None else str(run_id)})


def _message(step: dict[str, Any], place: str) -> dict[str, Any]:
    """Return a step of the training data as a message with a `function_call`."""
    role, value = name_of(step, "from", place), name_of(step, "value", place)
    if role == "user":
        value = value.strip().removesuffix("Begin!").strip()
    found = _STEP.search(value) if role == "assistant" else None
    if found is None:
        return {"role": role, "content": value.strip()}
    call = {"name": found[1], "arguments": found[2].strip()}
    return {"role": role, "content": _THOUGHT.sub("", value[: found.start()]).strip(), "function_call": call}


def _add(made: Assembly, message: dict[str, Any], place: str) -> None:
    role, text = name_of(message, "role", place), text_of(message.get("content"))
    if role == "system":  # it describes the tools, and an example in it is no value that the user gave
        return
    if role == "user":
        made.say("user", text)
    elif role == "assistant":
        call = message.get("function_call")
        if not isinstance(call, dict):
            made.say("assistant", text)
            return
        name, arguments = name_of(call, "name", f"{place}.function_call"), arguments_of(call.get("arguments"))
        if name == FINISH:
            made.say("assistant", _answer(arguments))
            return
        made.say("assistant", text)
        made.call(None, name, arguments)
    elif role in ("function", "tool"):
        last = made.calls.last_open()
        if last is not None:  # what follows `Finish` is the result of no call
            made.answer(last, text, _failed(text))
    else:
        raise ConfigError(f"{place}.role is {role!r}: use system, user, assistant or function")


def _answer(arguments: dict[str, Any] | str) -> str:
    """Return what Finish tells the user; giving up says what it says, if anything."""
    if isinstance(arguments, str):
        return arguments
    return text_of(arguments.get("final_answer")) or text_of(arguments.get("return_type"))


def _failed(result: str) -> bool:
    try:
        found = load(result)
    except ValueError:
        return False
    return isinstance(found, dict) and bool(found.get("error"))


def _apis(system: str) -> list[Any]:
    """Return the tools that a system prompt lists as a Python or JSON literal."""
    listed = system.rpartition(APIS)[2].strip()
    if not listed.startswith("["):
        raise ConfigError(f"the system prompt has no list of tools after {APIS!r}")
    if len(listed) > LONGEST:
        raise ConfigError(f"the list of tools is longer than {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its escape sequences
            found = plain(ast.literal_eval(listed), "the list of tools")
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        try:
            found = load(listed)
        except ValueError:
            raise ConfigError("the system prompt's list of tools is neither a Python nor a JSON literal") from None
    return found if isinstance(found, list) else [found]


def _strict(tools: tuple[ToolSpec, ...]) -> tuple[ToolSpec, ...]:
    return tuple(
        tool.model_copy(update={"parameters": tool.parameters | {"additionalProperties": False}})
        for tool in tools
        if tool.name != FINISH
    )
