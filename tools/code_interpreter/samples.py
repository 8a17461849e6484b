"""Sample inputs with their outputs in a question: for a function's arguments, or for a program that reads its input."""

import ast
import re
from dataclasses import dataclass

from haluagent.text.code_classifier import parse
from haluagent.tools.code_interpreter.examples import CallExample, literal_at
from haluagent.tools.code_interpreter.parts import Function
from haluagent.tools.code_interpreter.tests import takes
from haluagent.types import Span

_WHICH = r"\s*\d*\s*"
_INPUT = re.compile(
    rf"(?:^|.*[.。!?:：]\s*)[\s>*#•`-]*(?:(?:sample|example)\s+)?(?:inputs?|输入(?:样例|示例|数据)?|(?:样例|示例)输入){_WHICH}[*`]*\s*[:：]?\s*[*`]*"
    r"(?P<value>.*)$",
    re.I,
)
_OUTPUT = re.compile(
    rf"^[\s>*#•`-]*(?:(?:sample|example|expected)\s+)?(?:outputs?|输出(?:样例|示例|数据|结果)?|(?:样例|示例|期望)输出){_WHICH}[*`]*\s*[:：]?\s*[*`]*"
    r"(?P<value>.*)$",
    re.I,
)
_BOTH = re.compile(
    r"(?:input|输入)\s*[:：]\s*(?P<input>\S[^\n]*?)\s*[,，;；。]?\s*(?:output|输出)\s*[:：]\s*(?P<output>[^\n]+)", re.I
)
_NEXT = re.compile(
    r"^\s*(?:\*\*|#+\s|>?\s*(?:explanation|note|constraints?|example|解释|说明|注|提示|示例|样例|数据范围)|\"\"\"|''')",
    re.I,
)
MAX_SAMPLES = 10
MAX_LINE = 1000  # characters of a line with a label


@dataclass(frozen=True)
class InputSample:
    input: str
    output: str
    span: Span


def samples(text: str) -> list[InputSample]:
    """Return pairs of `Input: …` and `Output: …` (输入/输出), each on its line or with the value on the lines below."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found: list[InputSample] = []
    at = 0
    while at < len(lines) and len(found) < MAX_SAMPLES:
        if len(lines[at]) > MAX_LINE:
            pass  # a text, not a sample
        elif both := _BOTH.search(lines[at]):
            span = (starts[at] + both.start(), starts[at] + both.end())
            found.append(InputSample(both["input"].strip("` "), both["output"].strip("` "), span))
        elif (match := _INPUT.match(lines[at])) and (value := _value(lines, at, match["value"], until_output=True)):
            given, behind = value
            output = _OUTPUT.match(lines[behind]) if behind < len(lines) else None
            shown = _value(lines, behind, output["value"]) if output else None
            if shown and given and shown[0]:
                found.append(InputSample(given, shown[0], (starts[at], starts[shown[1]] - 1)))
                at = shown[1] - 1
        at += 1
    return found


_ASSIGNED = re.compile(r"[ \t]*(?:(?:[,，、;；]|and|和)[ \t]*)?`?(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?=[^=])")
_BEGINS = re.compile(
    r"(?:\b(?:for|when|if|given|with|input)|当|若|如果|对于|输入)[ \t]*[:：]?[ \t]*`?(?=[A-Za-z_]\w*[ \t]*=[^=])", re.I
)
_THEN = re.compile(r"`?[ \t]*(?:的时候|时)?`?[ \t]*[,，]?[ \t]*(?:then|那么|则)?[ \t]*")
_RESULT = re.compile(
    r"(?:the |it |函数|程序)?[ \t]*(?:(?:expected )?(?:output|result|answer|return value|function)"
    r"|(?:应该?|应当)?(?:返回|输出|结果|答案)值?)"
    r"[ \t]*(?:(?:should|must|will|would)[ \t]+)?(?:be|is|returns?|=|应该?[为是]|[为是])?[ \t]*[:：]?[ \t]*`?",
    re.I,
)
_GOES_ON = re.compile(r"(?![ \t]*[-+*/%(\[])")


def given_values(text: str) -> list[InputSample]:
    """Return the examples in sentences that say what comes out for values of parameters: For n = 5 the output should be
    120; 当 n = 5 时返回 120."""
    found: list[InputSample] = []
    for begin in _BEGINS.finditer(text):
        at = begin.end()
        values: list[str] = []
        while (assigned := _ASSIGNED.match(text, at)) and (value := literal_at(text, assigned.end(), _GOES_ON)):
            values.append(f"{assigned['name']}={value[0]!r}")
            at = value[1]
        then = _THEN.match(text, at) if values else None
        result = _RESULT.match(text, then.end()) if then else None
        wanted = literal_at(text, result.end()) if result else None
        if wanted and len(found) < MAX_SAMPLES:
            found.append(InputSample(", ".join(values), repr(wanted[0]), (begin.start(), wanted[1])))
    return found


def _value(lines: list[str], at: int, first: str, until_output: bool = False) -> tuple[str, int] | None:
    """Return the value behind a label, and the line after it: the rest of its line, or the lines below, fenced or
    not."""
    end, below = at + 1, [first.strip(" `*")]
    if not below[0]:
        end = _not_blank(lines, end)
        fenced = end < len(lines) and lines[end].strip().startswith("```")
        end += fenced
        while end < len(lines) and not (lines[end].strip().startswith("```") if fenced else _is_other(lines[end])):
            below.append(lines[end].strip())
            end += 1
        end += fenced
    value = "\n".join(below).strip()
    return (value, _not_blank(lines, end) if until_output else min(end, len(lines))) if value else None


def _not_blank(lines: list[str], at: int) -> int:
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at


def _is_other(line: str) -> bool:
    return not line.strip() or any(pattern.match(line) for pattern in (_OUTPUT, _INPUT, _NEXT))


def as_example(sample: InputSample, name: str, node: Function, bound: bool = False) -> CallExample | None:
    """Turn a sample into an example of a function, where its input reads as the function's arguments: by their names,
    or as many values as it takes. `bound` where the first parameter is `self`."""
    given = ", ".join(re.sub(r"^(\s*\w+)\s*:\s", r"\1 = ", line) for line in sample.input.split("\n"))
    try:
        call = parse(f"{name}({given})").body[0]
        wanted = ast.literal_eval(sample.output.rstrip("。"))
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, IndexError):
        return None
    if not isinstance(call, ast.Expr) or not isinstance(call.value, ast.Call):
        return None
    values = [*call.value.args, *(word.value for word in call.value.keywords)]
    if not values or not all(map(_is_literal, values)):
        return None
    parameters = [argument.arg for argument in node.args.args][bound:]
    words = [word.arg for word in call.value.keywords]
    if words and not set(words) <= set(parameters):  # other names, in the same order
        if call.value.args or len(words) != len(parameters):
            return None
        call.value.args, call.value.keywords = values, []
    counted = ast.Call(
        func=call.value.func, args=[*([ast.Constant(None)] * bound), *call.value.args], keywords=call.value.keywords
    )
    if not takes(node, counted):
        return None
    return CallExample("either", ast.unparse(call), repr(wanted), sample.span)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True
