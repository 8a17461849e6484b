"""Compare a translation with an independent one: both in one language, by their meaning.

The model is asked whether two sentences say the same thing, in Chinese or English, where a small model judges best: a
text is translated into one of these, or, where it is in one of these itself, what the response says is translated back.
"""

import math
import re
from collections import Counter
from typing import NamedTuple, get_args

from haluagent.errors import ToolError
from haluagent.judging.judge import in_both_orders
from haluagent.judging.probabilities import UNCALIBRATED, log_odds
from haluagent.models.calibration import calibration_of
from haluagent.prompts import conversation
from haluagent.protocols import Model, Translator
from haluagent.text.messages import message
from haluagent.text.normalize import folded
from haluagent.tools.translate.given import given_translation
from haluagent.tools.translate.languages import name_of
from haluagent.types import Language

MAX_TOKENS = 600
IDENTICAL = 0.97

_SPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")


class ModelTranslator:
    """The served model as a `Translator`; it sees the text and nothing else. Asked in Chinese or English."""

    name = "model"

    def __init__(self, model: Model, language: Language) -> None:
        self._model = model
        self._language = language

    async def translate(self, text: str, target: str, source: str | None = None) -> str:
        """Do what `Translator.translate` says. Raises ToolError where the model writes no translation, or one without
        end."""
        language = _either(target, source) or self._language
        names = {"target": name_of(target, language), "source": name_of(source, language) if source else ""}
        room = min(MAX_TOKENS, 3 * self._model.count_tokens(text) + 40)
        generation = await self._model.generate(
            conversation("translate", language, text=text, **names), max_tokens=room
        )
        written = generation.text.strip()
        start, end = given_translation(written, text, target)
        if start == end or generation.truncated:
            raise ToolError(message("translate.incomplete", self._language))
        return written[start:end]


def _either(*codes: str | None) -> Language | None:
    """Return the first of the languages that can be judged in."""
    return next((language for code in codes for language in get_args(Language) if code == language), None)


class TextPair(NamedTuple):
    """Two texts in one language that can be judged in, which should say the same. `independent` is the one that was
    translated for it; `back` where that is what the response says, translated back."""

    one: str
    other: str
    language: Language
    independent: str
    back: bool


async def in_one_language(
    translator: Translator, language: Language, text: str, source: str | None, given: str, target: str
) -> TextPair:
    """Lay a text and its translation side by side in one language. `language` is taken where neither of theirs can be
    judged in. Raises ToolError where the translator failed."""
    if judged_in := _either(target):
        translation = await _translate(translator, language, text, judged_in, source, expected=given)
        return TextPair(translation, given, judged_in, translation, back=False)
    if judged_in := _either(source):
        translation = await _translate(translator, language, given, judged_in, target, expected=text)
        return TextPair(text, translation, judged_in, translation, back=True)
    # Without a known source the text may be in that language already.
    translation = await _translate(translator, language, text, language, source, expected="" if source else text)
    back = await _translate(translator, language, given, language, target)
    return TextPair(translation, back, language, translation, back=False)


async def _translate(
    translator: Translator, language: Language, text: str, target: Language, source: str | None, expected: str = ""
) -> str:
    """Translate a text. Raises ToolError for one that is left as it was, unless it should be: Paris is Paris in many
    languages."""
    translation = await translator.translate(text, target, source)
    if _tokens(translation) == _tokens(text) != _tokens(expected):
        raise ToolError(message("translate.untranslated", language))
    return translation


async def likeness(model: Model, pair: TextPair) -> float:
    """Return the probability in [0, 1] that a translation is right: how far the model takes the two texts for the same,
    and the words that they share. 0.5 where the answers contradict each other and have no log-probabilities."""
    if _tokens(pair.one) == _tokens(pair.other):
        return IDENTICAL
    yes, scored = await held_for_the_same(model, pair)
    if not scored:
        agree = (yes[0] - 0.5) * (yes[1] - 0.5) > 0
        return (UNCALIBRATED if yes[0] > 0.5 else 1 - UNCALIBRATED) if agree else 0.5
    curve = calibration_of(model).translation[pair.language]
    total = (
        curve.intercept + curve.log_odds * sum(map(log_odds, yes)) / 2 + curve.shared * overlap(pair.one, pair.other)
    )
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))


async def held_for_the_same(model: Model, pair: TextPair) -> tuple[list[float], bool]:
    """Return the probabilities that the two say the same, with the options in both orders; and whether they have
    log-probabilities behind them."""
    one, other, scored = await in_both_orders(
        model, lambda turned: conversation("same_meaning", pair.language, one=pair.one, other=pair.other, turned=turned)
    )
    return [one, other], scored


def overlap(one: str, other: str) -> float:
    """Return the F1 in [0, 1] of the words of two texts, where a Han character or kana counts as a word."""
    first, second = Counter(_tokens(one)), Counter(_tokens(other))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _tokens(text: str) -> list[str]:
    return _SPACED.findall(folded(text))
