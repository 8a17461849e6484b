"""What a run has given the model by now, and whether an entity is in it."""

import json
import re
import unicodedata
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any
from urllib.parse import unquote

from ..tools._known import USUAL_CONSTANTS, foreign_numbers
from ..tools._numbers import find_numbers, rounds_to
from .entities import Entity
from .given_dates import given_dates, written_dates

_DASHES = str.maketrans("‐‑‒–—−", "------")
_PHONE = re.compile(r"\+?\(?\d[\d ().-]{5,}\d")
_FORMULA = re.compile(r"[\d\s.,+\-*/×÷^()=%]+")
_HOME = re.compile(r"^(?:~|/home/[\w.-]+|/users/[\w.-]+)/")
_SCHEME = re.compile(r"^[a-z][a-z0-9+]*://(?:www\.)?|^www\.")
FACTORS = tuple(Fraction(number) for number in (2, 7, 12, 24, 60, 100, 1000, 1024, 1440, 3600, 10_000, 60_000, 86_400, 1_000_000))
MAX_OPERANDS = 24  # with more numbers than these, some two would make almost any third
ABBREVIATED, PHONE = 7, 7  # characters of an abbreviated hash; digits of a telephone number


class Sources:
    """The texts that an argument may take its entities from. They grow with the run."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._clocks: list[str] = []
        self._plain = ""
        self._dates: set[date] | None = None

    def add(self, text: str, *, clock: bool = False) -> None:
        """One more text; that of a `clock` says what day it is."""
        text = _readable(text)
        self._texts.append(text)
        if clock:
            self._clocks.append(text)
        self._plain += "\n" + _plain(text)
        self._dates = None

    def have(self, entity: Entity, whole: str) -> bool:
        """Whether an entity is in the texts, written in one way or another, or follows from them in one step. `whole` is the
        value that it stands in.

        A date may follow from today or another date (`given_dates`). A number may be the sum, difference, product or quotient
        of two given ones, or a given one in another unit. A path or an address may be put together from a given beginning and
        given identifiers, a hash may be abbreviated, and an identifier may get its prefix from a word of the texts (ORD-1234
        from "order 1234").
        """
        text = _plain(entity.text)
        if entity.kind == "date":
            days = written_dates(entity.text)
            return not days or bool(days & self._days()) or self._has(text)
        if entity.kind == "number":
            return self._has(text) or self._has_number(entity.text, whole)
        if entity.kind == "url":
            return self._has_url(text)
        if entity.kind == "path":
            return self._has_path(text)
        if entity.kind == "handle":
            return self._has(text.lstrip("@#"))
        if entity.kind == "phone":
            return self._has(text) or self._has_phone(text)
        if entity.kind == "email":
            return self._has(text) or text in re.sub(r"\s+[([]?(at|dot)[)\]]?\s+", lambda m: {"at": "@", "dot": "."}[m[1]], self._plain)
        return self._has_id(text)

    def _days(self) -> set[date]:
        if self._dates is None:
            self._dates = given_dates(self._texts, self._clocks)
        return self._dates

    def _has(self, key: str) -> bool:
        """Whether it stands there by itself, and not inside a longer word or number."""
        if not key or key not in self._plain:  # faster than the pattern
            return False
        return re.search(rf"(?<![a-z0-9]){re.escape(key)}(?![a-z0-9])", self._plain) is not None

    def _has_id(self, key: str) -> bool:
        runs = re.findall(r"[a-z]+|\d+|[^\Wa-z\d_]+", key)
        spaced = r"[-_ .:#/]{0,2}".join(map(re.escape, runs))
        if not runs:
            return True
        if all(run in self._plain for run in runs) and re.search(rf"(?<![a-z0-9]){spaced}(?![a-z0-9])", self._plain):
            return True
        if len(key) >= ABBREVIATED and re.fullmatch(r"[0-9a-f]+", key):
            return re.search(rf"(?<![a-z0-9]){key}[0-9a-f]{{{32 - len(key)},}}(?![a-z0-9])", self._plain) is not None
        if len(runs) == 2 and runs[0].isalpha() and runs[1].isdigit() and len(runs[1]) >= 3:
            return self._has(runs[1]) and re.search(rf"(?<![a-z]){runs[0]}", self._plain) is not None
        return False

    def _has_path(self, key: str) -> bool:
        key = key.removeprefix("./")
        if self._has(key) or self._has(key.rstrip("/")) or self._has(_HOME.sub("", key)):
            return True
        folder, _, name = key.rpartition("/")
        if folder and self._has(folder) and (self._has(name) or (re.search(r"\d", name) and self._has_id(name.partition(".")[0]))):
            return True
        # In Chinese the words before a file name are not set apart from it.
        start = re.match(r"[^\x00-\x7f]+", key)
        return start is not None and any(self._has(key[place:]) for place in range(1, start.end()))

    def _has_url(self, key: str) -> bool:
        key = _SCHEME.sub("", key).partition("#")[0]
        host, slash, path = key.partition("/")
        path, _, query = path.partition("?")
        host, path = re.sub(r":(?:80|443)$", "", host), path.rstrip("/")
        given = re.search(rf"(?<![a-z0-9-])(?<![a-z0-9]\.){re.escape(host)}(?![a-z0-9-]|\.[a-z0-9])", self._plain) is not None
        if not given and self._plain and re.search(rf"(?<=www\.){re.escape(host)}(?![a-z0-9.-])", self._plain):
            given = True
        if not all(self._has(value) for value in re.findall(r"=([^&]*\d[^&]*)", query) if len(value) > 2):
            return False
        if not path:
            return given
        if self._has(f"{host}/{path}") or (given and self._has(f"/{path}")):
            return True
        if not given:  # "psf/requests on GitHub"
            labels = [label for label in host.split(".") if len(label) >= 4]
            return "/" in path and any(self._has(label) for label in labels) and self._has(path)
        parts = path.split("/")
        known = max((n for n in range(len(parts)) if self._has("/".join([host, *parts[:n]]))), default=0)
        return all(re.search(r"\d", part) and self._has_id(part) for part in parts[known:])

    def _has_phone(self, key: str) -> bool:
        digits = re.sub(r"\D", "", key)
        if len(digits) < PHONE:
            return False
        given = {re.sub(r"\D", "", match) for match in _PHONE.findall(self._plain)}
        return any(one.endswith(other) for phone in given if len(phone) >= PHONE for one, other in ((phone, digits), (digits, phone)))

    def _has_number(self, text: str, whole: str) -> bool:
        constants = USUAL_CONSTANTS if _FORMULA.fullmatch(whole) and re.search(r"\d\s*[-+*/×÷^%]", whole) else ()
        foreign = foreign_numbers(text, self._texts, constants)
        return all(self._follows(abs(number.value), number.decimals) or self._has_phone(number.text) for number in foreign)

    def _follows(self, value: Fraction, decimals: int | None) -> bool:
        """Whether a number is one operation away from those that are given, or the time stamp of a given day."""
        given = {abs(number.value) for text in self._texts for number in find_numbers(text)}
        if any(value in (one * factor, one / factor) for one in given for factor in FACTORS):
            return True
        if value >= 10**9 and any(_day(float(value) / scale) in self._days() for scale in (1, 1000)):
            return True
        if len(given) > MAX_OPERANDS:
            return False
        return any(
            value in (one + other, abs(one - other), one * other) or (other and decimals and rounds_to(one / other, value, decimals))
            for one in given
            for other in given
        )


def _day(seconds: float) -> date | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).date()
    except (OverflowError, ValueError, OSError):
        return None


def _plain(text: str) -> str:
    """One form of each character, no capitals, addresses without their escapes, and / in paths."""
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    return unquote(text).replace("\\", "/")


def _readable(text: str) -> str:
    """A text with what JSON in it says, where it is JSON: without the escapes."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return text
    try:
        parts = "\n".join(_parts(json.loads(text)))
    except (ValueError, RecursionError):
        return text + "\n" + re.sub(r"\\[nrt]", " ", text.replace("\\/", "/"))
    return text.replace("\\/", "/") + "\n" + parts


def _parts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [part for pair in reversed(value.items()) for part in reversed(pair)]
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            yield str(value)
