"""Sentences that claim nothing, recognised by their form. The rule is deliberately small: anything else is a claim.

Left out are a question, a heading, an announcement ("The reasons are:"), a courtesy ("I hope this helps."), and an
admission of not knowing ("I don't know who wrote it.", "我不知道。"), each only if it is the whole sentence. A response that
repeats the question claims nothing either. A response of such sentences alone makes no claim: it abstains.
"""

import re

from haluagent.text.normalize import letters
from haluagent.text.refusals import refuses
from haluagent.text.segment import split
from haluagent.types import Sentence

_MARKS = "\"“”'‘’「」『』()（）*_` \t\r\n"
_ENDS = ".!。！…~"

_COURTESY = re.compile(
    r"""
    hi|hello|thanks|thank\ you(?:\ very\ much|\ for\ asking)?|you're\ welcome|(?:i'm\ )?(?:very\ |so\ )?sorry|(?:my\ )?apologies
    |(?:that's\ a\ |what\ a\ )?(?:good|great)\ question
    |i\ hope\ (?:this|that|it)\ (?:helps|was\ helpful|answers)[^,;:\d]*
    |(?:please\ )?(?:feel\ free\ to|let\ me\ know|don't\ hesitate\ to)\b[^;:\d]*
    |if\ you\ (?:have|need|want|would\ like)\b[^;:\d]*(?:let\ me\ know|feel\ free|just\ ask|hesitate)[^;:\d]*
    |你好|您好|谢谢|感谢|多谢|不客气|(?:很|非常)?抱歉|对不起|不好意思
    |希望(?:这|以上|上述|能|对你|对您)[^；：\d]{0,20}(?:帮助|帮到|有用)[^，；：\d]{0,6}
    |(?:如|若)[^；：\d]{1,24}(?:告诉我|联系我?|提问|咨询|问我|提出)|(?:欢迎|请)随时[^；：\d]{0,20}
    """,
    re.VERBOSE,
)
# These may answer a yes-or-no question, so they are courtesies only before something else.
_OPENING = re.compile(r"sure|certainly|of course|okay|ok|当然|当然可以|好的|没问题")
_HEADING = re.compile(r"[\s>]*#{1,6}\s+[*_]*")


def claiming(response: str, question: str = "") -> tuple[Sentence, ...]:
    """Return the sentences of a response that claim something, with the indexes that `segment.split` gives them."""
    sentences = split(response)
    if question.strip() and letters(response) == letters(question):
        return ()
    asked = {letters(item.text) for item in split(question) if _asks(item.text)} | {letters(question)}
    return tuple(
        item
        for item in sentences
        if not (
            letters(item.text) in asked
            or _HEADING.fullmatch(response, response.rfind("\n", 0, item.span[0]) + 1, item.span[0])
            or _claims_nothing(item.text, alone=len(sentences) == 1, last=item is sentences[-1])
        )
    )


def _claims_nothing(text: str, *, alone: bool, last: bool) -> bool:
    if _asks(text):
        return True
    if text.rstrip(_MARKS).endswith((":", "：")):
        return not last and not re.search(r"[\d,，;；]", text)
    core = text.casefold().replace("’", "'").strip(_MARKS).rstrip(_ENDS + _MARKS)
    return bool(_COURTESY.fullmatch(core) or refuses(core, "sentence") or (not alone and _OPENING.fullmatch(core)))


def _asks(text: str) -> bool:
    return text.rstrip(_MARKS).endswith(("?", "？"))
