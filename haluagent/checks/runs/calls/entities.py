"""The entities in a call's arguments: values that a model must have from somewhere, and cannot paraphrase."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from haluagent.checks.runs.calls.names import is_name
from haluagent.checks.runs.calls.roles import role_of
from haluagent.text.clocks import find_clocks
from haluagent.text.dates import date_places
from haluagent.text.numbers import Number, find_numbers
from haluagent.text.places import covered
from haluagent.types import Span

Kind = Literal["url", "email", "path", "date", "time", "handle", "phone", "id", "number", "name"]
Form = Literal["value", "formula", "text", "code"]

MAX_LEAVES = 2000  # values read of a call
MAX_TEXT = 20_000  # characters read of a value
MAX_CALL = 100_000  # characters read of a call
BLANK = "\0"  # not a space: many patterns skip spaces
MAX_RUN = 300  # characters without a space or a bracket that may be an address; what is longer is data, and not read

_END = r"[^\s<>\"'`“”‘’，。；：、（）()\[\]{}|]"
_TOP = "com|org|net|io|cn|edu|gov|ai|dev|co|app|info|uk|de|jp|me|tech|cloud|example|test"
_EXTENSION = (
    "txt|md|pdf|docx?|xlsx?|pptx?|csv|tsv|jsonl?|ya?ml|xml|html?|py|ts|java|cpp|rs|rb|sh|sql|log|png|jpe?g|gif|svg|mp[34]|wav|"
    "zip|tar|gz|parquet|ini|toml|cfg|conf|ipynb|tex|bak|eml"
)
_TIME = re.compile(r"[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ID = (
    rf"{_UUID}"
    r"|(?<![a-z0-9])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,}(?![a-z0-9])"  # 3f9ac21
    r"|(?<![\d.])v?\d+(?:\.\d+){2,}(?![\d.])"  # 10.0.0.7
    r"|(?<![a-z0-9])[a-z][a-z0-9]*(?:[-_:.#][a-z0-9]+)*[-_#]\d[a-z0-9]*(?:[-_.][a-z0-9]+)*"  # ORD-20931, user_42
    r"|(?<![a-z0-9])(?:[a-z]+[-_])?[a-z]+\d{3,}[a-z0-9]*(?:[-_][a-z0-9]+)*"  # CA1234, cus_a381
    r"|(?<![a-z0-9])(?=[a-z0-9]{6})(?:[a-z]+_)?[a-z]*\d+[a-z]+\d[a-z0-9]*"  # 9s6XKzkNRi
    r"|(?<![\d.])0\d{3,}(?![\d.])"  # 00123
)
# The letters outside ASCII are those that addresses may have; Chinese ones stand beside addresses without a space.
_LETTERS = r"a-z0-9_\u00c0-\u024f\u0370-\u052f"
EMAIL = re.compile(
    rf"(?<![{_LETTERS}.+-])(?<![{_LETTERS}]')[{_LETTERS}.+-]++(?:'[{_LETTERS}.+-]++)*+@[{_LETTERS}-]++(?:\.[{_LETTERS}-]++)++",
    re.I,
)
_PATTERNS: tuple[tuple[Kind, re.Pattern[str] | None], ...] = (
    ("url", re.compile(rf"(?<![a-z0-9+])[a-z][a-z0-9+]{{0,15}}://{_END}+", re.I)),
    ("email", EMAIL),
    ("url", re.compile(rf"(?<![\w@./-])(?:[a-z0-9-]+\.)+(?:{_TOP})(?![a-z0-9.-]*[a-z0-9])(?:/{_END}*)?", re.I)),
    ("date", None),
    ("path", re.compile(rf"(?<![\w/.*)<\\])(?:~|\.{{1,2}}|[a-z]:)?/[\w.-]+(?:(?:/[\w.-]+)+/?|\.(?:{_EXTENSION})\b)", re.I)),
    ("path", re.compile(rf"(?<![\w/.*)<\\])(?:(?:~|\.{{1,2}})/|[a-z]:[\\/]){_END}+", re.I)),
    ("path", re.compile(rf"(?<![\w/])[\w-][\w.-]*(?:/[\w.-]+)*\.(?:{_EXTENSION})(?![\w])", re.I)),
    ("handle", re.compile(r"(?<![\w/])[@#](?=\w*[^\W\d])\w[\w.-]*\w")),
    ("phone", re.compile(
        r"(?<![\w.-])(?!(?:19|20)\d\d-(?:19|20)\d\d\b)(?:\+\d{1,3}[ .-]?(?:\(?\d{1,4}\)?[ .-]?){1,4}\d{2,4}|\(?\d{2,4}\)?(?:-\d{3,4}){1,3})"
        r"(?![\w-])"
    )),
    ("id", re.compile(_ID, re.I | re.A)),
)  # fmt: skip
# Names of standards, and of periods and ranks, which only look like identifiers.
_NO_ID = re.compile(
    r"(?i:(?:utf|iso|sha|md|rfc|ieee|base|int|uint|float|latin|covid|gpt|http|ip|ipv|win|mp)[-_ ]?\d+\w*)"
    r"|(?i:mid|pre|post|early|late|fy|q[1-4]|h[12])[-_]?\d+"
)
_NAMED_ID = re.compile(r"(?=.*[A-Z])[A-Z]*\d{2,3}[A-Z\d]*")  # SPRING26, where a parameter asks for a code
# A token with many single small letters between capitals and digits: no words.
_TOKEN = re.compile(r"(?=[\w.-]{8,80}$)(?=.*[A-Z])(?:[^a-z]*(?:[a-z]{2,}[^a-z]+)*[a-z](?![a-z])){3}[\w.-]*", re.A)
YEAR_MONTH = re.compile(r"((?:19|20)\d\d)[-/](0[1-9]|1[0-2])")
_CURRENCY = re.compile(r"\b(?:USD|EUR|CNY|RMB|GBP|JPY|HKD|US)(?=\d)", re.I)
_LONG = re.compile(rf"[\w.+@/:#~%&?=\\-]{{{MAX_RUN},}}")
_URL = re.compile(r".{0,15}://", re.S)
MAX_URL = 2000  # characters
_IN_CODE = re.compile(
    r"^[ \t]*(?:import|from|def|class|return|print|const|let|var|function|async|public|package|while|for|if)\b[^.?!\n]{0,200}[=({;:]"
    r"|^[ \t]*(?:import|from) [\w.]{1,60}(?: (?:import|as) \w{1,60})?[ \t]*$|^[ \t]*[\w.\[\]\"']{1,60} ?[-+*/]?=[^=\n]"
    r"|^[ \t]*[\w.]{1,60}\([^\n]{0,300}\)[.;\w()]{0,40}[ \t]*$"
    r"|\bselect\b[^;]{1,400}\bfrom\b|\bupdate\b[^;]{1,200}\bset\b|\binsert\s+into\b|\bdelete\s+from\b|\bcreate\s+table\b"
    r"|\{[^{}]{0,200}:[^{}]{0,200};|\\[dwsb][+*{)\]]|\(\?[:=!<]|\[\^?[\w-]{1,20}\][+*{]",
    re.I | re.M,
)
_FORMULA = re.compile(r"(?=.*\d\s?[-+*/×÷^%])[\d\s.,+\-*/×÷^()=%]{1,500}")
_SPACES = re.compile(r"(\s)\s{3,}")
_ALMOST_A_NUMBER = re.compile(r"[\s\0$€£¥~#%(),.:+-]*(?:[^\W\d_]{1,12}[\s.)%]*)?(?:[^\W\d_]{1,12}[\s.)]*)?")


@dataclass(frozen=True)
class Entity:
    """An entity: its text as the model wrote it, the path (`to[0]`) and the name of its argument, and the form of the
    value that it is in. `quoted` says that it is a quoted text in code, `alone` that it is the whole value."""

    kind: Kind
    text: str
    path: str
    name: str = ""
    form: Form = "text"
    number: Number | None = None
    after: str = ""
    quoted: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Leaf:
    """A value in the arguments, as a text, with its path and name; `form` says what it is if it is known."""

    text: str
    path: str
    name: str
    form: Form | None = None


class Leaves:
    """The texts and numbers in a call's arguments, in order, with the keys of inner objects. `cut` says that there is
    more than is read."""

    def __init__(self, arguments: Any) -> None:
        self.cut = False
        self.all = list(self._read(arguments))

    def _read(self, arguments: Any) -> Iterator[Leaf]:
        waiting: list[tuple[Any, str, str, Form | None]] = [(arguments, "", "", None)]
        left = MAX_CALL
        for _ in range(MAX_LEAVES):
            if not waiting:
                return
            value, path, name, form = waiting.pop()
            if isinstance(value, dict):
                for key, item in reversed(value.items()):
                    inner = f"{path}.{key}".lstrip(".")
                    waiting.append((item, inner, str(key), None))
                    waiting += [(str(key), path, "", "text")] if path else []
            elif isinstance(value, list):
                waiting += [(item, f"{path}[{index}]", name, form) for index, item in reversed(list(enumerate(value)))]
            elif isinstance(value, str):
                most = min(MAX_TEXT, left)
                left -= min(len(value), most)
                self.cut |= len(value) > most or any(
                    not _URL.match(run[0]) or len(run[0]) > MAX_URL for run in _LONG.finditer(value[:most])
                )
                yield Leaf(unicodedata.normalize("NFKC", without_gaps(value[:most])), path, name, form)
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                yield Leaf(_written(value), path, name, "value")
        self.cut |= bool(waiting)


def entities(leaf: Leaf) -> Iterator[Entity]:
    """Yield the entities of a value, in the order of their kinds; the numbers come last."""
    form = leaf.form or _form(leaf.text)
    if role_of(leaf.name) == "identifier" and (_NAMED_ID.fullmatch(leaf.text) or _TOKEN.fullmatch(leaf.text)):
        yield Entity("id", leaf.text, leaf.path, leaf.name, form)
        return
    if is_name(leaf.name, leaf.text):
        yield Entity("name", leaf.text.strip(), leaf.path, leaf.name, form, alone=True)
        return
    if YEAR_MONTH.fullmatch(leaf.text):
        yield Entity("date", leaf.text, leaf.path, leaf.name, form, alone=True)
        return
    text = _CURRENCY.sub(lambda match: " " * len(match[0]), leaf.text)
    found, rest = places(text)
    for kind, (start, end) in found:
        part = text[start:end].rstrip(".,;:!?")
        quoted = text[start - 1 : start] in ("'", '"') and text[end : end + 1] == text[start - 1 : start]
        if not (kind == "id" and _NO_ID.fullmatch(part)):
            yield Entity(kind, part, leaf.path, leaf.name, form, quoted=quoted, alone=part == leaf.text.strip())
    for number in find_numbers(rest):
        start, end = number.span
        written, after = text[start:end].strip(), text[end : end + 16]
        yield Entity("number", written, leaf.path, leaf.name, form, number, after)


def places(text: str) -> tuple[list[tuple[Kind, Span]], str]:
    """Return where the entities other than numbers are, and the text with BLANK in their place.

    Runs that are too long for an address are left out.
    """
    found: list[tuple[Kind, Span]] = []
    text = covered(text, (run.span() for run in _LONG.finditer(text) if not _URL.match(run[0])), BLANK)
    for kind, pattern in _PATTERNS:
        spans = [match.span() for match in pattern.finditer(text)] if pattern else list(_dates(text))
        found += [(kind, span) for span in spans]
        text = covered(text, spans, BLANK)
        if kind == "url":
            text = covered(text, (run.span() for run in _LONG.finditer(text)), BLANK)
    spans = [clock.span for clock in find_clocks(text)]
    return [*found, *(("time", span) for span in spans)], covered(text, spans, BLANK)


def without_gaps(text: str) -> str:
    """Return a text with at most three spaces or line breaks in a row: patterns that skip them take long with more."""
    return _SPACES.sub(lambda run: run[1] * 3, text)


def _dates(text: str) -> Iterator[Span]:
    """Yield the places of the dates, each with the time of day that follows it."""
    for start, end in date_places(text):
        time = _TIME.match(text, end)
        yield start, time.end() if time else end


def _form(text: str) -> Form:
    """Return whether a text is one value (`12.50 USD`), a formula, a program, or words."""
    numbers = find_numbers(text) if len(text) <= 60 else []
    if len(numbers) == 1 and _ALMOST_A_NUMBER.fullmatch(covered(text, [numbers[0].span], BLANK)):
        return "value"
    if _FORMULA.fullmatch(text):
        return "formula"
    return "code" if _IN_CODE.search(text) else "text"


def _written(value: int | float) -> str:
    try:
        return str(value) if isinstance(value, int) else format(value, ".12f").rstrip("0").rstrip(".")
    except ValueError:  # more digits than Python writes
        return "0"
