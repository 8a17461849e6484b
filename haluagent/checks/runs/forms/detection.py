"""Converting a detection of HaluAgent to a run: its task, the calls of its steps, and its report as the answer."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from haluagent.checks.runs.forms.assemble import Assembly
from haluagent.checks.runs.forms.plain import plain
from haluagent.checks.runs.records import AgentRun, ToolSpec
from haluagent.errors import ConfigError
from haluagent.text.messages import message
from haluagent.tools import default_registry
from haluagent.types import Detection, MemoryEntry, Step

if TYPE_CHECKING:
    from haluagent.tooling.tool import Tool


def from_detection(given: dict[str, Any]) -> AgentRun:
    """Convert a Detection in JSON, as `haluagent detect --json` prints it, to a run.

    Raise `ConfigError` if it is invalid.
    """
    try:
        detection = Detection.model_validate_json(json.dumps(plain(given, "the detection")), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"it is no Detection: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return detection_run(detection)


def detection_run(
    detection: Detection, *, reference: str | None = None, tools: "Iterable[Tool] | None" = None
) -> AgentRun:
    """Convert a detection to a run: each step is a thought with its call, an observation its result, and the answer
    gives the outcome for every sentence.

    `reference` is the one that was given, which a Detection does not keep; `tools` are those that were offered, the
    built-in ones if None.
    """
    if tools is None:
        tools = default_registry()
    names = ["S0", *(entry.sentence.name for entry in detection.sentences if entry.sentence.index)]
    made = Assembly()
    made.say("user", _task(detection, reference))
    for step in detection.steps:
        _step(made, step)
    made.say("assistant", "\n".join(_said(entry, detection) for entry in detection.sentences))
    return made.run(tuple(_spec(tool, names, detection) for tool in tools), {"language": detection.language})


def _task(detection: Detection, reference: str | None) -> str:
    given = [detection.question, detection.response, reference or ""]
    named = [f"{entry.sentence.name}: {entry.sentence.claim}" for entry in detection.sentences]
    return "\n\n".join(text for text in [*given, "\n".join(named)] if text)


def _step(made: Assembly, step: Step) -> None:
    made.say("assistant", step.thought)
    if step.call is None:
        return
    call = made.call(None, step.call.name, step.call.arguments)
    if step.error is not None:
        call.result, call.failed = step.error, True
    elif step.result is not None:
        call.result = step.result.observation


def _said(entry: MemoryEntry, detection: Detection) -> str:
    said = f"{entry.sentence.name}: {message(f'report.label.{entry.outcome}', detection.language)}"
    return f"{said}: {entry.reason}" if entry.reason else said


def _spec(tool: "Tool", names: list[str], detection: Detection) -> ToolSpec:
    return ToolSpec(name=tool.name, description=tool.description[detection.language], parameters=tool.schema(names))
