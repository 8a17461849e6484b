"""Find the part of a sentence that a text does not support: the one without which it would."""

import re
from typing import NamedTuple

from haluagent.judging.judge import ask
from haluagent.models.calibration import Wording
from haluagent.protocols import ToolContext
from haluagent.types import Sentence, Span

MOST = 4  # parts of a sentence, each of which costs a judgement
SHORTEST_WORDS, SHORTEST_HAN = 3, 5  # a shorter part belongs to the one before
# Where a part begins. A comma between digits belongs to a number.
_BEGINS = re.compile(
    r"(?<!\d),\s+|,\s+(?!\d)|[，；]|;\s+|\s+(?=(?:and|but|while|whereas|because|so that|which|who|after|before|until|unless)\s)",
    re.IGNORECASE,
)
_END = re.compile(r"[.。!！?？\s]*$")


class FailingPart(NamedTuple):
    """A part of a sentence, and the probability in [0, 1] that the text supports the rest."""

    text: str
    rest: float


def parts(text: str) -> list[Span]:
    """Return the places of the parts of a sentence, with the marks before them; a sentence of one part, or of more than
    `MOST`, is not taken apart."""
    end = len(text) - len(_END.search(text)[0])  # type: ignore[index]
    starts = [0, *(mark.start() for mark in _BEGINS.finditer(text, 1, end))]
    found: list[Span] = []
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        if found and (_short(text[start:stop]) or _short(text[slice(*found[-1])])):
            found[-1] = (found[-1][0], stop)
        else:
            found.append((start, stop))
    return found if 1 < len(found) <= MOST else []


async def failing_part(
    context: ToolContext, sentence: Sentence, text: str, wording: Wording, enough: float
) -> FailingPart | None:
    """Return the part of a sentence without which the text supports it with more than `enough`; None if there is none."""
    claim = sentence.claim
    best: FailingPart | None = None
    for start, end in parts(claim):
        rest = f"{claim[:start]}{claim[end:]}".lstrip(" ,，；;")
        judged = await ask(context, sentence.model_copy(update={"standalone": rest}), text, wording)
        if judged.supported > max(enough, best.rest if best else 0.0):
            best = FailingPart(claim[start:end].strip(" ,，；;"), judged.supported)
    return best


def _short(text: str) -> bool:
    return len(text.split()) < SHORTEST_WORDS and len(re.findall(r"[\u3400-\u9fff]", text)) < SHORTEST_HAN
