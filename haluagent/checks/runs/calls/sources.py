"""The texts that a run has given the model so far, and the search for an entity in them."""

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from haluagent.arithmetic.known import USUAL_CONSTANTS, calculated_numbers
from haluagent.checks.runs.calls.entities import EMAIL, YEAR_MONTH, Entity, without_gaps
from haluagent.checks.runs.calls.given_dates import GivenDates
from haluagent.checks.runs.calls.given_numbers import GivenNumbers, Judgement
from haluagent.checks.runs.calls.names import is_given
from haluagent.checks.runs.calls.roles import role_of, unit_after, unit_of
from haluagent.text.clocks import Clock, find_clocks
from haluagent.text.dates import calendar_day, possible_dates
from haluagent.text.normalize import folded
from haluagent.text.numbers import Number

MAX_TEXT = 200_000  # characters read of a text
MAX_ALL = 1_000_000  # characters read of all texts
_DASHES = str.maketrans("‐‑‒–—−", "------")
_PHONE = re.compile(r"\+?\(?\d[\d ().-]{5,40}\d")
_HOME = re.compile(r"^(?:~|/home/[\w.-]+|/users/[\w.-]+)/")
_BETWEEN = "-_ .:#/"  # separators between the parts of an identifier, two in a row at most
_ESCAPED = re.compile(r"\\[nrt]")
_AT_DOT = re.compile(r"\s+[([]?(at|dot)[)\]]?\s+")
_START, _END = re.compile(r"(?<![a-z0-9])"), re.compile(r"(?![a-z0-9])")
_IN_HOST = r"a-z0-9_\u00c0-\u024f\u0370-\u052f-"  # Chinese stands beside a host without a space
_HOST_START = re.compile(rf"(?<![{_IN_HOST}])(?<![{_IN_HOST}]\.)")
_HOST_END = re.compile(rf"(?![{_IN_HOST}@]|\.[{_IN_HOST}])")
_WWW, _WWW_END = re.compile(rf"(?<=www\.)(?<![{_IN_HOST}.]www\.)"), _HOST_END
_PREFIX, _ANY_END = re.compile(r"(?<![a-z])"), re.compile("")
_SCHEME = re.compile(r"^[a-z][a-z0-9+]*://(?:www\.)?|^www\.")
_YEAR = re.compile(r"(?:19|20)\d\d")
_BOUND = re.compile(r"(?:00:00|23:59)(?::\d\d)?(?:\.0+)?(?:Z|[+-]\d\d:?\d\d)?|24:00")
_COLOR = re.compile(r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", re.I)
_OF_A_DAY = re.compile(r"year|month|day|week|quarter|[年月日]", re.I)
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)版?")
_VERSION_START, _VERSION_END = re.compile(r"(?<![\d.])"), re.compile(r"(?!\d|\.\d)")
_RANKED = re.compile(r"([A-Z]?[a-z]+)-\d{1,2}")  # mid-20 and web-03
_MIDNIGHT = re.compile(r"[T ]00:00")
_CLOCK_TIME = re.compile(r"\d{1,2}:\d{2}.*", re.S)
_GROUPS = re.compile(r"\d{1,12}(?:[ .-]\d{1,12}){1,9}")
GROUPED = 6  # digits at least
MINUTE, DAY = 60_000, 86_400_000  # milliseconds
LONGEST = 400 * DAY
CLOCKS = 30  # times of day whose distances are looked at
SMALL = 100  # below, and without decimals, a number in words may be a count or a rank of the model's own
LONG_SETTING = 100_000
# Characters of an abbreviated hash, and of a whole one; digits of a telephone number.
ABBREVIATED, HASH, PHONE = (7, 32, 7)


class _Piece:
    """A part of the texts, in the forms that are searched."""

    def __init__(self, text: str) -> None:
        self.text = text

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
        self.cut = False  # whether a text was too long to be read to its end
        self._left = MAX_ALL
        self._pieces: list[_Piece] = []
        self._dates = GivenDates()
        self._numbers = GivenNumbers()
        self._clocks: list[Clock] = []
        self._emails: set[str] = set()
        self._phones: defaultdict[str, set[str]] = defaultdict(set)  # by their last digits
        self._grouped: set[str] = set()  # long numbers that are written in groups of digits
        self._uncounted: list[str] = []  # texts whose numbers have not been needed yet

    def add(self, text: str, *, clock: bool = False, said: bool = False) -> None:
        """Add a text; that of a `clock` says what day it is, and what is `said` is the user's.

        It is read only when needed, and to MAX_TEXT characters.
        """
        most = min(MAX_TEXT, self._left)
        self.cut |= len(text) > most
        self._left -= min(len(text), most)
        whole, fields = _readable(text[:most])
        text = without_gaps(whole)
        self._dates.add(text, clock=clock, said=said)
        if said:
            self._numbers.hear(text)
        self._uncounted.append(without_gaps(fields))
        self._pieces.append(_Piece("\n" + _address(text)))
        # Joined like this there are few pieces, and no text is copied often.
        while len(self._pieces) > 1 and len(self._pieces[-2].text) <= 2 * len(self._pieces[-1].text):
            last = self._pieces.pop()
            self._pieces[-1] = _Piece(self._pieces[-1].text + last.text)

    def judge(self, entity: Entity, description: str = "") -> Judgement:
        """Return whether an entity is in the texts, in whatever notation, or follows from them in one step, or whether
        that is unclear.

        A date may follow from today or another date (`GivenDates`), a number from others (`GivenNumbers`); it must be
        given in the role that the parameter has, whose `description` may name its unit. A path or an address may be
        composed of a given beginning and given identifiers, a hash may be abbreviated, and an identifier may get its
        prefix from a word of the texts (ORD-1234 from "order 1234"). In a program, only addresses and quoted
        identifiers must be given: the rest is the model's own work.
        """
        if entity.kind == "number":
            return self._judge_number(entity, description)
        if entity.kind == "name":
            return "given" if is_given(_address(entity.text), self._has_word) else "unclear"
        if entity.kind == "time":
            return "given" if _BOUND.fullmatch(entity.text) or self._has_time(entity.text) else "unclear"
        if self._have(entity):
            clock = _CLOCK_TIME.search(entity.text) if entity.kind == "date" else None
            known = clock is None or _BOUND.fullmatch(clock[0]) or not self._clocks or self._has_time(clock[0])
            return "given" if known else "unclear"
        return "unclear" if self._is_own_work(entity) else "invented"

    def _is_own_work(self, entity: Entity) -> bool:
        """Return whether a model may have chosen an entity itself: in a program, a hashtag or a color, or for a day that
        the texts describe in a way that is not worked out here."""
        if entity.kind == "date":
            return entity.form == "code" or self._dates.may_mean(_days(entity.text))
        if entity.kind == "handle" and entity.text.startswith("#"):
            return not entity.alone or _COLOR.fullmatch(entity.text) is not None
        is_name = entity.quoted and entity.kind == "id" and len(re.findall(r"\d", entity.text)) > 3
        return entity.form == "code" and entity.kind not in ("url", "email") and not is_name

    def states(self, number: Number) -> bool:
        """Return whether the texts state a number, in whatever role."""
        self._count()
        return self._numbers.states(number.value)

    def _have(self, entity: Entity) -> bool:
        text = _address(entity.text)
        if entity.kind == "date":
            days = _days(entity.text)
            if _MIDNIGHT.search(entity.text):  # the end of the day before
                days |= {day - timedelta(days=1) for day in days}
            return not days or any(map(self._dates.has, days)) or self._has(text)
        if entity.kind == "url":
            return self._has_url(text)
        if entity.kind == "path":
            return self._has_path(text)
        if entity.kind == "handle":
            return self._has(text.lstrip("@#"))
        if entity.kind == "phone":
            return self._has(text) or self._has_phone(text)
        if entity.kind == "email":
            self._count()
            return text in self._emails
        if version := _VERSION.fullmatch(text):
            return self._has(version[1], _VERSION_START, _VERSION_END)
        return self._has_id(text) or (text.isdecimal() and self._has_digits(text))

    def is_name(self, entity: Entity) -> bool:
        """Return whether an entity only looks like an identifier: a word with a small number that the texts do not
        number themselves."""
        ranked = _RANKED.fullmatch(entity.text) if entity.kind == "id" else None
        return ranked is not None and not (
            entity.alone
            and any(re.search(rf"(?<![a-z0-9]){ranked[1].lower()}-\d", piece.text) for piece in self._pieces)
        )

    def _has_time(self, text: str) -> bool:
        self._count()
        return all(any(clock.is_same(other) for other in self._clocks) for clock in find_clocks(text))

    def _has(self, key: str, start: re.Pattern[str] = _START, end: re.Pattern[str] = _END) -> bool:
        """Return whether a piece contains the key by itself, not inside a longer word or number."""
        return bool(key) and any(
            start.match(piece.text, at) and end.match(piece.text, at + len(key))
            for piece in self._pieces for at in _occurrences(key, piece.text)
        )  # fmt: skip

    def _has_word(self, word: str) -> bool:
        """Return whether a piece contains a word by itself; around Chinese ones there are no spaces."""
        return self._has(word) if word.isascii() else self._has(word, _ANY_END, _ANY_END)

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
        """Return whether the parts of an identifier occur one after the other, with little between them; long numbers,
        as in an IBAN, also in groups of digits."""
        joined = "".join(runs)
        parts = ("[ .-]?".join(run) if run.isdecimal() and len(run) >= GROUPED else re.escape(run) for run in runs)
        spaced = rf"(?<![a-z0-9]){f'[{re.escape(_BETWEEN)}]{{0,2}}'.join(parts)}(?![a-z0-9])"
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

    def _judge_number(self, entity: Entity, description: str) -> Judgement:
        self._count()
        if entity.form == "formula" or entity.number is None:
            found = [self._judge_operand(number) for number in calculated_numbers(entity.text)]
            return "invented" if "invented" in found else "unclear" if "unclear" in found else "given"
        number, name, value = entity.number, entity.name, entity.number.value
        whole = value.denominator == 1
        words = entity.form != "value"
        unit = unit_after(entity.after) or unit_of(name, description)
        judged = self._numbers.judge(number, name, unit, text=words)
        if judged != "invented":
            return judged
        if (
            self._has_phone(number.text)
            or self._has_digits(number.text)
            or self._is_day(value)
            or self._lasts(value, unit)
        ):
            return "given"
        if words:
            own = (
                entity.form == "code"
                or not re.search(r"\d", entity.text)
                or (whole and abs(value) <= SMALL)
                or _YEAR.fullmatch(entity.text)
            )
            return "unclear" if own else "invented"
        usual = (
            self._is_usual(name, value)
            or self._numbers.is_near(value, name, unit)
            or self._is_part_of_a_day(name, value)
        )
        return "unclear" if usual else "invented"

    def _judge_operand(self, number: Number) -> Judgement:
        if abs(number.value) in USUAL_CONSTANTS:
            return "given"
        judged = self._numbers.judge(number, "", None, text=True)
        small = number.value.denominator == 1 and abs(number.value) < SMALL
        return "unclear" if judged == "invented" and small else judged

    def _is_usual(self, name: str, value: Fraction) -> bool:
        """Return whether nobody need give this: 0 and 1, a round number for a setting such as `limit`, a place on
        earth."""
        role = role_of(name)
        if value in (0, 1):
            return role != "money"
        if role == "place":
            return abs(value) <= 180
        if role != "setting" or not 0 < value <= LONG_SETTING:
            return False
        size = int(value)
        return value <= SMALL or size & (size - 1) == 0 or len(str(size).rstrip("0")) <= 2

    def _has_digits(self, text: str) -> bool:
        self._count()
        return text in self._grouped

    def _lasts(self, value: Fraction, unit: tuple[str, Fraction] | None) -> bool:
        """Return whether a length of time is that between two given days or times of day."""
        if unit is None or unit[0] != "time" or not 0 < value * unit[1] < LONGEST:
            return False
        days, minutes = value * unit[1] / DAY, value * unit[1] / MINUTE
        if days.denominator == 1 and self._dates.apart(int(days)):
            return True
        clocks = self._clocks[:CLOCKS]
        return any((one.minutes - other.minutes) % 720 == minutes % 720 for one in clocks for other in clocks)

    def _is_part_of_a_day(self, name: str, value: Fraction) -> bool:
        return (
            _OF_A_DAY.search(name) is not None
            and value.denominator == 1
            and (
                "month" in name.lower()
                or self._dates.is_near(int(value))
                or any(self._numbers.states(Fraction(years)) for years in self._dates.years_since(int(value)))
            )
        )

    def _is_day(self, value: Fraction) -> bool:
        """Return whether a number is the time stamp of a given day."""
        return value >= 10**9 and any(
            (day := _day(float(value) / scale)) and self._dates.has(day) for scale in (1, 1000)
        )

    def _count(self) -> None:
        """Read the numbers, times and e-mail addresses of new texts."""
        for text in self._uncounted:
            address = _address(text)
            self._numbers.read(text)
            self._clocks += find_clocks(text)
            for form in (address, _AT_DOT.sub(lambda match: {"at": "@", "dot": "."}[match[1]], address)):
                self._emails.update(match[0] for match in EMAIL.finditer(form))
            groups = (re.sub(r"\D", "", found) for found in _GROUPS.findall(address))
            self._grouped.update(digits for digits in groups if len(digits) >= GROUPED)
            for found in _PHONE.findall(address):
                phone = re.sub(r"\D", "", found)
                self._phones[phone[-PHONE:]].add(phone)
        self._uncounted.clear()


def is_small(entity: Entity) -> bool:
    """Return whether an entity is a whole number up to SMALL."""
    return entity.number is not None and entity.number.value.denominator == 1 and abs(entity.number.value) <= SMALL


def _occurrences(key: str, text: str) -> Iterator[int]:
    at = text.find(key)
    while at >= 0:
        yield at
        at = text.find(key, at + 1)


def _days(text: str) -> set[date]:
    """Return the days that a date may be; of a month, all."""
    if month := YEAR_MONTH.fullmatch(text):
        days = (calendar_day(int(month[1]), int(month[2]), day) for day in range(1, 32))
        return {day for day in days if day}
    return set(possible_dates(text))


def _day(seconds: float) -> date | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).date()
    except (OverflowError, ValueError, OSError):
        return None


def _address(text: str) -> str:
    """Return a text folded, addresses without their escapes, and with / in paths."""
    return unquote(folded(text).translate(_DASHES)).replace("\\", "/")


def _readable(text: str) -> tuple[str, str]:
    """Return a text with the unescaped contents of its JSON, and the JSON alone, whose numbers stand beside the names of
    their fields; if it is no JSON, the same text twice."""
    if not text.lstrip().startswith(("{", "[", '"')):
        return text, text
    try:
        value = json.loads(text)
        parts = "\n".join(_parts(value))
        fields = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        text += "\n" + _ESCAPED.sub(" ", text.replace("\\/", "/"))
        return text, text
    return text.replace("\\/", "/") + "\n" + parts, _ESCAPED.sub(" ", fields)


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
