"""Check the demos of a tool when it is defined: the model copies what it is shown, so each must be a valid call."""

from pydantic import ValidationError

from haluagent.errors import ConfigError, FormatError
from haluagent.text.segment import split
from haluagent.tooling.tool import Demo, Tool
from haluagent.tooling.turn_format import parse, write_call
from haluagent.types import Sentence, ToolCall


def check_demos(item: Tool) -> None:
    """Raise ConfigError for a demo whose call is not the tool's own, or could not be made."""
    for demo in item.demos:
        for name in ("question", "response", "thought", "call", "observation"):
            if not getattr(demo, name).strip():
                raise ConfigError(f"tool {item.name}: fill in the {name} of the {demo.language} demo")
        if "\n" in demo.thought:
            raise ConfigError(f"tool {item.name}: write the thought of the {demo.language} demo on one line")
        if problem := _problem(item, demo):
            raise ConfigError(f"tool {item.name}: the {demo.language} demo's call {demo.call!r} {problem}")


def demo_call(demo: Demo) -> ToolCall:
    """Return the call of a demo. Raises FormatError where it is no call."""
    return parse(demo.call).call


def demo_sentences(demo: Demo) -> dict[str, Sentence]:
    """Return what the call of a demo may point to, by name: the whole response (S0), and its sentences as in a detection."""
    whole = Sentence(index=0, text=demo.response, span=(0, len(demo.response)))
    return {sentence.name: sentence for sentence in (whole, *split(demo.response))}


def _problem(item: Tool, demo: Demo) -> str | None:
    """Say what to change in a demo, as the end of a sentence; None where nothing is wrong."""
    try:
        call = demo_call(demo)
    except FormatError:
        return f"cannot be read: write it like {_example(item)}"
    if call.name != item.name:
        return f"calls another tool: write it like {_example(item)}"
    arguments, sentences = dict(call.arguments), demo_sentences(demo)
    pointer = arguments.get("sentence")
    if "sentence" in item.parameters and pointer is not None:
        if pointer not in sentences:
            return f"points to {pointer}: the sentences of its response are {', '.join(sentences)}"
        arguments["sentence"] = sentences[pointer]
    try:
        item.arguments.model_validate(arguments, strict=True)  # a number in quotes is no number
    except ValidationError as error:
        first = error.errors()[0]
        return f"does not fit the arguments: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if demo.call != write_call(call):
        return f"is not written as the model has to write it: {write_call(call)}"
    return None


def _example(item: Tool) -> str:
    return f"{item.name}(sentence=S1)" if "sentence" in item.parameters else f"{item.name}(...)"
