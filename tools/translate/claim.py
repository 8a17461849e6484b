"""Sentences that state a translation themselves: `"Gracias" means "thank you" in Spanish.`, `“Bonjour”的意思是“你好”。`"""

import re
from dataclasses import dataclass

from haluagent.tools.translate.languages import CHINESE_NAMES, ENGLISH_NAMES, code_of, guess, scripts, share_written
from haluagent.types import Span

_ZH, _EN = f"(?:{CHINESE_NAMES})", f"(?:{ENGLISH_NAMES})"
_QUOTES = re.compile(r"“([^“”]+)”|\"([^\"]+)\"|「([^「」]+)」|『([^『』]+)』|(?<!\w)[‘']([^‘’'\n]+)[’'](?!\w)")
_LANGUAGE = re.compile(rf"\b(?P<en>{_EN})\b|(?P<zh>{_ZH})", re.I)
# What is between the quotation marks □ and ■, or before them; in the first group □ is the foreign text, in the second ■.
_BE = r"\b(?:is|are|was|would be)\b"
_EQUIVALENT = r"(?:words?|phrase|term|translation|expression|equivalent)?\s*(?:for|of)"
_FOREIGN_FIRST = re.compile(
    rf"□[^□■]{{0,20}}{_BE}\s+(?:the )?{_EN}\s+{_EQUIVALENT} [^□■]{{0,12}}■"
    r"|□[^□■]{0,30}\b(?:means?|meaning)\b[^□■]{0,20}■"
    r"|□[^□■。]{0,12}(?:意思|含义|意为|意即)[^□■。]{0,12}■"
    rf"|{_ZH}[中里]?的?(?:单词|词|短语)?□[^□■。]{{0,10}}(?:是|即|表示)[^□■。]{{0,4}}■",
    re.I,
)
_FOREIGN_SECOND = re.compile(
    rf"\b(?:the )?{_EN} {_EQUIVALENT} □[^□■]{{0,12}}{_BE}[^□■]{{0,8}}■"
    rf"|\bin {_EN},?[^□■]{{0,12}}□[^□■]{{0,12}}{_BE}[^□■]{{0,12}}■"
    rf"|□ in {_EN} {_BE}[^□■]{{0,8}}■|□ (?:is )?(?:translates?|translated) (?:to|as|into)[^□■]{{0,8}}■"
    rf"|□[^□■。]{{0,6}}(?:用{_ZH}|(?:翻译|译)(?:成|为){_ZH}|的{_ZH}|在{_ZH}[中里])[^□■。]{{0,10}}[是为说作叫][^□■。]{{0,6}}■"
    rf"|{_ZH}[中里]?[^□■。]{{0,6}}□[^□■。]{{0,8}}(?:说成|叫|说|写作)[^□■。]{{0,6}}■",
    re.I,
)


@dataclass(frozen=True)
class TranslationClaim:
    """A claim that `text`, in the language `source` where that is known, means `given` in the language `target`.

    `span` is the place of `given` in the sentence.
    """

    text: str
    source: str | None
    given: str
    target: str
    span: Span


def translation_claim(sentence: str) -> TranslationClaim | None:
    """Return the claim of a sentence that something means something in another language; None where it does not name
    the language, and the two quotations do not show by their scripts that they are of different ones."""
    quotes = list(_QUOTES.finditer(sentence))
    if len(quotes) != 2:
        return None
    first, second = (quote.span(quote.lastindex or 0) for quote in quotes)
    outside = (
        f"{sentence[: quotes[0].start()]}□{sentence[quotes[0].end() : quotes[1].start()]}■{sentence[quotes[1].end() :]}"
    )
    own = "zh" if scripts(outside)["CJK"] else "en"
    named = {code_of(match[0]) for match in _LANGUAGE.finditer(outside)} - {own}
    if _FOREIGN_FIRST.search(outside):
        foreign, native = first, second
    elif _FOREIGN_SECOND.search(outside):
        foreign, native = (second, first) if named else (first, second)  # "translates to ■ in English"
    else:
        return None
    text, given = sentence[slice(*foreign)], sentence[slice(*native)]
    source = named.pop() if len(named) == 1 else guess(text)
    if share_written(given, own) < 0.5 or (source is None and share_written(text, own) > 0.5):
        return None
    return None if source == own else TranslationClaim(text, source, given, own, native)
