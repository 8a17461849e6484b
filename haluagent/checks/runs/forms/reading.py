"""Reading a run in its documented JSON form, or in that of another library (docs/runs.md).

Every error is one line that says where.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from haluagent.checks.runs.forms.anthropic import from_anthropic
from haluagent.checks.runs.forms.detection import from_detection
from haluagent.checks.runs.forms.langgraph import from_langgraph
from haluagent.checks.runs.forms.openai import from_openai_chat, from_openai_responses
from haluagent.checks.runs.forms.otel import from_otel
from haluagent.checks.runs.forms.toolbench import from_toolbench
from haluagent.checks.runs.records import AgentRun, HallucinationReport
from haluagent.errors import ConfigError
from haluagent.types import Record

__all__ = [
    "SOURCES", "convert", "from_anthropic", "from_detection", "from_langgraph", "from_openai_chat", "from_openai_responses",
    "from_otel", "from_toolbench", "parse", "read", "read_text", "schema",
]  # fmt: skip

PROBLEMS = {
    "missing": "is missing",
    "extra_forbidden": "is no field of a run",
    "string_type": "is not a text",
    "bool_type": "is not true or false",
    "tuple_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
}

# From a file: the messages of a conversation, alone or in an object with `tools` and, with Anthropic, `system`; or the
# output of `haluagent detect --json`.
SOURCES: dict[str, Callable[[dict[str, Any]], AgentRun]] = {
    "openai": lambda given: from_openai_chat(given.get("messages"), given.get("tools")),
    "openai-responses": lambda given: from_openai_responses(
        given.get("items", given.get("messages")), given.get("tools"), instructions=given.get("instructions")
    ),
    "anthropic": lambda given: from_anthropic(given.get("messages"), given.get("system"), given.get("tools")),
    "langgraph": lambda given: from_langgraph(given.get("messages"), given.get("tools")),
    "otel": lambda given: from_otel(given.get("messages", given)),
    "toolbench": from_toolbench,
    "detection": from_detection,
}


def read(path: Path | str, source: str = "haluagent") -> AgentRun:
    """Read the run in a JSON file, in our form or in one of SOURCES.

    Raise a `ConfigError` of one line if there is none.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text: convert it first, for example with iconv") from error
    except ValueError as error:  # a NUL in the path
        raise ConfigError(f"cannot read {str(path)!r}: {error}") from error
    return read_text(text, str(path), source)


def read_text(text: str, place: str, source: str = "haluagent") -> AgentRun:
    """Read the run in a JSON text, as `read` does; `place` names it in an error."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is not JSON: {str(error) or 'nested too deep'}") from None
    return parse(found, place) if source == "haluagent" else convert(found, source, place)


def convert(given: Any, source: str, place: str = "the run") -> AgentRun:
    """Convert the data of another library to a run: a list of messages, items or spans, or an object that has them.

    Raise `ConfigError`, also for a source that is not one of SOURCES.
    """
    if source not in SOURCES:
        raise ConfigError(f"no form of a run is called {source!r}: use haluagent, {', '.join(SOURCES)}")
    if not isinstance(given, dict | list):
        raise ConfigError(f"{place} is neither a list of messages nor an object with them")
    try:
        return SOURCES[source](given if isinstance(given, dict) else {"messages": given})
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None


def parse(given: Any, place: str = "the run") -> AgentRun:
    """Parse the run that an object of JSON data describes. Raise a `ConfigError` of one line that names the field."""
    if not isinstance(given, dict):
        raise ConfigError(f"{place} is not an object: a run is {{run_id, system?, tools?, turns, answer}}")
    try:
        text = json.dumps(given, ensure_ascii=False, allow_nan=False)
        text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{place} holds half a character (a lone surrogate)") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ConfigError(f"{place} is no JSON data: {str(error) or 'nested too deep'}") from None
    try:
        run = AgentRun.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise ConfigError(f"{place}: {_line(error)}") from None
    _check(run, place)
    return run


def schema(record: type[Record] = HallucinationReport) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a report, or of another record.

    The package has those of a report and of a run as files: runs/hallucination-report.schema.json and
    runs/agent-run.schema.json.
    """
    # A report has all of its fields, a run may leave some out.
    mode: Literal["validation", "serialization"] = "validation" if record is AgentRun else "serialization"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **record.model_json_schema(mode=mode)}


def _line(error: ValidationError) -> str:
    """Return the first problem, with the path of its field, leaving out which of several types was tried."""
    found = error.errors()
    first = found[0]
    path = ""
    for part in first["loc"]:
        if isinstance(part, str) and (part == "str" or "[" in part):
            break
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    if path.endswith("arguments"):
        return f"{path} is neither an object nor a text"
    return f"{path or 'it'} {PROBLEMS.get(first['type'], '- ' + first['msg'])}"


def _check(run: AgentRun, place: str) -> None:
    for what, names in (
        ("the tool", [tool.name for tool in run.tools]),
        ("the call id", [call.id for turn in run.turns for call in turn.calls]),
    ):
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise ConfigError(f"{place}: {what} {name!r} is there twice")
            seen.add(name)
    for number, turn in enumerate(run.turns):
        if turn.role == "user" and turn.calls:
            raise ConfigError(f"{place}: turns[{number}] is the user's, and only the model makes calls")
        for at, call in enumerate(turn.calls):
            if call.failed and call.result is None:
                raise ConfigError(
                    f"{place}: turns[{number}].calls[{at}] failed without a result: give the error as its result"
                )
