"""Sentences that claim nothing, recognised by their form. The rule is deliberately small: anything else is a claim.

Left out are a question, a heading, an announcement ("The reasons are:"), a courtesy ("I hope this helps."), and an
admission of not knowing ("I don't know who wrote it.", "我不知道。"), each only if it is the whole sentence. A response that
repeats the question claims nothing either. A response of such sentences alone makes no claim: it abstains.
"""

import re

from haluagent.text.courtesies import ENDS, MARKS, asks, courtesy
from haluagent.text.normalize import letters
from haluagent.text.refusals import refusal
from haluagent.text.segment import split
from haluagent.types import Sentence

# These may answer a yes-or-no question, so they are courtesies only before something else.
_OPENING = re.compile(r"sure|certainly|of course|okay|ok|当然|当然可以|好的|没问题")
_HEADING = re.compile(r"[\s>]*#{1,6}\s+[*_]*")


def claiming(response: str, question: str = "") -> tuple[Sentence, ...]:
    """Return the sentences of a response that claim something, with the indexes that `segment.split` gives them."""
    sentences = split(response)
    if question.strip() and letters(response) == letters(question):
        return ()
    asked = {letters(item.text) for item in split(question) if asks(item.text)} | {letters(question)}
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
    if asks(text):
        return True
    if text.rstrip(MARKS).endswith((":", "：")):
        return not last and not re.search(r"[\d,，;；]", text)
    core = text.casefold().replace("’", "'").strip(MARKS).rstrip(ENDS + MARKS)
    return bool(courtesy(core) or refusal(core) == "unknown" or (not alone and _OPENING.fullmatch(core)))
