"""The entities in a call's arguments: values that a model must have from somewhere, and cannot paraphrase."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from haluagent.text.dates import date_places
from haluagent.text.numbers import find_numbers
from haluagent.types import Span

Kind = Literal["url", "email", "path", "date", "handle", "phone", "id", "number"]

MAX_LEAVES = 2000  # values looked at per call
MAX_TEXT = 20_000  # characters looked at per value

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
_PATTERNS: tuple[tuple[Kind, re.Pattern[str] | None], ...] = (
    ("url", re.compile(rf"[a-z][a-z0-9+]*://{_END}+", re.I)),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.I | re.A)),
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
    r"|(?i:mid|pre|post|early|late|fy|q[1-4]|h[12])[-_]?\d+|[A-Z]?[a-z]+-\d{1,2}"
)
_CURRENCY = re.compile(r"\b(?:USD|EUR|CNY|RMB|GBP|JPY|HKD|US)(?=\d)", re.I)
_CODE = frozenset("code script python program source_code snippet regex pattern html css sql query_sql command".split())
_SETTINGS = frozenset(
    "limit page per_page page_size pagesize pagenumber page_number offset top_k top_p top_n topk k n max_results maxresults "
    "num_results numresults results max_tokens maxtokens temperature timeout timeout_seconds timeout_ms retries count size "
    "batch_size chunk_size precision depth width height indent rows".split()
)


@dataclass(frozen=True)
class Entity:
    """An entity: its text as the model wrote it, and the path of its argument (`to[0]`)."""

    kind: Kind
    text: str
    path: str


@dataclass(frozen=True)
class Leaf:
    """A value in the arguments, as a text, with its path and name."""

    text: str
    path: str
    name: str


def leaves(value: Any, path: str = "", name: str = "") -> Iterator[Leaf]:
    """Yield the texts and numbers in the arguments, in order, including the keys of inner objects."""
    waiting: list[tuple[Any, str, str]] = [(value, path, name)]
    for _ in range(MAX_LEAVES):
        if not waiting:
            return
        value, path, name = waiting.pop()
        if isinstance(value, dict):
            inner = [(item, f"{path}.{key}".lstrip("."), str(key)) for key, item in value.items()]
            waiting += [pair for item in reversed(inner) for pair in (item, *([(item[2], path, "")] if path else []))]
        elif isinstance(value, list):
            waiting += [(item, f"{path}[{index}]", name) for index, item in reversed(list(enumerate(value)))]
        elif isinstance(value, str):
            yield Leaf(unicodedata.normalize("NFKC", value[:MAX_TEXT]), path, name)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield Leaf(_written(value), path, name)


def entities(leaf: Leaf) -> Iterator[Entity]:
    """Yield the entities of a value.

    In code only addresses count: the rest of it is the model's own work. A round number in a setting such as `limit` is
    no entity, and neither is a number below 100 without decimals anywhere.
    """
    code = leaf.name.lower() in _CODE
    text = _CURRENCY.sub(lambda match: " " * len(match[0]), leaf.text)
    for kind, pattern in _PATTERNS:
        if code and kind not in ("url", "email"):
            continue
        for start, end in [match.span() for match in pattern.finditer(text)] if pattern else list(_dates(text)):
            found = text[start:end].rstrip(".,;:!?")
            if not (kind == "id" and _NO_ID.fullmatch(found)):
                yield Entity(kind, found, leaf.path)
            text = text[:start] + " " * (end - start) + text[end:]
    for number in () if code else find_numbers(text):
        if _is_specific(number.text, abs(float(number.value))) and not _is_setting(leaf.name, abs(float(number.value))):
            yield Entity("number", number.text.strip(), leaf.path)


def _dates(text: str) -> Iterator[Span]:
    """Yield the places of the dates, each with the time of day that follows it."""
    for start, end in date_places(text):
        time = _TIME.match(text, end)
        yield start, time.end() if time else end


def _written(value: int | float) -> str:
    try:
        return str(value) if isinstance(value, int) else format(value, ".12f").rstrip("0").rstrip(".")
    except ValueError:  # more digits than Python writes
        return "0"


def _is_specific(text: str, value: float) -> bool:
    digits = re.sub(r"\D", "", text)
    return value != 100 and ("." in text.strip(".") or len(digits) >= 3 or (not digits and value > 100))


def _is_setting(name: str, value: float) -> bool:
    """Return whether this sets how a tool works rather than what on: `limit=50`, `timeout=3000`, `max_tokens=4096`."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    if plain not in _SETTINGS or value > 100_000:
        return False
    whole = int(value)
    return value <= 100 or whole & (whole - 1) == 0 or len(str(whole).rstrip("0")) <= 2
