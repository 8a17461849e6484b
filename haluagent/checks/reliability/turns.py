"""A turn of a tool-using model: a thought, then a tool with its arguments, or the end of the task. Grammar and parser.

    THOUGHT: the user wants the weather of a city
    ACTION: weather_by_city {"city": "Osk"}

The task is ended by `Finish {"answer": …}`, or by one of the indecisive actions of Relign (section 3): `ChangeTools
{"reason": …}` if no tool fits, `TalkToUser {"question": …}` if only the user knows a value.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from haluagent.checks.reliability.records import Ending
from haluagent.checks.reliability.schema import TERMINALS, literal, object_rules
from haluagent.checks.runs.records import ToolSpec
from haluagent.errors import FormatError
from haluagent.tooling.turn_format import ACTION, THOUGHT
from haluagent.types import Language, Record

THOUGHT_CHARACTERS = 200
ANSWER_CHARACTERS = 800
ENDINGS: dict[str, tuple[Ending, str]] = {
    "Finish": ("answer", "answer"),
    "ChangeTools": ("change_tools", "reason"),
    "TalkToUser": ("talk_to_user", "question"),
}

_ACTION = re.compile(r"(?:ACTION|行为|行动)[*\s]*[:：][*\s`]*([^\s(（{`*]+)[ `*]*", re.IGNORECASE)
_INPUT = re.compile(r"\s*(?:(?:ACTION[ _]?)?INPUT|输入)\s*[:：]\s*", re.IGNORECASE)
_MARKS = re.compile(r"^\s*(?:THOUGHT|思考)\s*[:：]\s*", re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)


class ReliabilityTurn(Record):
    """An action of the model. `arguments` is the raw text if that is not a JSON object."""

    thought: str
    name: str
    arguments: dict[str, Any] | str

    @property
    def ending(self) -> Ending | None:
        return ENDINGS[self.name][0] if self.name in ENDINGS else None

    @property
    def said(self) -> str:
        """Return what an ending tells the user."""
        if isinstance(self.arguments, str):
            return self.arguments.strip()
        named = self.arguments.get(ENDINGS[self.name][1])
        return str(named if named is not None else " ".join(map(str, self.arguments.values()))).strip()


def write(turn: ReliabilityTurn, language: Language) -> str:
    """Write the turn as a model should."""
    arguments = turn.arguments if isinstance(turn.arguments, str) else json.dumps(turn.arguments, ensure_ascii=False)
    return f"{THOUGHT[language]}{turn.thought}\n{ACTION[language]}{turn.name} {arguments}"


def grammar(tools: Sequence[ToolSpec], language: Language, *, indecisive: bool) -> str:
    """Return the GBNF for one turn with one of the tools, or with an ending. Every call that it allows fits the tool's
    schema.

    Raise `ConfigError` for a schema that it cannot express.
    """
    endings = [name for name in ENDINGS if indecisive or name == "Finish"]
    rules = [
        f"root ::= {literal(THOUGHT[language])} thought {literal(chr(10) + ACTION[language])} action",
        f"thought ::= [^\\n]{{1,{THOUGHT_CHARACTERS}}}",
        "action ::= " + " | ".join([*(f"tool-{number}" for number in range(len(tools))), *map(str.lower, endings)]),
    ]
    for number, tool in enumerate(tools):
        rules.append(f"tool-{number} ::= {literal(tool.name + ' ')} args-{number}")
        rules += object_rules(f"args-{number}", tool.parameters)
    for name in endings:
        opening = f'{name} {{"{ENDINGS[name][1]}": '
        rules.append(f'{name.lower()} ::= {literal(opening)} said "}}"')
    rules.append(f'said ::= "\\"" char{{1,{ANSWER_CHARACTERS}}} "\\""')
    return "\n".join([*rules, *TERMINALS])


def parse(text: str, *, truncated: bool = False) -> ReliabilityTurn:
    """Parse a turn, also as a model without a grammar writes it.

    Accepted are arguments on a line of their own or in brackets, full-width marks, Markdown around the turn, and text
    after it. Raise `FormatError` if it names no action, or was cut off within one.
    """
    match = _ACTION.search(text)
    if match is None:
        raise FormatError('no action found; end your turn with a line such as ACTION: Finish {"answer": "…"}')
    thought = _MARKS.sub("", text[: match.start()]).strip()
    rest = text[match.end() :]
    rest = _INPUT.sub("", rest, count=1) if _INPUT.match(rest) else rest
    rest = re.sub(r"^[\s(（`]+(?:json\s*)?(?=\{)", "", rest)
    try:
        arguments, _ = _DECODER.raw_decode(rest)
    except (ValueError, RecursionError):
        if truncated:
            raise FormatError("the turn was cut off before its action was complete; write a shorter one") from None
        arguments = rest.strip().removesuffix("```").strip()
        arguments = {} if arguments in ("", "()", "（）") else arguments
    if not isinstance(arguments, dict | str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ReliabilityTurn(thought=thought, name=match[1], arguments=arguments)
