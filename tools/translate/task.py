"""Questions that ask for a translation: `将以下韩语翻译成中文：…`, `How do you say "…" in French?`.

Found by rules: where the text to translate stands, then the languages that are named around it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from haluagent.tools.translate import asked_en as en
from haluagent.tools.translate import asked_zh as zh
from haluagent.tools.translate.languages import SHORT_NAMES, code_of, guess, scripts
from haluagent.types import Span

LONG = 2000  # characters: of a longer question, only an instruction before or after the text is looked for


@dataclass(frozen=True)
class TranslationTask:
    """A text to translate: verbatim `question[span[0]:span[1]]`, and the languages as ISO 639-1 codes.

    `source` is named or, where its script or its length makes it sure, guessed; else None. `target` is named, or
    that of the question where it asks what something means; else None: then the response shows it.
    """

    text: str
    span: Span
    source: str | None
    target: str | None


_QUOTE = re.compile(
    r"“[^“”]+”|「[^「」]+」|『[^『』]+』|«[^«»]+»|„[^„“”]+[“”]|\"[^\"]+\"|‘[^‘’]+’(?!\w)|(?<![\w’'])'[^'\n]+'(?!\w)"
)
_HIDDEN = "\x00"  # stands for each character inside quotation marks, which is no instruction
_QUOTED = re.compile(r"[“「『«„\"‘'](?P<text>\x00+)[”」』»“\"’']")
_AFTERWARDS = re.compile(
    r"\n\s*(?:(?:要求|注意|提示|备注|译文|翻译|答案|translation|note|answer|output)\s*[:：]|(?:请?只(?:输出|写|给)|不要解释"
    r"|(?:please )?(?:only output|output only|write only|do not explain)))[^\n]*$",
    re.I,
)


@lru_cache(maxsize=64)  # asked again for each sentence of a response
def translation_task(question: str) -> TranslationTask | None:
    """Return the translation a question asks for; None where it asks for none, or gives no text to translate."""
    hidden = _QUOTE.sub(lambda match: match[0][0] + _HIDDEN * (len(match[0]) - 2) + match[0][-1], question)
    span = _text_span(hidden)
    if span is None:
        return None
    text = question[slice(*span)]
    outside = hidden[: span[0]] + "□" + hidden[span[1] :]
    own = "zh" if scripts(outside.replace("□", ""))["CJK"] else "en"  # what the question itself is written in
    target, source = _named((*zh.TARGETS, *en.TARGETS), outside), _named((*zh.SOURCES, *en.SOURCES), outside)
    asks_meaning = zh.ASKS_MEANING.search(outside) or en.ASKS_MEANING.search(outside)
    if source is None and target is None:
        # "What does □ mean?" may ask about a word of the asker's own language, and "translation" may be the subject.
        plainly = zh.PLAINLY.search(outside) or en.PLAINLY.search(outside)
        if not plainly and not (asks_meaning and guess(text)):
            return None
    if asks_meaning:
        # "What does □ mean in Spanish?" is answered in the language of the asker.
        source, target = (source or (target if target != own else None)), own
    if target and source == target:
        source = None
    source = source or guess(text)
    if source is None and target != own == "en" and en.SAYS.search(outside):
        source = own
    return None if source and source == target else TranslationTask(text, span, source, target)


def _text_span(hidden: str) -> Span | None:
    """Return where the text to translate stands, without the quotation marks around it."""
    for pattern in (*zh.AFTER_COLON, *en.AFTER_COLON):
        match = pattern.match(hidden)
        if match and not zh.ABOUT.search(match["head"]) and not en.ABOUT.search(match["head"]):
            if _HIDDEN in match["head"]:
                break  # the text is quoted in the instruction
            if re.search(r"\w|\x00", match["text"]):
                return _without_rest(hidden, match.span("text"))
    if quoted := _QUOTED.search(hidden):
        chinese = zh.ASKS.search(hidden[:LONG]) and not zh.ABOUT.search(hidden)
        english = en.ASKS.search(hidden[:LONG]) and not en.ABOUT.search(hidden)
        return quoted.span("text") if chinese or english else None
    start, end = len(hidden) - len(hidden.lstrip()), len(hidden.rstrip())
    bare = (*zh.WITHOUT_QUOTATION, *en.WITHOUT_QUOTATION) if len(hidden) <= LONG and not en.ABOUT.search(hidden) else ()
    for pattern in (*zh.BEFORE, *en.BEFORE, *bare):
        if match := pattern.search(hidden[start:end]):
            pointer = match["text"].strip()
            if not zh.POINTS.fullmatch(pointer) and not en.POINTS.fullmatch(pointer):
                return _without_rest(hidden, (match.start("text") + start, match.end("text") + start))
    return None


def _without_rest(hidden: str, span: Span) -> Span:
    """Leave out white space, what is asked for afterwards, and quotation marks around the whole."""
    text = _AFTERWARDS.sub("", hidden[slice(*span)])
    start = span[0] + len(text) - len(text.lstrip())
    text = text.strip()
    if (quoted := _QUOTED.match(text)) and not text[quoted.end() :].strip("。."):
        return start + quoted.start("text"), start + quoted.end("text")
    return start, start + len(text)


def _named(patterns: Iterable[re.Pattern[str]], outside: str) -> str | None:
    """Return the code of the first language that one of the patterns finds named."""
    for pattern in patterns:
        if match := pattern.search(outside):
            groups = {name: value for name, value in match.groupdict().items() if value}
            return SHORT_NAMES[groups["short"]] if "short" in groups else code_of(next(iter(groups.values())))
    return None
