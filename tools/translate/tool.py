"""`translate`: compare a translation in the response with an independent one, by meaning."""

import re
from dataclasses import dataclass

from haluagent.errors import ToolError
from haluagent.judging.instructions import speaks_to_reader
from haluagent.protocols import ToolContext, Translator
from haluagent.text.messages import message
from haluagent.text.segment import split
from haluagent.text.windows import clip
from haluagent.tooling.definition import tool
from haluagent.tooling.tool import Demo
from haluagent.tools.translate.checks import Fault, fault
from haluagent.tools.translate.claim import translation_claim
from haluagent.tools.translate.comparison import ModelTranslator, TextPair, in_one_language, likeness
from haluagent.tools.translate.given import given_translation
from haluagent.tools.translate.languages import CHINESE_NAMES, ENGLISH_NAMES, guess, name_of, share_written
from haluagent.tools.translate.task import TranslationTask, translation_task
from haluagent.types import Evidence, Label, Sentence, Span, ToolResult

SUPPORTED, CONTRADICTED = 0.6, 0.4  # probabilities of being right; between them nothing is decided
PARTS = 8  # sentences or lines that are compared one by one; of more, the first ones
PART_TOKENS = 150
FAULTY = 0.97
SHOWN_TOKENS = 150
_TRANSLATES = re.compile(
    rf"translat|\bmean(?:s|ing)?\b|\b(?:{ENGLISH_NAMES})\b|{CHINESE_NAMES}|[译譯翻]|意思", re.IGNORECASE
)


@dataclass(frozen=True)
class _Given:
    """A text, its translation in the response (`response[span[0]:span[1]]`), and their languages. `asked` is where the
    text stands in the question, None where it stands in the response."""

    text: str
    source: str | None
    translation: str
    target: str
    span: Span
    asked: Span | None


def _can_compare(context: ToolContext, sentence: Sentence) -> bool:
    """Accept the whole response where a translation is asked for, else each sentence that says what something means."""
    asked = translation_task(context.question) is not None
    return asked if sentence.index == 0 else not asked and translation_claim(sentence.text) is not None


def _covers(context: ToolContext) -> list[Span]:
    """Return the sentences that the translation is made of: "May I have the bill?" is then nothing to check by
    itself."""
    task = translation_task(context.question)
    if task is None:
        return []
    start, end = given_translation(context.response, task.text, _target(context, task))
    return [one.span for one in context.sentences if one.span[0] < end and one.span[1] > start]


@tool(
    description={
        "en": "compares a translation with an independent one: translate(sentence=S0) where the question asks for a "
        "translation, translate(sentence=S1) where S1 says what a foreign word means",
        "zh": "把译文与另行的翻译比较：题目要求翻译时用 translate(sentence=S0)，S1 说明外语词的意思时用 translate(sentence=S1)",
    },
    demos=(
        Demo(
            language="en",
            question="Translate the following German sentence into English: Das Wasser ist kalt.",
            response="The water is hot.",
            thought="the question asks for a translation, so the whole response is compared",
            call="translate(sentence=S0)",
            observation="an independent translation says something else (24% alike): The water is cold.",
        ),
        Demo(
            language="zh",
            question="将以下德语翻译成中文：Das Wasser ist kalt.",
            response="水很热。",
            thought="题目要求翻译，需要比较整个回复",
            call="translate(sentence=S0)",
            observation="另行翻译的意思不同（相同的概率 5%）：水是冷的。",
        ),
    ),
    when=_can_compare,
    covers=_covers,
    obvious=lambda context, sentence: {"sentence": sentence.name},
    plausible=lambda context, sentence: _TRANSLATES.search(f"{context.question} {sentence.text}") is not None,
)
async def translate(context: ToolContext, sentence: Sentence) -> ToolResult:
    """Compare the translation that the question asks for, or that `sentence` states, with an independent one.

    A copy, another language, other numbers and endless repetition are wrong whatever they mean. Everything else is
    compared by its meaning, sentence by sentence where the text and its translation have as many. The translation is
    `context.translator`'s, or the served model's where there is none. Nothing is decided where the translator
    failed, or where not all could be compared and nothing was found wrong. Raises ToolError where there is no
    translation to compare.
    """
    given = _given(context, sentence)
    if found := fault(given.text, given.translation, given.target):
        return _faulty(context, given, found)
    parts = _parts(context, given)
    if not parts:
        return ToolResult(observation=message("translate.long", context.language))
    translator = context.translator or ModelTranslator(context.model, context.language)
    try:
        return await _compare(context, given, parts, translator)
    except ToolError as error:
        return ToolResult(observation=message("translate.failed", context.language, why=error))


def _given(context: ToolContext, sentence: Sentence) -> _Given:
    if task := translation_task(context.question):
        target = _target(context, task)
        if target is None:
            raise ToolError(message("translate.unknown", context.language))
        span = given_translation(context.response, task.text, target)
        return _Given(task.text, task.source, context.response[slice(*span)], target, span, task.span)
    claim = translation_claim(sentence.text)
    if claim is None:
        raise ToolError(message("translate.none", context.language))
    offset = sentence.span[0]
    place = (claim.span[0] + offset, claim.span[1] + offset)
    return _Given(claim.text, claim.source, claim.given, claim.target, place, None)


def _target(context: ToolContext, task: TranslationTask) -> str | None:
    """Return the language to translate into; where the question names none, the response's, or that of the
    detection."""
    if task.target:
        return task.target
    response = context.response[slice(*given_translation(context.response, task.text, None))]
    written = guess(response)
    for code in (written,) if written else (context.language, "en", "zh"):
        if code != task.source and share_written(response, code) > 0.5:
            return code
    return context.language if context.language != task.source else None


def _faulty(context: ToolContext, given: _Given, found: Fault) -> ToolResult:
    expected, other = found.expected, found.found
    if found.kind == "language":
        expected = name_of(expected, context.language)
        other = name_of(other, context.language) if other else message("translate.another", context.language)
    observation = message(f"translate.{found.kind}", context.language, expected=expected, found=other)
    evidence = Evidence(source="response", text=given.translation, span=given.span, score=1 - FAULTY)
    return ToolResult(observation=observation, label="contradicted", confidence=FAULTY, evidence=(evidence,))


def _parts(context: ToolContext, given: _Given) -> list[tuple[str, str]]:
    """Return the text and its translation sentence by sentence, or line by line, where they have as many of them; else
    as a whole, or nothing where that is too long to judge."""
    by_sentence = [[one.text for one in split(text)] for text in (given.text, given.translation)]
    by_line = [list(filter(str.strip, text.splitlines())) for text in (given.text, given.translation)]
    for texts, translations in (by_sentence, by_line, ([given.text], [given.translation])):
        short = all(context.model.count_tokens(part) <= PART_TOKENS for part in (*texts, *translations))
        if short and texts and len(texts) == len(translations):
            return list(zip(texts, translations, strict=True))
    return []


async def _compare(
    context: ToolContext, given: _Given, parts: list[tuple[str, str]], translator: Translator
) -> ToolResult:
    compared: list[tuple[float, TextPair]] = []
    for text, translation in parts[:PARTS]:
        pair = await in_one_language(translator, context.language, text, given.source, translation, given.target)
        compared.append((one_of(len(parts), await likeness(context.model, pair)), pair))
    right, worst = min(compared, key=lambda found: found[0])
    independent = " ".join(pair.independent for _, pair in compared)
    label: Label | None = None
    note = (
        ""
        if len(compared) == len(parts)
        else message("translate.unread", context.language, read=len(compared), parts=len(parts))
    )
    if right < CONTRADICTED:
        label, independent = "contradicted", worst.independent
    elif right > SUPPORTED and speaks_to_reader(given.translation) and not speaks_to_reader(independent):
        note = message("translate.orders", context.language)
    elif right > SUPPORTED and not note:
        label = "supported"
    return _result(context, given, label, right, _shown(context, independent, worst.back), note)


def one_of(parts: int, right: float) -> float:
    """Return the probability that one part of several is right: the whole is wrong as often as a single sentence is, so
    the odds of each part are better by their number."""
    return right * parts / (right * parts + 1 - right)


def _shown(context: ToolContext, independent: str, back: bool) -> str:
    text, _ = clip(independent, SHOWN_TOKENS, context.model.count_tokens)
    return message("translate.back", context.language, text=text) if back else text


def _result(context: ToolContext, given: _Given, label: Label | None, right: float, text: str, note: str) -> ToolResult:
    observation = message(f"translate.{label or 'undecided'}", context.language, p=right, text=text) + note
    if label is None:
        return ToolResult(observation=observation)
    evidence = [Evidence(source="translate", text=text, score=right)]
    if given.asked:
        evidence.append(Evidence(source="question", text=given.text, span=given.asked))
    return ToolResult(observation=observation, label=label, confidence=max(right, 1 - right), evidence=tuple(evidence))
