"""The turn format: what the model writes in a turn, the grammar that enforces it, and the parser.

A turn is the paper's format (Cheng et al. 2024, HaluAgent, section 2.4.1):
`THOUGHT: … ACTION: tool(arg="…")`, or `思考：… 行为：…`; the answer of a tool is `OBSERVATION: …` or `观察：…`.
An argument may point instead of copy: `sentence=S3`.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

from haluagent.errors import FormatError
from haluagent.text.normalize import writable
from haluagent.tooling.tool import Tool
from haluagent.types import Language, Record, Sentence, Span, ToolCall

THOUGHT = {"en": "THOUGHT: ", "zh": "思考："}
ACTION = {"en": "ACTION: ", "zh": "行为："}
OBSERVATION = {"en": "OBSERVATION: ", "zh": "观察："}
THOUGHT_CHARACTERS = 120
STRING_CHARACTERS = 200
TURN_CHARACTERS = 5000  # of a turn that is read: an endpoint may ignore how long it should be
MAX_CALLS = 50  # that are looked at in one turn
MARGIN = 80  # characters before a mark in its line that are looked at

_THOUGHT_MARK = r"(?:THOUGHT|思考)\s*[:：]?\s*"
_ACTION_MARK = r"(?:ACTION|行为|行动)\s*[:：]?\s*"
_OBSERVATION_MARK = re.compile(r"(?:OBSERVATION|观察)\s*[:：]")
_CALL = re.compile(r"(?<![A-Za-z0-9_])([A-Za-z_][A-Za-z0-9_]{0,63})\s*[(（]")
_CALL_FOLLOWS = re.compile(r"[\s*`]*[A-Za-z_][A-Za-z0-9_]{0,63}\s*[(（]")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*[=＝:：]\s*")
_BEHIND_VALUE = re.compile(r"\s*(?:[)）]|[,，]\s*[A-Za-z_]\w*\s*[=＝]|$)")
_OPENING_QUOTES = {'"': '"', "'": "'", "“": "”", "「": "」", "‘": "’", "”": "”", "＂": "＂"}


class ModelTurn(Record):
    """One turn of the model."""

    thought: str
    call: ToolCall


def write_call(call: ToolCall) -> str:
    """Write a call in the turn format."""
    parts = []
    for name, value in call.arguments.items():
        pointer = name == "sentence" and re.fullmatch(r"S\d+", str(value))
        parts.append(f"{name}={value if pointer else json.dumps(value, ensure_ascii=False)}")
    return f"{call.name}({', '.join(parts)})"


def write(turn: ModelTurn, language: Language) -> str:
    """Write a turn in the turn format."""
    return f"{THOUGHT[language]}{turn.thought}\n{ACTION[language]}{write_call(turn.call)}"


def grammar(tools: Iterable[Tool], pointers: Sequence[str], language: Language, complete: Collection[str] = ()) -> str:
    """Return the GBNF grammar of one turn: a short thought, then a call of one of `tools` whose sentence is one of `pointers`.

    Arguments with a default may be left out, but not in a call of a tool that `complete` names.
    """
    offered = list(tools)
    rules = [
        f"root ::= {_literal(THOUGHT[language])} thought {_literal(chr(10) + ACTION[language])} call",
        f"thought ::= [^\\n]{{1,{THOUGHT_CHARACTERS}}}",
        "call ::= " + " | ".join(_rule_name(item) for item in offered),
        *(f"{_rule_name(item)} ::= {_call_rule(item, item.name in complete)}" for item in offered),
        "pointer ::= " + " | ".join(map(_literal, pointers)),
        f'string ::= "\\"" char{{1,{STRING_CHARACTERS}}} "\\""',
        'char ::= [^"\\\\\\n\\r] | "\\\\" ["\\\\n]',
        'integer ::= "-"? [0-9]{1,12}',
        'number ::= integer ("." [0-9]{1,12})?',
        'boolean ::= "true" | "false"',
    ]
    return "\n".join(rules)


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _rule_name(item: Tool) -> str:
    """Return the name of a tool's rule: GBNF rule names have no underscores."""
    return "tool-" + item.name.replace("_", "-")


def _call_rule(item: Tool, complete: bool) -> str:
    parts: list[str] = [_literal(f"{item.name}(")]
    for position, (name, parameter) in enumerate(item.parameters.items()):
        argument = f"{_literal(('' if position == 0 else ', ') + name + '=')} {_value_rule(item.types[name])}"
        required = complete or parameter.default is parameter.empty
        parts.append(argument if required else f"({argument})?")
    return " ".join([*parts, _literal(")")])


def _value_rule(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "(" + " | ".join(_literal(json.dumps(option, ensure_ascii=False)) for option in get_args(kind)) + ")"
    return {Sentence: "pointer", int: "integer", float: "number", bool: "boolean"}.get(kind, "string")


def parse(text: str, truncated: bool = False) -> ModelTurn:
    """Read one turn, as strict as the grammar or as free as a model without one writes it.

    Tolerated: missing marks and colons, full-width punctuation, unescaped or missing quotes, text after the call,
    Markdown around it. Raises FormatError, with what a valid turn looks like, where no call can be read, where the turn is
    longer than `TURN_CHARACTERS`, and where the model was stopped at the token limit (`truncated`) before the call was
    closed: half an argument is another one.
    """
    if len(text) > TURN_CHARACTERS:
        raise FormatError(f"the turn has {len(text)} characters; write a shorter one, with one call")
    head, tail = _split_action(text)
    match = _CALL.search(tail)
    if match is None:
        raise FormatError('no tool call found; write one line such as ACTION: match(sentence=S1, context="question")')
    arguments, end = _arguments(tail, match.end())
    if truncated and end is None:
        raise FormatError("the turn was cut off; write a shorter one")
    thought = re.sub(rf"^\W*{_THOUGHT_MARK}", "", head.strip()).strip("* \n")
    return ModelTurn(thought=thought, call=ToolCall(name=match.group(1), arguments=writable(arguments)))


def _split_action(text: str) -> tuple[str, str]:
    """Split a turn into the text before the action mark, and the text after it up to an observation the model made up.

    Words inside an argument are no marks (an argument has no line breaks). The last mark counts that a call follows
    at once, one at the beginning of a line before others; where a call follows none, the first call of the text does.
    """
    calls = _complete_calls(text)

    def outside(mark: re.Match[str]) -> bool:
        before = bisect_right(calls, mark.start(), key=lambda call: call[0])
        return not before or calls[before - 1][1] <= mark.start()

    first = _CALL.search(text)
    for mark in _OBSERVATION_MARK.finditer(text, first.end() if first else len(text)):
        if outside(mark) or _begins_line(text, mark):
            text = text[: mark.start()]
            break
    last = max((call.start() for call in _CALL.finditer(text)), default=-1)
    marks = [
        mark
        for mark in re.finditer(_ACTION_MARK, text)
        if (mark.end() <= last or _call_follows(text, mark))
        and (outside(mark) or (_begins_line(text, mark) and _call_follows(text, mark)))
    ]
    if marks:
        mark = max(marks, key=lambda mark: (_call_follows(text, mark), _begins_line(text, mark), mark.start()))
        return text[: mark.start()], text[mark.end() :]
    cut = first.start() if first else len(text)
    return text[:cut], text[cut:]


def _complete_calls(text: str) -> list[Span]:
    """Find the calls whose arguments can be read up to the closing bracket."""
    calls: list[Span] = []
    position = 0
    for _ in range(MAX_CALLS):
        call = _CALL.search(text, position)
        if call is None:
            break
        position = call.end()
        with suppress(FormatError):
            _, end = _arguments(text, call.end())
            if end is not None:
                calls.append((call.start(), end))
                position = end
    return calls


def _call_follows(text: str, mark: re.Match[str]) -> bool:
    return bool(_CALL_FOLLOWS.match(text, mark.end()))


def _begins_line(text: str, mark: re.Match[str]) -> bool:
    """Return True where only Markdown and white space stand before a mark in its line."""
    before = text[max(0, mark.start() - MARGIN) : mark.start()]
    return not re.search(r"\w", before.rpartition("\n")[2])


def _arguments(text: str, position: int) -> tuple[dict[str, Any], int | None]:
    """Read named arguments from `position` on, and find the bracket that closes the call; None where it is missing.
    A value runs to its closing quote, where the next character is a comma or the bracket, so that quotes inside it
    need no escape."""
    arguments: dict[str, Any] = {}
    while position < len(text):
        while position < len(text) and text[position] in " ,，、\n\t":
            position += 1
        if position >= len(text):
            break
        if text[position] in ")）":
            return arguments, position
        name = _NAME.match(text, position)
        if name is None:
            raise FormatError(f"argument without a name near {text[position : position + 20]!r}; write name=value")
        value, position = _value(text, name.end())
        arguments[name.group(1)] = value
    return arguments, None


def _value(text: str, start: int) -> tuple[Any, int]:
    closing = _OPENING_QUOTES.get(text[start : start + 1])
    if closing is not None:
        end = _closing_quote(text, start + 1, closing)
        return _unescape(text[start + 1 : end]), min(end + 1, len(text))
    depth, end = 0, start
    while end < len(text):
        character = text[end]
        if character in "(（":
            depth += 1
        elif character in ")）" and depth:
            depth -= 1
        elif character in ")）,，\n" and not depth:
            break
        end += 1
    return _bare(text[start:end].strip()), end


def _closing_quote(text: str, start: int, closing: str) -> int:
    """Find the end of a value: the first unescaped quote before `, name=` or a bracket, else the last quote there is."""
    last = -1
    position = start
    while position < len(text):
        if text[position] == "\\":
            position += 2
            continue
        if text[position] in (closing, '"' if closing == "”" else closing):
            last = position
            if _BEHIND_VALUE.match(text, position + 1):
                return position
        position += 1
    return last if last >= 0 else len(text)


def _unescape(text: str) -> str:
    """Unescape as JSON where it is JSON, else take every escaped character as itself."""
    with suppress(ValueError):
        return str(json.loads(f'"{text}"'))
    return re.sub(r"\\(.)", lambda match: "\n" if match.group(1) == "n" else match.group(1), text, flags=re.DOTALL)


def _bare(text: str) -> Any:
    """Read an unquoted value: a pointer, a number, a truth value, or plain text."""
    plain = unicodedata.normalize("NFKC", text)
    if plain.lower() in ("true", "false"):
        return plain.lower() == "true"
    if plain.lower() in ("none", "null"):
        return None
    if re.fullmatch(r"-?\d{1,15}", plain):
        return int(plain)
    if re.fullmatch(r"-?\d{1,15}\.\d{1,15}", plain):
        return float(plain)
    return plain
