"""The texts that a run has given the model so far, and the search for an entity in them."""

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from haluagent.arithmetic.known import USUAL_CONSTANTS, calculated_numbers, known_numbers
from haluagent.checks.runs.calls.entities import Entity
from haluagent.checks.runs.calls.given_dates import GivenDates
from haluagent.text.dates import possible_dates
from haluagent.text.normalize import folded
from haluagent.text.numbers import find_numbers, rounds_to
from haluagent.text.units import FACTORS_OF_UNITS

_DASHES = str.maketrans("‐‑‒–—−", "------")
_PHONE = re.compile(r"\+?\(?\d[\d ().-]{5,}\d")
_FORMULA = re.compile(r"[\d\s.,+\-*/×÷^()=%]+")
_HOME = re.compile(r"^(?:~|/home/[\w.-]+|/users/[\w.-]+)/")
_BETWEEN = "-_ .:#/"  # separators between the parts of an identifier, two in a row at most
_AT_DOT = re.compile(r"\s+[([]?(at|dot)[)\]]?\s+")
_START, _END = re.compile(r"(?<![a-z0-9])"), re.compile(r"(?![a-z0-9])")
_HOST_START, _HOST_END = re.compile(r"(?<![a-z0-9-])(?<![a-z0-9]\.)"), re.compile(r"(?![a-z0-9-]|\.[a-z0-9])")
_WWW, _WWW_END = re.compile(r"(?<=www\.)"), re.compile(r"(?![a-z0-9.-])")
_PREFIX, _ANY_END = re.compile(r"(?<![a-z])"), re.compile("")
_SCHEME = re.compile(r"^[a-z][a-z0-9+]*://(?:www\.)?|^www\.")
FACTORS = (Fraction(2), *FACTORS_OF_UNITS)  # a half and a double, too
MAX_OPERANDS = 24  # with more numbers than these, some two would make almost any third
# Characters of an abbreviated hash, and of a whole one; digits of a telephone number.
ABBREVIATED, HASH, PHONE = (7, 32, 7)


class _Piece:
    """A part of the texts, in the forms that are searched."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def spoken(self) -> str:
        """Return the text with spelled-out e-mail addresses written normally: "ann at example dot com"."""
        return _AT_DOT.sub(lambda match: {"at": "@", "dot": "."}[match[1]], self.text)

    @cached_property
    def joined(self) -> str:
        """Return the text without separators of identifiers."""
        return self.text.translate(dict.fromkeys(map(ord, _BETWEEN)))

    @cached_property
    def places(self) -> "array[int]":
        """Return the position in the text of each character of `joined`."""
        places = array("L")
        for match in re.finditer(f"[^{re.escape(_BETWEEN)}]+", self.text):
            places.extend(range(*match.span()))
        return places


class Sources:
    """The texts that an argument may take its entities from. They grow with the run."""

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []
        self._dates = GivenDates()
        self._numbers: set[Fraction] = set()
        self._known: set[Fraction] = set()  # also the values that a percentage can stand for
        self._phones: defaultdict[str, set[str]] = defaultdict(set)  # by their last digits
        self._uncounted: list[str] = []  # texts whose numbers have not been needed yet

    def add(self, text: str, *, clock: bool = False) -> None:
        """Add a text; that of a `clock` says what day it is. It is read only when needed."""
        text = _readable(text)
        self._dates.add(text, clock=clock)
        self._uncounted.append(text)
        self._pieces.append(_Piece("\n" + _address(text)))
        # Joined like this there are few pieces, and no text is copied often.
        while len(self._pieces) > 1 and len(self._pieces[-2].text) <= 2 * len(self._pieces[-1].text):
            last = self._pieces.pop()
            self._pieces[-1] = _Piece(self._pieces[-1].text + last.text)

    def have(self, entity: Entity, whole: str) -> bool:
        """Return whether an entity is in the texts, in whatever notation, or follows from them in one step.

        `whole` is the value that contains it. A date may follow from today or another date (`GivenDates`). A number may
        be the sum, difference, product or quotient of two given ones, or a given one in another unit. A path or an
        address may be composed of a given beginning and given identifiers, a hash may be abbreviated, and an identifier
        may get its prefix from a word of the texts (ORD-1234 from "order 1234").
        """
        text = _address(entity.text)
        if entity.kind == "date":
            days = possible_dates(entity.text)
            return not days or any(map(self._dates.has, days)) or self._has(text)
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
            return self._has(text) or any(text in piece.spoken for piece in self._pieces)
        return self._has_id(text)

    def _has(self, key: str, start: re.Pattern[str] = _START, end: re.Pattern[str] = _END) -> bool:
        """Return whether a piece contains the key by itself, not inside a longer word or number."""
        return bool(key) and any(
            start.match(piece.text, at) and end.match(piece.text, at + len(key))
            for piece in self._pieces for at in _occurrences(key, piece.text)
        )  # fmt: skip

    def _has_id(self, key: str) -> bool:
        runs = re.findall(r"[a-z]+|\d+|[^\Wa-z\d_]+", key)
        if not runs or self._has_runs(runs):
            return True
        if len(key) >= ABBREVIATED and re.fullmatch(r"[0-9a-f]+", key):
            return len(key) <= HASH and self._has(key, end=re.compile(rf"[0-9a-f]{{{HASH - len(key)},}}(?![a-z0-9])"))
        if len(runs) == 2 and runs[0].isalpha() and runs[1].isdigit() and len(runs[1]) >= 3:
            return self._has(runs[1]) and self._has(runs[0], _PREFIX, _ANY_END)
        return False

    def _has_runs(self, runs: list[str]) -> bool:
        """Return whether the parts of an identifier occur one after the other, with little between them."""
        joined = "".join(runs)
        spaced = rf"(?<![a-z0-9]){f'[{re.escape(_BETWEEN)}]{{0,2}}'.join(map(re.escape, runs))}(?![a-z0-9])"
        return any(
            re.compile(spaced).match(piece.text, piece.places[at])
            for piece in self._pieces for at in _occurrences(joined, piece.joined)
        )  # fmt: skip

    def _has_path(self, key: str) -> bool:
        key = key.removeprefix("./")
        if self._has(key) or self._has(key.rstrip("/")) or self._has(_HOME.sub("", key)):
            return True
        folder, _, name = key.rpartition("/")
        if (
            folder
            and self._has(folder)
            and (self._has(name) or (re.search(r"\d", name) and self._has_id(name.partition(".")[0])))
        ):
            return True
        # In Chinese the words before a file name are not separated from it.
        start = re.match(r"[^\x00-\x7f]+", key)
        return start is not None and any(self._has(key[place:]) for place in range(1, start.end()))

    def _has_url(self, key: str) -> bool:
        key = _SCHEME.sub("", key).partition("#")[0]
        host, slash, path = key.partition("/")
        path, _, query = path.partition("?")
        host, path = re.sub(r":(?:80|443)$", "", host), path.rstrip("/")
        given = not host or self._has(host, _HOST_START, _HOST_END) or self._has(host, _WWW, _WWW_END)
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
        self._count()
        return any(phone.endswith(digits) or digits.endswith(phone) for phone in self._phones.get(digits[-PHONE:], ()))

    def _has_number(self, text: str, whole: str) -> bool:
        constants = USUAL_CONSTANTS if _FORMULA.fullmatch(whole) and re.search(r"\d\s*[-+*/×÷^%]", whole) else ()
        self._count()
        return all(
            (value := abs(number.value)) in self._known or value in constants
            or self._follows(value, number.decimals) or self._has_phone(number.text)
            for number in calculated_numbers(text)
        )  # fmt: skip

    def _follows(self, value: Fraction, decimals: int | None) -> bool:
        """Return whether a number is one operation away from the given ones, or the time stamp of a given day."""
        given = self._numbers
        if any(value * factor in given or value / factor in given for factor in FACTORS):
            return True
        if value >= 10**9 and any((day := _day(float(value) / scale)) and self._dates.has(day) for scale in (1, 1000)):
            return True
        if len(given) > MAX_OPERANDS:
            return False
        return any(
            value in (one + other, abs(one - other), one * other)
            or (other and decimals and rounds_to(one / other, value, decimals))
            for one in given
            for other in given
        )

    def _count(self) -> None:
        """Read the numbers of new texts."""
        for text in self._uncounted:
            self._numbers.update(abs(number.value) for number in find_numbers(text))
            self._known |= known_numbers(text)
            for match in _PHONE.findall(_address(text)):
                phone = re.sub(r"\D", "", match)
                self._phones[phone[-PHONE:]].add(phone)
        self._uncounted.clear()


def _occurrences(key: str, text: str) -> Iterator[int]:
    at = text.find(key)
    while at >= 0:
        yield at
        at = text.find(key, at + 1)


def _day(seconds: float) -> date | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).date()
    except (OverflowError, ValueError, OSError):
        return None


def _address(text: str) -> str:
    """Return a text folded, addresses without their escapes, and with / in paths."""
    return unquote(folded(text).translate(_DASHES)).replace("\\", "/")


def _readable(text: str) -> str:
    """Return a text with the unescaped contents of its JSON, if it is JSON."""
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
