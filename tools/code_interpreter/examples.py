"""Examples in a text of what calls return: `f(1, 2) == 3`, `f(1) -> 2`, f([]) 返回 []. What cannot be read is left out."""

import ast
import builtins
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from haluagent.text.code_classifier import parse
from haluagent.text.places import covered
from haluagent.text.segment import split
from haluagent.types import Span

MAX_EXAMPLES = 100
MAX_CALLS = 500  # calls that are looked at
MAX_CALL = 1000  # characters of one, or of a value
MAX_NAMES = 20  # names of functions that are looked for where the right one is not known

Kind = Literal["run", "assert", "value", "shown", "printed", "either", "raises"]
Stress = Literal["", "==", "should"]


@dataclass(frozen=True)
class CallExample:
    """`source` is an expression, and `wanted` what is said of it: the value it has (`value`; `either`: or prints), the way
    it is shown (`shown`), what it prints (`printed`), or the exception that it raises (`raises`). Or it is a statement:
    an `assert`, or a step towards the next examples that says nothing (`run`). `span` is its place in the text it was
    read from, and `alone` whether its sentence says nothing else: the rest of one may say that it is not so, or where.
    `stress` is how it is put: as a comparison (`==`), or as what ought to be or is called an example (`should`). Where it
    does not hold, that is a fault only if it `decides`."""

    kind: Kind
    source: str
    wanted: str
    span: Span
    formula: bool = False  # written with a single =, as what defines a function in mathematics is
    stress: Stress = ""
    alone: bool = True
    decides: bool = True

    @property
    def line(self) -> str:
        """Return the line of a program that checks it."""
        if self.kind == "run":
            return self.source
        if self.kind == "assert":
            return f"{self.source}; _haluagent.ran()"
        if self.kind == "value":
            return f"_haluagent.value({self.source}, {self.wanted})"
        if self.kind == "shown":
            return f"_haluagent.shown({self.source}, {self.wanted!r})"
        wanted = self.wanted if self.kind == "either" else repr(self.wanted)
        return f"_haluagent.{self.kind}(lambda: {self.source}, {wanted})"


# Few spaces at each place where there may be some: a long run of them would be tried in every way.
_S = r"[ \t]{0,3}"
_EQUALS = re.compile(rf"{_S}={{2,3}}(?!>){_S}")
_ARROW = re.compile(rf"{_S}`?{_S}(?:#{_S})?(?:-{{1,4}}>|={{1,4}}>|[➞→⇒⟶➜↦⟹]){_S}(?:returns?\b|返回)?{_S}`?")
_SAYS = re.compile(
    rf"{_S}`?{_S}[,，]?{_S}(?:#{_S})?(?:it |you )?(?:should|must|will|would|expected to|应该?|应当|必须)?{_S}[会将]?{_S}"
    rf"(?:(?:the )?(?:result|value|answer){_S}(?:is|=|should be)"
    rf"|(?:returns?|gives?|yields?|produces?|computes?)(?: the (?:value|result|number))?|be|get|evaluates? to|results? in"
    rf"|equals?|is equal to|is|="
    rf"|返回值?(?:应该?)?[为是]?|的?(?:返回)?(?:结果|值)(?:应该?)?[为是]|得到|等于|[为是]){_S}[:：]?{_S}`?",
    re.I,
)
_PRINTS = re.compile(
    rf"{_S}`?{_S}[,，]?{_S}(?:#{_S})?(?:should|must|will|应该?|应当)?{_S}[会将]?{_S}"
    rf"(?:prints?|outputs?|输出|打印)(?:出|结果)?[为是]?{_S}[:：]?{_S}`?",
    re.I,
)
_COMMENT = re.compile(
    r"[ \t]{0,20}#[ \t]*"  # comments may stand in a column
    rf"(?:(?:expected|result|output|returns?|期望|结果|输出|返回)(?: output)?{_S}[:：]?{_S})?(?:[为是]|is )?{_S}",
    re.I,
)
_RAISES = re.compile(
    rf"{_S}`?{_S}[,，]?{_S}(?:#{_S}|->{_S})?(?:should|must|will|would|应该?|会|将)?{_S}"
    rf"(?:raises?|throws?|抛出|引发)(?: an?| the)?{_S}`?(?P<name>[A-Z]\w*(?:Error|Exception|Iteration|Exit))\b",
    re.I,
)
_OUGHT = re.compile(r"\b(?:should|must|expected)\b|应|必须|期望", re.I)
_GIVEN_AS = re.compile(
    r"(?:\bfor (?:example|instance)|\be\.g\.|\bs(?:o|uch) that|例如|比如|譬如|使得)[\s,，:：`]*$", re.I
)
_MASK = "ǁ"  # a letter that stands for an example: without letters there is no sentence
_LINKING = re.compile(
    r"\b(?:for (?:example|instance)|examples?(?: \d+)?|e\.g|some|are|usage|tests?"
    r"|so|thus|then|and|while|calling|the call|if you call|here|assert|print)\b"
    r"|例如|比如|譬如|示例|调用|因此|所以|那么|并且|而|和|则|[\W_ǁ]",
    re.I,
)
_PLAIN = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])|(?:True|False|None)\b|set\(\)")
_BEHIND_CODE = re.compile(r"[ \t]*(?:$|\"\"\"|'''|[`#,;)\]。，；）]|\.(?!\w)|and\b(?=.*\())")
_BEHIND_PROSE = re.compile(
    rf"(?!{_S}`?{_S}[,，、]{_S}`?[-+\d\"'\[{{(])"  # one of several values
    rf"{_S}`?[ \t]*(?:$|\"\"\"|'''|[#,;:!()。，；：、！（）]|\.(?!\w)|(?:because|since|as|and(?=.*\()|which)\b"
    r"|因为|由于|(?:和|以及|而)(?=.*\())",
    re.I,
)
_OPERATOR_BEFORE = re.compile(r"(?:[-+*/%<=!&|^~@\[]|\b(?:not|in|is|or|lambda|def|class|await))[ \t]*$")
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+$")


def calls(text: str, names: Collection[str], known: Collection[str] = ()) -> list[CallExample]:
    """Return what a text says of calls of the functions in `names`, whose arguments use no other names than those,
    `known` ones and built-in ones. Expected values are Python literals."""
    found: dict[tuple[str, str], CallExample] = {}
    if names:
        every = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        for match in islice(re.finditer(rf"(?<![A-Za-z0-9_.])(?:{every})\(", text), MAX_CALLS):
            example = _at(text, match.start(), {*names, *known}) or _assertion(text, match.start(), {*names, *known})
            if example and len(found) < MAX_EXAMPLES:
                found.setdefault((example.source, example.wanted), example)
    return _of_one_kind(_alone(text, list(found.values())))


def _alone(text: str, examples: Sequence[CallExample]) -> list[CallExample]:
    """Say of each example whether its sentence only gives examples, with words that link them: For example, f(1) is
    2."""
    masked = covered(text, (example.span for example in examples), _MASK)
    others: list[Span] = []
    starts = {masked.rfind("\n", 0, example.span[0]) + 1 for example in examples}
    for start in starts:
        for sentence in split(masked[start:].partition("\n")[0]):
            if _LINKING.sub("", sentence.text):
                others.append((start + sentence.span[0], start + sentence.span[1]))
    return [replace(one, alone=not any(start <= one.span[0] < end for start, end in others)) for one in examples]


def is_led(text: str, start: int) -> bool:
    """Return whether a line above leads to the example at `start` with words of its own: In Lua:"""
    lines = text[:start].split("\n")[:-1]
    while lines and (not lines[-1] or _ITEM.match(lines[-1])):
        lines.pop()
    lead = split(lines[-1]) if lines and lines[-1].rstrip().endswith((":", "：")) else ()
    return bool(lead and _LINKING.sub("", lead[-1].text))


def _of_one_kind(examples: list[CallExample]) -> list[CallExample]:
    """Leave out formulas where the values are of different types: they may be steps of a definition."""
    types = {type(ast.literal_eval(example.wanted)) for example in examples if example.kind in ("value", "either")}
    return [example for example in examples if not example.formula] if len(types) > 1 else examples


def _assertion(text: str, at: int, known: Collection[str]) -> CallExample | None:
    """Return the `assert` on whose line a call stands, where it compares something else than the call with a
    literal."""
    start = text.rfind("\n", 0, at) + 1
    line = _line(text, start).rstrip(" `。；")
    found = re.search(r"\bassert\b.*", line)
    if not found or found.start() + start > at:
        return None
    try:
        body = parse(found[0]).body
    except (SyntaxError, ValueError):
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Assert) or unknown_names(body[0], known):
        return None
    return CallExample(
        "assert", ast.unparse(body[0]), "", (start + found.start(), start + found.end()), stress="should"
    )


def called(text: str) -> list[tuple[str, ast.Call]]:
    """Return every call in a text of which an example could be read, with the name of its function."""
    found = []
    for name in islice(dict.fromkeys(re.findall(r"(?<![\w.])([A-Za-z_]\w*)\(", text)), MAX_NAMES):
        for example in calls(text, [name]):
            node = parse(example.source).body[0]
            assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            found.append((name, node.value))
    return found


def _line(text: str, start: int) -> str:
    """Return the rest of a line, as far as it is looked at."""
    return text[start : start + MAX_CALL].partition("\n")[0]


def _at(text: str, start: int, known: Collection[str]) -> CallExample | None:
    end = balanced(text, text.index("(", start))
    if end is None or not is_call(source := text[start:end], known):
        return None
    source = " ".join(source.split("\n"))
    before = text[max(start - MAX_CALL, text.rfind("\n", 0, start) + 1) : start]
    printed = before.endswith("print(") and text[end : end + 1] == ")"
    if printed:
        before, end = before.removesuffix("print("), end + 1
    assertion = re.search(r"\bassert[ \t(]+(not[ \t]+)?\(?$", before)
    if _OPERATOR_BEFORE.search(before) and not assertion and not _BULLET.fullmatch(before):
        return None
    rest = _line(text, end)
    line_end = end + len(rest)
    if raised := _RAISES.match(text, end, line_end):
        return CallExample("raises", source, raised["name"], (start, raised.end()), stress=_stress(before, raised[0]))
    if assertion and re.match(r"[ \t]*\)?[ \t]*(?:$|[,#])", rest):
        return CallExample("value", f"bool({source})", str(not assertion[1]), (start, end), stress="should")
    if assertion and assertion[1]:
        return None
    for pattern in (_EQUALS, _ARROW, _PRINTS, _SAYS, _COMMENT):
        connected = pattern.match(text, end, line_end)
        if connected is None:
            continue
        wanted = literal_at(text, connected.end(), _BEHIND_CODE if pattern is _EQUALS else _BEHIND_PROSE)
        if wanted:
            kind: Kind = "either" if printed or pattern in (_PRINTS, _COMMENT) else "value"
            formula = connected[0].strip(" \t`") == "="
            stress = "should" if assertion else _stress(before, connected[0]) or ("==" if pattern is _EQUALS else "")
            # Its value may stand on more lines than one.
            return CallExample(kind, source, repr(wanted[0]), (start, wanted[1]), formula, stress)
    return None


def _stress(before: str, connected: str) -> Stress:
    return "should" if _OUGHT.search(connected) or _GIVEN_AS.search(before) else ""


def literal_at(text: str, start: int, behind: re.Pattern[str] = _BEHIND_PROSE) -> tuple[object, int] | None:
    """Return the Python literal that begins at `start`, if nothing follows that would make it part of something else,
    and where it ends."""
    if text[start : start + 1] in tuple("([{\"'"):
        end = balanced(text, start)
    else:
        plain = _PLAIN.match(text, start)
        end = plain.end() if plain else None
    if end is None:
        return None
    rest = _line(text, end)
    if not behind.match(rest) or re.match(r",\d", rest):
        return None
    try:
        return ast.literal_eval(text[start:end]), end
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


_BRACKET_OR_QUOTE = re.compile(r"(\"\"\"|\'\'\'|\"|\')|[()\[\]{}]")
_REST_OF_STRING = {
    quote: re.compile(rf"(?:\\.|(?!{quote}).)*{quote}", re.DOTALL if len(quote) > 1 else 0)
    for quote in ('"', "'", '"""', "'''")
}


def balanced(text: str, start: int) -> int | None:
    """Return the offset behind the bracket or string that opens at `start`. None where that is too far."""
    depth, at = 0, start
    while (match := _BRACKET_OR_QUOTE.search(text, at, start + MAX_CALL)) is not None:
        at = match.end()
        if quote := match[1]:
            closed = _REST_OF_STRING[quote].match(text, at, start + MAX_CALL)
            if closed is None:
                return None
            at = closed.end()
        else:
            depth += 1 if match[0] in "([{" else -1
        if depth <= 0:
            return at if depth == 0 else None
    return None


def is_call(source: str, known: Collection[str]) -> bool:
    """Return whether a text is one call without a gap (`...`), whose names are all known or built in."""
    try:
        body = parse(source).body
    except (SyntaxError, ValueError):
        return False
    if len(body) != 1 or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return False
    gap = any(isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(body[0]))
    return not gap and not unknown_names(body[0], known)


def unknown_names(node: ast.AST, known: Collection[str]) -> set[str]:
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load)}
    own = {inner.arg for inner in ast.walk(node) if isinstance(inner, ast.arg)}
    own |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
    return names - own - set(known) - set(dir(builtins))
