"""Patterns of English requests for a translation; the patterns are those of `_translation_zh`."""

import re

from haluagent.tools.translate.languages import ENGLISH_NAMES

NAME = f"(?:{ENGLISH_NAMES})"
_KIND = (
    r"(?:text|sentences?|phrases?|words?|paragraphs?|passages?|expressions?|messages?|lines?|dialogues?|quotes?|"
    r"poems?|emails?|statements?|questions?|greetings?|proverbs?|idioms?|terms?|content|excerpt)"
)
_STYLE = r"(?:(?:fluent|natural|standard|modern|plain|idiomatic) )?"
_TRANSLATE = (
    r"(?:(?:^|[.!?:,;\n]\s*|\b(?:please|kindly|you|me|to|help|and|i|we|one|just|now)\s+)(?:translate|render)\b"
    r"|\btranslation\b)"
)
_HOW_TO_SAY = r"how (?:do|would|can|could|should|to)\s*(?:you|i|we|one|they)?\s*(?:say|write|express)"
_WHAT_IS = r"what(?:'s|’s| is| are)"
_EQUIVALENT = r"(?:(?:words?|translation|term|phrase|equivalent|name|expression|version)\s+)?(?:for|of)\b"
_END = r"\s*[.?!]*$"

AFTER_COLON = (
    re.compile(
        rf"^(?P<head>[^:：\n]{{0,200}}?{_TRANSLATE}[^:：\n]{{0,160}}?)\s*(?:[:：]|\n)\s*(?P<text>.+)", re.S | re.I
    ),
    re.compile(rf"^(?P<head>{_HOW_TO_SAY}[^:：\n]{{0,60}}\bin {NAME})\s*\??\s*[:：]\s*(?P<text>.+)", re.S | re.I),
    re.compile(rf"^(?P<head>{NAME}\s*(?:-?to-?|->|→)\s*{NAME})\s*[:：]\s*(?P<text>.+)", re.S | re.I),
)
BEFORE = (
    re.compile(
        r"^(?P<text>.+?)(?:\s*\n\s*|(?<=[.!?…])\s+)"
        rf"(?P<head>(?:please |can you |could you )?translate[^\n:]{{0,40}}\b(?:in)?to {NAME}[^\n:]{{0,20}})$",
        re.S | re.I,
    ),
)
WITHOUT_QUOTATION = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b(?:translate|render)\s+(?P<text>.+?)\s+(?:from {NAME}\s+)?(?:in)?to {NAME}(?:\s+for me|,? please)?{_END}",
        rf"^{_HOW_TO_SAY}\s+(?P<text>.+?)\s+in {NAME}{_END}",
        rf"^{_WHAT_IS} the {NAME} {_EQUIVALENT} (?P<text>.+?){_END}",
        rf"^{_WHAT_IS} the translation of (?P<text>.+?) (?:in|into|to) {NAME}{_END}",
        rf"^what does the {NAME} {_KIND} (?P<text>.+?) mean(?: in {NAME})?{_END}",
        rf"^what does (?P<text>.+?) mean in {NAME}{_END}",
    )
)
ASKS = re.compile(
    rf"{_TRANSLATE}|\b(?:say|write|express|put)\b[^\n]{{0,100}}\bin {NAME}\b|\bwhat (?:does|do|did)\b[^\n]{{0,200}}\bmean\b"
    rf"|\bmeaning of\b|\b{NAME}\s+{_EQUIVALENT}|^\s*.\x00+.\s+in {NAME}\b|\b{_WHAT_IS}\s+.\x00+.\s+(?:called\s+)?in {NAME}\b",
    re.I,
)
ABOUT = re.compile(r"^\s*(?:who|when|where|why|which|is|are|was|were|did|has|have|whose)\b", re.I)
POINTS = re.compile(
    rf"(?:the|this|these|that|those|it|following|my|each|every)\b\s*(?:(?:following|above|below|{NAME})\s+)*(?:{_KIND})?",
    re.I,
)

TARGETS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"(?<![a-z])(?:in)?to\s+{_STYLE}(?P<name>{NAME})\b",
        rf"\bthe (?P<name>{NAME})\s+{_EQUIVALENT}|\bmean(?:ing)? in (?P<other>{NAME})\b(?!\s*\w)",
        rf"\bin (?P<name>{NAME})\b(?!\s*[a-z])|\b(?P<other>{NAME}) translation\b",
    )
)
SOURCES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\bfrom (?:the )?(?P<name>{NAME})\b",
        rf"\b(?:following|this|these|the|below|a|an)\s+(?P<name>{NAME})\s+{_KIND}\b(?!\s+(?:for|of)\b)",
        rf"\b(?P<name>{NAME})\s*(?:-?to-?|->|→)\s*{NAME}",
        rf"\b(?P<name>{NAME})(?:\s+{_KIND})?\s*.?□",
    )
)
PLAINLY = re.compile(rf"^\s*(?:(?:please|can you|could you|kindly) )*translate(?: {POINTS.pattern})?[\s:：]*.?□", re.I)
# Here the text is in the language of the question.
SAYS = re.compile(
    rf"{_HOW_TO_SAY}\b|\b{NAME}(?:\s+(?:words?|term|phrase|name))?\s+for\s+.?□|^\s*{_WHAT_IS}\s+.?□.?\s+in {NAME}\b",
    re.I,
)
ASKS_MEANING = re.compile(r"\bmean", re.I)
