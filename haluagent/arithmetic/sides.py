"""The beginning and end of a formula in running text: `Janet sold [48 clips / 2] in May`.

Words between numbers are units or prose. A word where a number should stand (`5 * hours worked`) makes the side a
formula about names: it has no value, and nothing is said about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from haluagent.arithmetic.notation import SIGNS, Token
from haluagent.types import Span

MAX_TOKENS = 80
MAX_WORDS = 5
MAX_HAN_WORDS = 6
MAX_LEAD = 3

_WORKED_OUT = frozenset(("operator", "root", "fraction", "function", "factorial", "pi"))
_CONNECTORS = frozenset((
    "and or but so then which that who if when because since is are was were has have had will would with left "
    "和 与 的 是 为 有 则 那 么 所 以 因 此 共 比"
).split())  # fmt: skip
_LABELS = frozenset("day week month year step case part phase stage round number no question equation".split())
_COMPARED = frozenset("more less fewer times older younger greater smaller higher lower as than 多 少 倍".split())


@dataclass(frozen=True)
class Side:
    """One side of an equation. `tokens` are its formula, `units` the words in and right after it, in small letters.

    `named` says that words stand before it (a single number there is a part of a name: `day 3 = 5 + 2`), `computable`
    that a number stands wherever one should.
    """

    tokens: tuple[Token, ...]
    units: frozenset[str]
    named: bool
    computable: bool
    compared: bool = False

    @property
    def span(self) -> Span:
        return self.tokens[0].span[0], self.tokens[-1].span[1]

    @property
    def has_operator(self) -> bool:
        signed = next((at for at, token in enumerate(self.tokens) if token.text not in ("+", "-")), 0)  # -5 is a number
        return any(token.kind in _WORKED_OUT for token in self.tokens[signed:])

    @property
    def measures(self) -> frozenset[str]:
        """Return the units, with signs of money."""
        return self.units | frozenset(token.text for token in self.tokens if token.text in SIGNS)

    @property
    def unknowns(self) -> frozenset[str]:
        return frozenset(token.text for token in self.tokens if token.kind == "unknown")


def side_before(part: Sequence[Token]) -> Side | None:
    """Return the formula that ends where `part` ends, None where there is none."""
    part = part[-MAX_TOKENS:]
    if part and part[0].kind == "operator" and part[0].text == "-" and len(part) > 1 and part[1].spaced:
        part = part[1:]  # the mark of a list item
    for start, token in enumerate(part):
        if not (token.starts_operand or token.text in SIGNS or token.text in "+-"):
            continue
        before = part[start - 1] if start else None
        if before is not None and token.text in "+-" and (before.ends_operand or before.kind == "word"):
            continue
        found = _scan(part, start, 0)
        if found is None or found[1] < len(part):
            continue
        side = found[0]
        glued = before is not None and not token.spaced and token.kind == "open" and before.kind in ("unknown", "word")
        broken = before is not None and (before.kind in ("operator", "number") or glued or _belongs(part[:start]))
        return Side(side.tokens, side.units, start > 0, side.computable and not broken)
    return None


def side_after(part: Sequence[Token], lead: int = MAX_LEAD) -> Side | None:
    """Return the formula that begins where `part` begins, after at most `lead` words; None where there is none."""
    part = part[:MAX_TOKENS]
    start = 0
    while start < len(part) and part[start].kind == "word" and part[start].text not in SIGNS:
        if start >= lead or part[start].text.lower() in _CONNECTORS:
            return None
        start += 1
    found = _scan(part, start, 0)
    if found is None:
        return None
    side, end = found
    after = part[end] if end < len(part) else None
    compared = any(unit in _COMPARED for unit in side.units) or (after is not None and after.text.lower() in _COMPARED)
    lead_words = frozenset(token.text.lower() for token in part[:start])
    split = after is not None and after.kind == "number" and part[end - 1].kind == "number"  # 16 000
    computable = side.computable and not split
    return Side(side.tokens, side.units | lead_words, start > 0, computable, compared)


def _scan(part: Sequence[Token], start: int, depth: int) -> tuple[Side, int] | None:
    """Return the longest formula from `start` on, and where the part goes on behind it and its units."""
    index, brackets, operand = start, 0, False
    complete, reached = start, start
    computable, run, units, skipped = True, 0, set[str](), set[int]()
    while index < len(part):
        token = part[index]
        if operand and token.kind == "word" and token.text not in SIGNS:
            run += 1 if token.text.isascii() else 0
            if not brackets and (token.text.lower() in _CONNECTORS or run > MAX_WORDS or _long_han(part, index)):
                break
            if part[index - 1].kind != "word":  # what follows the unit is prose
                units.add(token.raw.lower().rstrip("s") or token.raw)
            index += 1
            reached = index if not brackets else reached
            continue
        if operand and token.kind == "operator":
            following = part[index + 1] if index + 1 < len(part) else None
            if token.text == "/" and _is_unit(following):
                skipped.add(index)  # a unit per another: $0.10/candle
                index += 1
                continue
            if following is None or not _may_start(part, index + 1):
                computable = computable and (following is None or following.kind not in ("word", "spelled"))
                break
            operand, run = False, 0
        elif operand and token.kind in ("percent", "degree", "factorial"):
            pass
        elif operand and token.kind == "close":
            if not brackets:
                break
            brackets -= 1
        elif operand and token.kind == "open" and _only_words(part, index):
            closing = _closing(part, index)
            skipped.update(range(index, closing + 1))
            index = closing + 1
            reached = index if not brackets else reached
            continue
        elif operand and not (_joins(part[index - 1], token)):
            break
        elif token.kind == "open":
            brackets, operand = brackets + 1, False
        elif token.kind in ("number", "pi", "unknown"):
            operand, run = True, 0
        elif token.kind in ("function", "root", "fraction"):
            operand = False
        elif not operand and (token.text in SIGNS or token.text in ("+", "-") or (brackets and token.kind == "comma")):
            pass
        else:
            break
        index += 1
        if operand and not brackets:
            complete = reached = index
    if complete == start:
        return None
    tokens = tuple(part[place] for place in range(start, complete) if place not in skipped)
    return Side(tokens, frozenset(units), False, computable), reached


def _belongs(before: Sequence[Token]) -> bool:
    """Return whether the number after these tokens belongs to them: `8 packs of 5 bags * $4`, `day 1 * 2`."""
    if before[-1].text.lower() in _LABELS:
        return True
    return before[-1].text == "of" and any(token.kind == "number" for token in before[-3:])


def _is_unit(token: Token | None) -> bool:
    """Return whether a word follows closely, as in `$0.10/candle`."""
    return token is not None and token.kind == "word" and not token.spaced and token.text not in SIGNS


def _may_start(part: Sequence[Token], index: int) -> bool:
    while index < len(part) and (part[index].text in SIGNS or part[index].text in ("+", "-")):
        index += 1
    return index < len(part) and part[index].starts_operand


def _joins(before: Token, token: Token) -> bool:
    """Return whether two operands side by side are a product: `2π`, `3x`, `3(4 + 5)`, `(2)(3)`."""
    if token.spaced and not (before.kind == "close" and token.kind == "open"):
        return False
    if token.kind in ("pi", "unknown", "root", "fraction"):
        return True
    return token.kind == "open" and before.kind in ("number", "pi", "close", "unknown")


def _long_han(part: Sequence[Token], index: int) -> bool:
    """Return whether more Chinese characters follow than a unit has: then they are a phrase."""
    run = 0
    while index < len(part) and part[index].kind in ("word", "spelled") and not part[index].raw.isascii():
        run += len(part[index].raw)
        index += 1
    return run > MAX_HAN_WORDS


def _closing(part: Sequence[Token], index: int) -> int:
    depth = 0
    for place in range(index, len(part)):
        depth += {"open": 1, "close": -1}.get(part[place].kind, 0)
        if not depth:
            return place
    return len(part) - 1


def _only_words(part: Sequence[Token], index: int) -> bool:
    """Return whether a bracket that opens there holds words alone. One that nothing closes ends with the part."""
    end = index + 1
    while end < len(part) - 1 and part[end].kind in ("word", "spelled", "unknown", "comma"):
        end += 1
    inside = part[index + 1 : end]
    return any(token.kind == "word" for token in inside) and (part[end].kind == "close" or end == len(part) - 1)
