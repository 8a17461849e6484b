"""The numbers a text states, Chinese or English, each with its place and how precisely it is stated."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from haluagent.text.normalize import MIXED, Plain
from haluagent.text.numerals import ENGLISH_NUMBER, HAN_NUMBER, HAN_NUMERALS, HAN_SCALES, SCALES, read_english, read_han
from haluagent.text.places import Taken
from haluagent.types import Span

APPROXIMATE = Fraction(6, 1000)
"""How far, relatively, a number stated as `about` may be off: what 3.14 instead of π, or 33 for a third, costs."""

MAX_DIGITS = 30
NEARBY = 20  # characters around a number that say what it is


@dataclass(frozen=True)
class Number:
    """A stated number: `value` (20% is 1/5) and the half-open `span` of its text.

    `decimals` is how many decimal places are stated: 1 for `2.5`, -7 for `1.5亿`, None for a fraction such as `3/4`,
    which is exact. For a percent they are those of the number before the sign.
    """

    value: Fraction
    span: Span
    text: str
    decimals: int | None = 0
    is_percent: bool = False
    approximate: bool = False


_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_NOT_INSIDE = r"(?<![A-Za-z0-9_.第])"
# The 千 of 千克, 千米 and the like belongs to the unit.
_HAN_SCALE = "|".join(
    scale + "(?![克米瓦卡升伏帕焦赫字])" * (scale == "千") for scale in sorted(HAN_SCALES, key=len, reverse=True)
)
_SCALE = rf"(?P<scale>{_HAN_SCALE}|\s*(?:{'|'.join(SCALES)})\b)?"
_PERCENT = r"(?P<percent>\s*\\?%|\s*percent\b|\s*per cent\b)?"
_HAN_PART = rf"(?:[0-9]{{1,20}}(?:\.[0-9]{{1,20}})?|{HAN_NUMBER})"

# Words that a Chinese numeral counts. Without one (or without a scale such as 十), a numeral is part of a word.
_MEASURES = (
    "个 名 位 人 只 条 头 匹 本 页 张 支 枝 根 块 片 件 套 双 对 辆 台 架 艘 棵 株 朵 颗 粒 瓶 杯 碗 盒 箱 袋 包 桶 "
    "篮 筐 座 栋 层 间 所 家 户 班 组 队 排 行 列 段 句 字 词 题 道 门 次 回 遍 趟 场 倍 成 份 批 种 样 元 "
    "角 分 块钱 美元 人民币 年 月 日 天 周 星期 小时 时 分钟 秒 岁 米 厘米 毫米 分米 千米 公里 "
    "里 寸 尺 克 千克 公斤 斤 吨 升 毫升 平方 立方 亩 公顷 度"
).split()
_ARTICLE_MEASURES = set("个名位只条头本张支根块片件次回遍趟场种样层间所家户道门句段人成组行时度分")
_EXACT_ONES = tuple(m for m in _MEASURES if m not in _ARTICLE_MEASURES)
_BESIDE_OPERATOR = re.compile(r"[+\-*/×÷=加减乘除≈]")
_ORDINAL = re.compile(r"(?:第|星期|周|礼拜|初)$")
_UNDERS = {"third": 3, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10}
_ENGLISH_FRACTION = re.compile(
    rf"(?<![A-Za-z-])(?:(?P<over>one|two|three|four|five|six|seven|eight|nine)[\s-]|an?\s(?=[a-z]+\sof\b))(?P<under>{'|'.join(_UNDERS)})(?P<plural>s)?\b",
    re.IGNORECASE,
)
# Digits that are no part of a decimal: as they are, or as a date or a time with points.
_DIGIT_RUNS = re.compile(r"(?<![\d.])(?:\d{1,2}\.\d{1,2}\.\d{2,4}|\d{1,2}\.[0-5]\d(?!\d)|\d{1,12}(?!\d|\.\d))")
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth "
    "seventeenth eighteenth nineteenth twentieth"
).split()
_PRONOUN = re.compile(r"\s+(?:of|another)\b", re.IGNORECASE)
_NOT_A_COUNT = re.compile(r"(?:no|any|every|each|some|this|that|the|which)\s+$", re.IGNORECASE)

_ABOUT_BEFORE = re.compile(
    r"(?:约|大概|近|将近|差不多|≈|~|\\approx|\b(?:about|approximately|approx\.?|around|roughly|nearly|almost))"
    r"\s*(?:为|是|有|等于|of|is)?\s*[$¥€£]?\s*$",
    re.IGNORECASE,
)
_ABOUT_AFTER = re.compile(r"^\s*[^\s,，。;；]{0,4}?(?:左右|上下)|^\s*(?:[a-z]+\s+)?or so\b")


def find_numbers(text: str) -> list[Number]:
    """Return the numbers of `text` in order, none inside another. Ordinals (`第3`, `2nd`) and idioms (`一心一意`) are
    none."""
    return list(_find_numbers(text))


@lru_cache(maxsize=4096)  # the sentences of a response are read again for each of them
def _find_numbers(text: str) -> tuple[Number, ...]:
    plain = Plain(text)
    found: list[tuple[int, int, Fraction, int | None, bool]] = []
    taken = Taken(len(plain.text))
    for reader in (_fractions, _english_fractions, _tenths, _decimals, _han, _english):
        for item in reader(plain.text):
            if not taken.meets(item[:2]):
                found.append(item)
                taken.add(item[:2])
    numbers: list[Number] = []
    for start, end, value, decimals, percent in sorted(found):
        span = plain.span(start, end)
        if numbers and span[0] < numbers[-1].span[1]:
            continue  # one character that stands for several, such as the fraction in ¼÷
        before, after = _before(plain.text, start), plain.text[end : end + 12]
        about = bool(_ABOUT_BEFORE.search(before) or _ABOUT_AFTER.match(after))
        numbers.append(Number(value, span, text[slice(*span)], decimals, percent, about))
    return tuple(numbers)


@lru_cache(maxsize=16)
def numbers_named(text: str) -> frozenset[int]:
    """Return the whole numbers that a text names in whatever role: in digits, also as parts of dates and times (3.5.2024, 9.30),
    in words and as ordinals (3rd, first)."""
    found = {int(number.value) for number in find_numbers(text) if number.value.denominator == 1}
    for match in _DIGIT_RUNS.finditer(text):
        found |= {int(part) for part in re.findall(r"\d+", match[0])}
    found |= {place for place, word in enumerate(_ORDINALS, start=1) if re.search(rf"\b{word}\b", text, re.IGNORECASE)}
    return frozenset(found)


def matches(value: Fraction, number: Number) -> bool:
    """Return whether `number` states `value`, which a calculation gave.

    It does where rounding or truncating the value to the stated decimals gives the number, or where the number is
    stated as approximate and lies within 0.6 % of it. A percent may be meant as itself or as its hundredth.
    """
    readings = [(number.value, number.decimals)]
    if number.is_percent:
        decimals = number.decimals
        readings = [(number.value, None if decimals is None else decimals + 2), (number.value * 100, decimals)]
    return any(
        rounds_to(value, stated, decimals) or (number.approximate and close(value, stated))
        for stated, decimals in readings
    )


def close(value: Fraction, stated: Fraction) -> bool:
    """Return whether the two differ by at most 0.6 %."""
    return abs(value - stated) <= APPROXIMATE * abs(value)


def rounds_to(value: Fraction, stated: Fraction, decimals: int | None) -> bool:
    """Return whether `value` rounded (half up) or truncated to `decimals` places is `stated`; None asks for
    equality."""
    if value == stated:
        return True
    if decimals is None or (value < 0) != (stated < 0):
        return False
    unit = Fraction(10) ** decimals
    scaled = abs(value) * unit
    return abs(stated) * unit in (math.floor(scaled), math.floor(scaled + Fraction(1, 2)))


def show(value: Fraction) -> str:
    """Write a number for people: `15`, `0.25`, or 6 significant digits (`0.333333`)."""
    if value.denominator == 1:
        return str(value.numerator)
    for places in range(1, 7):
        if (value * 10**places).denominator == 1:
            digits = f"{abs(int(value * 10**places)):0{places + 1}d}"
            return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return f"{value.numerator // value.denominator}"


_Found = Iterator[tuple[int, int, Fraction, int | None, bool]]


def _before(text: str, place: int) -> str:
    return text[max(0, place - NEARBY) : place]


_BEFORE_SIGN = ("", " ", "\n", "(", "=", ":", "为", "是")
_MINUS = re.compile(r"[0-9)\]%]\s*-$|\w-$|-\s*-$", re.ASCII)


def _sign(text: str, start: int) -> tuple[int, int]:
    """Return -1 and the place of the sign where a minus before `start` can only be a sign; 1 and `start` otherwise."""
    before = _before(text, start)
    if before.endswith("负"):
        return -1, start - 1
    if before.endswith("-") and before[-2:-1] in _BEFORE_SIGN and not _MINUS.search(before):
        return -1, start - 1
    return 1, start


def _fractions(text: str) -> _Found:
    """Yield fractions: `3/4`, `(3/4)`, `1(1/2)`, `2又3/4`, `2½`, `三分之二`, `百分之20`."""
    whole = rf"(?:(?P<whole>[0-9]{{1,{MAX_DIGITS}}})(?:又|{MIXED}|(?=\([0-9]+/[0-9]+\)))|{MIXED})?"
    parts = rf"\(?(?P<over>[0-9]{{1,{MAX_DIGITS}}})/(?P<under>[0-9]{{1,{MAX_DIGITS}}})\)?(?!/|\.?[0-9])"
    for match in re.finditer(rf"{_NOT_INSIDE}(?<!/){whole}{parts}", text):
        start, end = match.span()
        if match[0].endswith(")") and "(" not in match[0]:
            end -= 1
        elif "(" in match[0] and not match[0].endswith(")"):
            start += match[0].index("(") + 1 if not match["whole"] else 0
        if int(match["under"]):
            sign, start = _sign(text, start)
            value = int(match["whole"] or 0) + Fraction(int(match["over"]), int(match["under"]))
            yield start, end, sign * value, None, False
    for match in re.finditer(r"\\[dt]?frac\{([0-9]{1,30})\}\{([0-9]{1,30})\}", text):
        if int(match[2]):
            yield *match.span(), Fraction(int(match[1]), int(match[2])), None, False
    for match in re.finditer(rf"(?:(?P<whole>{_HAN_PART})又)?(?P<under>{_HAN_PART})分之(?P<over>{_HAN_PART})", text):
        whole_part = _han_value(match["whole"]) if match["whole"] else Fraction(0)
        over = _han_value(match["over"])
        if match["under"] == "百" and over is not None:
            yield match.start(), match.end(), over / 100, _decimals_of(match["over"]), True
        under = Fraction(1000) if match["under"] == "千" else _han_value(match["under"])
        if match["under"] != "百" and under and over is not None and whole_part is not None:
            yield match.start(), match.end(), whole_part + over / under, None, False


_TENTHS = re.compile(
    r"(?<![一二两三四五六七八九十百千万第0-9])(?P<tens>[一两二三四五六七八九])成(?P<ones>[一二三四五六七八九半])"
)


def _tenths(text: str) -> _Found:
    """Yield Chinese shares in tenths and hundredths: `三成六` is 36 %, `三成半` 35 %. What `三成` alone may stand for is too wide."""
    for match in _TENTHS.finditer(text):
        ones = 5 if match["ones"] == "半" else read_han(match["ones"]) or 0
        yield *match.span(), Fraction(10 * (read_han(match["tens"]) or 0) + ones) / 100, 0, True


def _han_value(text: str) -> Fraction | None:
    return Fraction(text) if re.fullmatch(r"[0-9.]{1,30}", text) else read_han(text)


def _decimals_of(text: str) -> int:
    return len(re.split(r"[.点]", text)[1]) if re.search(r"[.点]", text) else 0


def _decimals(text: str) -> _Found:
    """Yield numbers in digits: `12`, `1,234.5`, `-3`, `20%`, `1.5亿`, `3 million`, `3万5千`."""
    for match in re.finditer(rf"{_NOT_INSIDE}(?P<digits>(?>{_DIGITS})){_SCALE}{_PERCENT}(?!(?:st|nd|rd|th)\b)", text):
        digits = match["digits"].replace(",", "")
        if len(digits) > MAX_DIGITS or re.match(r"(?:st|nd|rd|th)\b", text[match.end("digits") :]):
            continue
        scale = (match["scale"] or "").strip()
        factor = HAN_SCALES.get(scale) or SCALES.get(scale, 1)
        value, end = Fraction(digits) * factor, match.end()
        places = _decimals_of(digits)
        tail = re.match(rf"[0-9{HAN_NUMERALS}]+", text[end : end + NEARBY]) if scale in HAN_SCALES else None
        if tail and (longer := read_han(digits + scale + tail[0])) is not None:
            value, end, places = longer, end + tail.end(), 0
        elif places and factor > 1:
            places -= len(str(factor)) - 1
        sign, start = _sign(text, match.start())
        percent = bool(match["percent"])
        yield start, end, sign * value / (100 if percent else 1), places, percent


def _han(text: str) -> _Found:
    """Yield numbers in Han numerals: `二十五`, `三百零五`, `两个`, `一点五`, `半小时`."""
    for match in re.finditer(HAN_NUMBER, text):
        value = read_han(match[0])
        if value is not None and _is_count(text, match, value):
            sign, start = (-1, match.start() - 1) if _before(text, match.start()).endswith("负") else (1, match.start())
            yield start, match.end(), sign * value, _decimals_of(match[0]), False
    for match in re.finditer(r"一半|半(?=个|小时|天|年|月|米|斤|千克|公斤|吨|升|瓶|杯|箱)", text):
        if not re.search(r"[大多前后上下一]$", _before(text, match.start())):
            yield match.start(), match.end(), Fraction(1, 2), None, False


def _is_count(text: str, match: re.Match[str], value: Fraction) -> bool:
    before, after = _before(text, match.start()), text[match.end() : match.end() + NEARBY]
    very = match[0] in ("十", "万", "千", "百") and after.startswith(("分", "足")) and after[1:2] != "钟"  # 十分, 十足
    if very or _ORDINAL.search(before):
        return False
    if _BESIDE_OPERATOR.match(after[:1]) or _BESIDE_OPERATOR.match(before[-1:]) or before.endswith("等于"):
        return True
    if len(match[0]) == 1:
        return after.startswith(_EXACT_ONES if value == 1 else tuple(_MEASURES))
    scaled = any(numeral in match[0] for numeral in "十百千万亿点")
    return scaled and match[0] not in ("万一", "一十", "千百", "百十", "万千")


def _english_fractions(text: str) -> _Found:
    """Yield fractions in English words: `two thirds`, `one-fifth`, `a third of`. A `quarter` may be three months, and `a third`
    the next one."""
    for match in _ENGLISH_FRACTION.finditer(text):
        over = read_english(match["over"] or "one") or Fraction(1)
        if (over > 1) == bool(match["plural"]):
            yield match.start(), match.end(), over / _UNDERS[match["under"].lower()], None, False


def _english(text: str) -> _Found:
    """Yield numbers in English words: `twenty-five`, `half`, `two dozen`, `three hundred and five`."""
    for match in re.finditer(rf"(?<![A-Za-z-]){ENGLISH_NUMBER}(?![A-Za-z-])", text, re.IGNORECASE):
        value = read_english(match[0])
        alone = match[0].lower() == "one"
        pronoun = _NOT_A_COUNT.search(_before(text, match.start())) or _PRONOUN.match(
            text[match.end() : match.end() + NEARBY]
        )
        if value is None or (alone and pronoun):
            continue
        yield match.start(), match.end(), value, None if match[0].lower().startswith("half") else 0, False
