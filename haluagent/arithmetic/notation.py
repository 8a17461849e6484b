"""The signs of arithmetic as people write it: `3 × $16.50`, `2πr²`, `25% of 80`, `12加8`, `\\frac{3}{4}`.

A text becomes tokens, each with its place in the text; what is not arithmetic becomes words and breaks.
"""

import re
from dataclasses import dataclass
from typing import Literal

from haluagent.text.normalize import MIXED, Plain
from haluagent.text.numerals import HAN_NUMERALS, read_english, read_han
from haluagent.types import Span

Kind = Literal[
    "number", "spelled", "pi", "function", "unknown", "word", "operator", "open", "close", "percent", "degree",
    "factorial", "root", "fraction", "comma", "equals", "break",
]  # fmt: skip

FUNCTIONS = {
    "sqrt", "abs", "min", "max", "round", "log", "ln", "exp", "sin", "cos", "tan", "floor", "ceil"
}  # fmt: skip
SINGLE_LETTER_UNITS = frozenset("mgshtLl")
SIGNS = frozenset("$¥€£₹₩")
OPERATOR_WORDS = {
    "加上": "+", "加": "+", "减去": "-", "减": "-", "乘以": "*", "乘上": "*", "乘": "*", "除以": "/",
    "plus": "+", "minus": "-", "times": "*", "multiplied by": "*", "divided by": "/", "over": "/",
}  # fmt: skip
_LATEX = {
    "times": "*", "cdot": "*", "div": "/", "pm": "?", "approx": "≈", "pi": "π", "sqrt": "√", "frac": "\\frac",
    "dfrac": "\\frac", "tfrac": "\\frac", "left": "", "right": "", "text": "", "mathrm": "", "mathbf": "", "boxed": "",
    "quad": "", "circ": "°",
}  # fmt: skip


@dataclass(frozen=True)
class Token:
    """`text` is how the token stands in a formula (Python's operators, plain digits), `raw` how it was written.

    `spaced` says whether white space comes before it.
    """

    kind: Kind
    text: str
    span: Span
    spaced: bool
    raw: str

    @property
    def ends_operand(self) -> bool:
        return self.kind in ("number", "pi", "unknown", "close", "percent", "degree", "factorial")

    @property
    def starts_operand(self) -> bool:
        return self.kind in ("number", "pi", "unknown", "open", "function", "root", "fraction")


SCALES_BY_NAME = ("thousand", "million", "billion", "trillion")
SCALE_PLACES = dict(zip(SCALES_BY_NAME, (3, 6, 9, 12), strict=True)) | {
    "百": 2, "千": 3, "万": 4, "百万": 6, "千万": 7, "亿": 8, "万亿": 12
}  # fmt: skip
_WHOLE = "[0-9]{1,15}"
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("comparison", r"[=<>!]=|=>|<=>|->|<-|[<>≠≤≥≡]|\.{2,}|…"),
    ("ratio", r"[0-9.]{1,30}(?::| : )[0-9.]{1,30}"),
    ("mixed", rf"(?:{_WHOLE}(?:{MIXED}|又)|{_WHOLE}(?: and)? (?={_WHOLE}/[0-9])|{MIXED}){_WHOLE}/{_WHOLE}(?!\.?[0-9])"),
    ("parts", rf"[0-9{HAN_NUMERALS}.]{{1,15}}分之[0-9{HAN_NUMERALS}.点]{{1,15}}"),
    ("name", r"(?<![A-Za-z_])(?!(?:[mcdk]?m|in|ft)[23](?![0-9A-Za-z]))[A-Za-z_]{1,40}[0-9][A-Za-z0-9_]{0,40}"),
    (
        "scaled",
        rf"[0-9]+(?:\.[0-9]+)?\s?(?:[千百]?[万亿]亿?|[千百](?![克米瓦卡升伏帕焦赫分]))(?:(?<!\s[万亿])[0-9{HAN_NUMERALS}]+)?",
    ),
    ("times", rf"(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(?:\.[0-9]+)?\s?(?:{'|'.join(SCALES_BY_NAME)})\b"),
    ("grouped", r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?"),
    (
        "foreign",
        r"0[xXbB][0-9A-Fa-f]+|[0-9]+(?:\{,\}[0-9]+)+|[0-9]+,[0-9]{1,2}(?![0-9])|[0-9]+(?:,[0-9]+){2,}(?![0-9])|[0-9]+(?:\.[0-9]+){2,}",
    ),
    ("number", r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}(?![0-9A-Za-z]))?|\.[0-9]+"),
    ("index", r"\\sqrt\s?\["),
    ("latex", r"\\(?:[A-Za-z]+|[()\[\]])|\$\$"),
    ("percent", r"\\?%|\s?per ?cent\b"),
    ("sign", r"\\?[$¥€£₹₩]"),
    ("nth", r"的\s?(?:[0-9]{1,3}\s?次方|[平立]方(?![米厘分毫千根]))|\s?(?:squared|cubed)\b"),
    ("dots", r"\*{3,}"),
    ("power", r"\*\*|\^"),
    ("operator", r"[+\-*/×]"),
    ("equals", r"[=≈≒]"),
    ("operatorword", r"加上|减去|乘以|乘上|除以|[加减乘]|(?:multiplied by|divided by|plus|minus|times|over)\b"),
    ("equalsword", r"约等于|等于|约为|[是得]|(?:is equal to|equals|equal|is|are|makes|gives)\b"),
    ("open", r"[(\[{]"),
    ("close", r"[)\]}]"),
    ("factorial", r"!(?!=)"),
    ("degree", r"°(?!C|F)"),
    ("root", r"√"),
    ("pi", r"π|圆周率|(?:pi|PI|Pi)(?![A-Za-z])"),
    ("han", rf"(?:(?!千[克米瓦卡升伏帕焦赫])[{HAN_NUMERALS}])+(?:点[{HAN_NUMERALS}]+)?"),
    ("comma", r"[,，]"),
    ("space", r"[^\S\n]+|[`_\u200b]+"),
    ("word", r"(?:(?!加上|减去|乘以|乘上|除以|等于|[加减乘是得])[\u4e00-\u9fff])+|[^\W\d_]"),
)
_SCANNER = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS))
_LATIN = re.compile(r"[^\W\d_\u4e00-\u9fff]+(?:-[^\W\d_\u4e00-\u9fff]+|'[a-z]+)*")
_UNIT_POWER = re.compile(r"(?:\^[23]|[23](?![0-9.]))")


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text`, in order. Never raises; white space leaves no token."""
    plain = Plain(text)
    line, tokens, place, spaced = plain.text, list[Token](), 0, False
    while place < len(line):
        match = _SCANNER.match(line, place)
        kind = match.lastgroup if match else None
        latin = _LATIN.match(line, place) if kind in (None, "word") else None
        if latin:
            made, end = _latin(latin, tokens, spaced)
        else:
            end = match.end() if match else place + 1
            made = _token(kind or "break", line[place:end], line, place, end, tokens, spaced)
        span = plain.span(place, end)
        for new_kind, new_text in made:
            tokens.append(Token(new_kind, new_text, span, spaced, text[slice(*span)]))
        spaced = (not made and (spaced or kind == "space")) or kind == "space"
        place = end
    return _settle(tokens)


def _latin(match: re.Match[str], tokens: list[Token], spaced: bool) -> tuple[list[tuple[Kind, str]], int]:
    """Read a Latin word: a function, an unknown, a number word, or a word. A unit takes its power with it (`cm^2`)."""
    word, end = match[0], match.end()
    after_operand = bool(tokens) and tokens[-1].ends_operand
    if word in FUNCTIONS:
        return [("function", word)], end
    if len(word) == 1 and word not in "aI" and not (after_operand and word in SINGLE_LETTER_UNITS):
        return [("unknown", word)], end
    if read_english(word) is not None:
        return [("spelled", f"({read_english(word)})" if "half" in word.lower() else str(read_english(word)))], end
    power = _UNIT_POWER.match(match.string, end)
    if power and after_operand:
        end = power.end()
    return [("word", match.string[match.start() : end])], end


def _token(
    kind: str, text: str, line: str, start: int, end: int, tokens: list[Token], spaced: bool
) -> list[tuple[Kind, str]]:
    last = tokens[-1] if tokens else None
    match kind:
        case "space":
            return []
        case "comparison" | "ratio" | "name" | "foreign" | "index" | "dots":
            return [("break", text)]
        case "mixed":
            whole, over, under = re.findall("[0-9]+", "0 " + text)[-3:]
            return [("number", f"({whole}+{over}/{under})")]
        case "parts" | "scaled" | "han":
            return _han(kind, text)
        case "times":
            number, scale = re.findall(r"[0-9.,]+|[a-z]+", text)
            return [("number", f"({number.replace(',', '')}*{10 ** SCALE_PLACES[scale]})")]
        case "number" | "grouped":
            return [("number", text.replace(",", ""))]
        case "latex":
            return _latex(text)
        case "nth":
            exponent = re.search("[0-9]+", text)
            power = exponent[0] if exponent else "2" if "平" in text or "sq" in text else "3"
            return [("operator", "**"), ("number", power)] if last and last.ends_operand else [("break", text)]
        case "power":
            return [("operator", "**")] if text == "^" or _between(last, line, start, end) else []
        case "operator":
            if text == "*" and not _between(last, line, start, end):
                return []  # a list mark, or emphasis
            return [("operator", "*" if text == "×" else text)]
        case "operatorword":
            return [("operator" if _operands_beside(last, line, end) else "word", OPERATOR_WORDS.get(text, text))]
        case "equals" | "equalsword":
            return [("equals", "≈" if text in ("≈", "≒", "约等于", "约为") else "=" if kind == "equals" else text)]
        case "sign":
            return [("word", text.lstrip("\\"))]
        case "open" | "close":
            return [(kind, "(" if kind == "open" else ")")]
        case "factorial":
            return [("factorial" if last and last.ends_operand and line[end : end + 1] != "!" else "break", "!")]
        case "pi":
            return [("pi", "pi")]
        case "percent" | "degree" | "root" | "comma" | "word":
            return [(kind, text)]
    return [("break", text)]


def _han(kind: str, text: str) -> list[tuple[Kind, str]]:
    """Read Chinese numerals: numbers with a scale (`3万`) or as parts (`三分之二`), else only beside an operator."""
    if kind == "parts":
        under, over = text.split("分之")
        parts = [read_han(part) for part in (over, {"百": "100", "千": "1000"}.get(under, under))]
        if None in parts or not parts[1]:
            return [("word", text)]
        return [("number", f"({parts[0]}/({parts[1]}))")]
    value = read_han("".join(text.split()))
    if value is None:
        return [("word", text)]
    return [("number" if kind == "scaled" else "spelled", f"({value})" if value.denominator > 1 else str(value))]


def _latex(text: str) -> list[tuple[Kind, str]]:
    meaning = _LATEX.get(text[1:], "" if text in ("\\(", "\\)", "\\[", "\\]", "$$") else "?")
    kinds: dict[str, tuple[Kind, str]] = {
        "*": ("operator", "*"), "/": ("operator", "/"), "≈": ("equals", "≈"), "π": ("pi", "pi"), "√": ("root", "√"),
        "\\frac": ("fraction", "\\frac"), "°": ("degree", "°"), "?": ("break", text),
    }  # fmt: skip
    return [kinds[meaning]] if meaning else []


_OPENED = re.compile(r"(?:^|[\s=(])\*+(?=[^\s*])[^*\n]*$", re.MULTILINE)
_CLOSED = re.compile(r"[^*\n]*[^\s*]\*+(?:[\s.,;。，；]|$)")


def _between(last: Token | None, line: str, start: int, end: int) -> bool:
    """Return whether a star stands between two operands; else it is Markdown, a list mark or emphasis."""
    before, after = line[start - 1 : start], line[end : end + 1]
    if last is None or last.kind == "break" or after in ("", "*"):
        return False
    if before.isspace() == after.isspace():
        return True
    nearby_before, nearby_after = line[max(0, start - 80) : start], line[end : end + 80]
    return not (_OPENED.search(nearby_before) if after.isspace() else _CLOSED.match(nearby_after))


_OPERAND = re.compile(rf"\s*(?:[0-9(.$¥π√]|[{HAN_NUMERALS}]|(?P<word>[a-z]+)(?:-[a-z]+)?\b)")


def _operands_beside(last: Token | None, line: str, end: int) -> bool:
    if last is None or not (last.ends_operand or last.kind in ("word", "spelled")):
        return False
    following = _OPERAND.match(line, end)
    return following is not None and (not following["word"] or read_english(following["word"]) is not None)


def _settle(tokens: list[Token]) -> list[Token]:
    """Decide what depends on both neighbours: `x` as a sign or an unknown, number words, `of`."""
    settled: list[Token] = []
    for index, token in enumerate(tokens):
        last = settled[-1] if settled else None
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        kind, text = token.kind, token.text
        operand_next = following is not None and (
            following.kind in ("number", "open", "pi", "spelled") or following.text in SIGNS
        )
        operand_last = last is not None and (last.ends_operand or (last.kind == "word" and last.text not in SIGNS))
        if token.raw in ("x", "X") and operand_last and operand_next:
            kind, text = "operator", "*"
        elif kind == "spelled":
            beside = (
                (last is not None and last.kind == "operator")
                or (following is not None and following.kind == "operator")
                or (last is not None and last.kind == "equals" and last.raw not in ("是", "is", "are", "得"))
            )
            half = text == "(1/2)" and following is not None and following.text == "of"
            counted = last is not None and (last.ends_operand or (last.raw == "/" and not token.spaced))  # 6 dozen
            kind = "number" if (beside or half or following is None) and not counted else "word"
        elif (
            text.lower() in ("of", "的")
            and kind == "word"
            and last is not None
            and operand_next
            and (
                last.kind == "percent"
                or "/" in last.text
                or _is_fraction(settled)
                or [one.kind for one in (last, *tokens[index + 1 : index + 3])] == ["number", "number", "percent"]
            )
        ):
            kind, text = "operator", "*"
        settled.append(Token(kind, text, token.span, token.spaced, token.raw))
    return settled


def _is_fraction(tokens: list[Token]) -> bool:
    """Return whether the tokens end in something like `1/2` or `(1/2)`."""
    kinds = [token.kind for token in tokens[-5:] if token.kind not in ("open", "close")]
    return kinds[-3:] == ["number", "operator", "number"] and any(token.text == "/" for token in tokens[-4:])
