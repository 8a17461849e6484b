"""The translation inside a response: without `The translation is:`, quotation marks and what is said about it."""

import re
from collections.abc import Iterator

from haluagent.text.normalize import letters
from haluagent.tools.translate.languages import CHINESE_NAMES, ENGLISH_NAMES, share_written
from haluagent.types import Span

_ZH, _EN = f"(?:{CHINESE_NAMES})", f"(?:{ENGLISH_NAMES})"
_LABEL = re.compile(
    rf"[*#>\s]*+(?:(?:sure|certainly|of course|好的|当然)[^:：\n.!。！]{{0,60}}[:：.!。！，,]\s*)?[*]*"
    rf"(?:(?:(?:here is|here's|this is)\s+)?(?:the |an? |your )?(?:{_EN} )?(?:translation|translated text)\b[^:：\n]{{0,60}}"
    rf"|in {_EN}(?:,? (?:it is|this is|that is|you (?:would )?say|we say))?|{_EN}|译文[^：:\n]{{0,10}}|{_ZH}(?:译文|翻译|版)?[是为]?"
    rf"|(?:以下|下面)[^：:\n]{{0,30}}|[^：:\n“”\"「」]{{0,40}}(?:翻译|译)[^：:\n“”\"「」]{{0,20}})[*]*\s*[：:][*]*\s*",
    re.I,
)
_NOTE = re.compile(
    r"\n[^\S\n]*[(（*_\[【]*(?:注|注释|注意|说明|解释|备注|解析|note|notes|explanation|literally|pronunciation|breakdown)\s*[:：]",
    re.I,
)
_QUOTES = re.compile(
    r"“([^“”]+)”|\"([^\"]+)\"|「([^「」]+)」|『([^『』]+)』|«([^«»]+)»|„([^„“”]+)[“”]|(?<!\w)[‘']([^‘’'\n]+)[’'](?!\w)"
)
_ABOUT = re.compile(
    rf"\b(?:means?|meaning|translat\w+|say|said as)\b|\b(?:in|the) {_EN}\b|\b{_EN} (?:is|for)\b|意思|翻译|译|{_ZH}",
    re.I,
)
_STATED = re.compile(
    rf"^(?:in {_EN},|in {_EN} (?:you|we|one)\b|the {_EN} (?:words?|for|translation|term|phrase|equivalent|expression|name)\b)"
    r".*?\b(?:is|are|say|means?|would be)\s+(?P<text>[^,;]{1,500}?)[.!]?$",
    re.I,
)
_STATED_OF_IT = re.compile(  # only where the text to translate is named before it
    rf"(?:(?:意思|翻译|译文|译|说|{_ZH})[^，。\n]{{0,6}}?(?:是|为|作|成)|\b(?:means?|translates? (?:to|as|into)|in {_EN} is))"
    r"\s*(?P<text>[^，。,;\n]{1,500}?)[。.!]?$", re.I
)  # fmt: skip
_SENTENCE_MARKS = " \t\n.。,，:：;；*_"


def given_translation(response: str, text: str, target: str | None) -> Span:
    """Return where the response has its translation of `text` into `target`; all of it where it says nothing else.

    Verbatim `response[start:end]`, without white space and quotation marks at its ends.
    """
    start, end = _without_label(response)
    rest = response[start:end]
    if span := _whole_quotation(rest):
        return start + span[0], start + span[1]
    if span := _told(rest, text, target):
        return start + span[0], start + span[1]
    return start, end


def _without_label(response: str) -> Span:
    start, end = 0, len(response)
    for _ in range(2):  # "Sure! Here is the translation:" and then "French:"
        if (label := _LABEL.match(response, start)) and response[label.end() :].strip():
            start = label.end()
    if (note := _NOTE.search(response, start)) and response[start : note.start()].strip():
        end = note.start()
    return _stripped(response, (start, end))


def _stripped(text: str, span: Span) -> Span:
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip(" \t\r\n*"))
    return start, max(start, span[0] + len(piece.rstrip(" \t\r\n*")))


def _whole_quotation(text: str) -> Span | None:
    match = _QUOTES.match(text)
    if match and not text[match.end() :].strip(_SENTENCE_MARKS):
        return match.span(match.lastindex or 0)
    return None


def _told(rest: str, text: str, target: str | None) -> Span | None:
    """Return where a sentence about the translation has it: `“谢谢”用法语说是“Merci”`, `In French, you say merci.`"""
    outside = _QUOTES.sub(" ", rest)
    if not _ABOUT.search(outside):
        return None
    for match in _QUOTES.finditer(rest):
        span = match.span(match.lastindex or 0)
        quoted = rest[slice(*span)]
        if letters(quoted) != letters(text) and (target is None or share_written(quoted, target) >= 0.5):
            return span
    stated = _STATED.match(rest) or (_STATED_OF_IT.search(rest) if letters(text) in letters(rest) else None)
    if stated:
        return stated.span("text")
    runs = list(_runs(rest, target)) if target else []
    if len(runs) == 1 and _ABOUT.search(rest[: runs[0][0]] + " " + rest[runs[0][1] :]):
        return runs[0]
    return None


def _runs(text: str, target: str) -> Iterator[Span]:
    """Yield the stretches of a text that are written as the language is."""
    start = end = None
    for place, character in enumerate(text):
        if not character.isalpha():
            continue
        if share_written(character, target):
            start, end = place if start is None else start, place + 1
        elif start is not None and end is not None:
            yield start, end
            start = None
    if start is not None and end is not None:
        yield start, end
