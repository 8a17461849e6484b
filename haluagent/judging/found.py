"""Judge a sentence by a found passage. A passage that does not support it mostly says nothing of it, so a low judgement
alone contradicts nothing: it takes a passage about the same that says enough to decide (docs/calibration.md)."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from haluagent.judging.agreement import agreement, contained, counted, says
from haluagent.judging.judge import TextSource, answer_anew, ask, without_number, wording_of
from haluagent.judging.passages import best_windows, missing_numbers, quoted
from haluagent.judging.probabilities import agreed
from haluagent.judging.traced import absent_numbers, in_digits
from haluagent.models.calibration import calibration_of
from haluagent.protocols import SearchResult, ToolContext
from haluagent.text.chinese import simplified
from haluagent.text.refusals import refusal
from haluagent.text.stemmer import stem
from haluagent.text.words import words
from haluagent.types import Evidence, Sentence, Span

PASSAGE_TOKENS = 350
QUERY = 200  # characters of a query that is not the model's
SUPPORTED, CONTRADICTED = 0.5, 0.3  # judgements; between them nothing is decided by a judgement
QUOTED = 0.95  # what a page says word for word
SUPPORTED_ALL_THE_SAME = 0.9  # where something speaks against it
RELATED = 0.3  # the share of a sentence's words in a passage that could support it
ABOUT_QUESTION, ABOUT_CLAIM = 0.5, 0.6  # the share of their words in a passage, or in two, that are about the same
# What contradicts (docs/calibration.md): the share of what does not support that says otherwise, in a passage with most words of the
# claim, or in one with some of them.
MOST, SOME = 0.6, 0.3
EITHER_WAY, OTHERWISE, OTHERWISE_FOR_CERTAIN = 0.5, 0.95, 0.985
# The share of the words of the answer that a passage gives by itself, in a sentence that says another one.
DISAGREES = 0.5
_ASKING = re.compile(
    r"请问|你?知道|告诉我|为什么|什么(?:地方|时候|名字?|样|叫)?|哪(?:里|儿|个|些|位|国|一年|一年份|年|种|座|一)?|谁|多少|几|怎么样?|如何|叫什么|叫做|属于|吗|呢|啊|？"
)

_TORN = re.compile(r"[0-9A-Za-z.,%'’-]+$")
_CLAUSE_END = re.compile(r"[,，;；.。]")


@dataclass(frozen=True)
class PassageVerdict:
    """A passage, the part of it that was judged (its place, and as it was read), and what came of it. `agrees` is None
    where the passage gives no answer of its own, or the sentence is none. `missing` are the numbers in digits that the passage
    lacks, `in_words` says whether it lacks one above 1 that may be written in words. `against` is the share in [0, 1] of what does not
    support that says otherwise. `parts` are the passages that were read as one, each with its place; empty for a single one."""

    result: SearchResult
    source: TextSource
    place: Span
    supported: float
    silent: bool = False
    anew: str = ""
    agrees: float | None = None
    missing: tuple[str, ...] = ()
    against: float = 0.0
    parts: tuple[tuple[TextSource, Span], ...] = ()
    in_words: bool = False

    @property
    def differs(self) -> bool:
        """Return whether the passage gives another answer by itself."""
        return self.agrees is not None and self.agrees <= DISAGREES

    @property
    def unanswered(self) -> bool:
        """Return whether the passage gives no answer, as far as the model can tell: it says so, and may go on."""
        return refusal(_CLAUSE_END.split(simplified(self.anew))[0]) is not None

    def evidence(self, context: ToolContext, sentence: Sentence) -> tuple[Evidence, ...]:
        """Return the place of each passage that is most about the sentence."""
        parts = self.parts or ((self.source, self.place),)
        return tuple(
            source.evidence(place, sentence.claim, self.supported, context.question) for source, place in parts
        )


def text_of(result: SearchResult) -> str:
    return result.text if result.text is not None else result.snippet


def words_of(result: SearchResult) -> frozenset[str]:
    """Return the words that say what a result is about."""
    return subject_words(f"{result.title} {text_of(result)}")


def subject_words(text: str) -> frozenset[str]:
    """Return the words that say what a text is about, English ones without their endings; in which Chinese characters it is written
    makes no difference."""
    return frozenset(map(stem, words(simplified(text))))


def asked_words(question: str) -> frozenset[str]:
    """Return the words that say what a question is about, without those that only ask."""
    return subject_words(_ASKING.sub(" ", simplified(question)))


def as_it_stands(question: str, sentence: Sentence) -> str:
    """Return the query for the question and the sentence as they stand; of long ones their beginnings, the sentence's first of all."""
    said = cut(sentence.claim, QUERY) or sentence.claim[:QUERY]
    return f"{cut(question, QUERY - len(said) - 1)} {said}".strip()


def cut(text: str, room: int) -> str:
    """Return the beginning of a text, at most `room` characters of it, without a part of a number or of an English word."""
    if len(text) <= room:
        return text
    return _TORN.sub("", text[: max(0, room)])


def share(wanted: frozenset[str], found: frozenset[str]) -> float:
    """Return the share in [0, 1] of the wanted words that were found."""
    return len(wanted & found) / len(wanted) if wanted else 0.0


def worth_reading(context: ToolContext, sentence: Sentence, results: list[SearchResult]) -> list[SearchResult]:
    """Return the results that share enough words with the sentence, together with the question that it answers, or with the question to
    say anything of it, best first. Of a short one, half of its own words is enough."""
    asked, said = asked_words(context.question), subject_words(sentence.claim)
    wanted = asked | said if answers(context, sentence) else said
    near = []
    for result in results:
        found = words_of(result)
        if not text_of(result).strip():
            continue
        about = max(share(asked, found), share(found, said | asked))
        if share(wanted, found) >= RELATED or about >= ABOUT_QUESTION:
            near.append((len((asked | said) & found), result))
    return [result for _, result in sorted(near, key=lambda item: -item[0])]


def new_among(results: Sequence[SearchResult], judged: Sequence[SearchResult]) -> list[SearchResult]:
    """Return the results that are not among those judged."""
    known = {(one.url, one.offset, text_of(one)) for one in judged}
    return [one for one in results if (one.url, one.offset, text_of(one)) not in known]


def complementary(sentence: Sentence, results: Sequence[SearchResult]) -> tuple[SearchResult, SearchResult] | None:
    """Return the two results of which each has words of the sentence that the other lacks, and which have most of them
    together: as many as one passage about it has. None where there are none."""
    said = subject_words(sentence.claim)
    has = [said & words_of(one) for one in results]
    pairs = [
        pair
        for pair in combinations(range(len(results)), 2)
        if has[pair[0]] - has[pair[1]] and has[pair[1]] - has[pair[0]]
    ]
    best = max(pairs, key=lambda pair: len(has[pair[0]] | has[pair[1]]), default=None)
    if best is None or share(said, has[best[0]] | has[best[1]]) < ABOUT_CLAIM:
        return None
    return results[best[0]], results[best[1]]


async def read_together(context: ToolContext, sentence: Sentence, results: Sequence[SearchResult]) -> PassageVerdict:
    """Judge the sentence against the best parts of several passages as one text, for what none of them says alone."""
    about, count = f"{sentence.claim} {context.question}", context.model.count_tokens
    parts = []
    for result in results:
        (place,), _ = await asyncio.to_thread(best_windows, text_of(result), about, 1, PASSAGE_TOKENS, count)
        parts.append((_source(result), place))
    joined = "\n\n".join(source.text[slice(*place)] for source, place in parts)
    titles = "; ".join(dict.fromkeys(result.title for result in results))
    whole = SearchResult(title=titles, url=results[0].url, snippet=joined)
    found = await read_passage(context, sentence, whole, len(parts) * (PASSAGE_TOKENS + 1))
    return replace(found, parts=tuple(parts))


async def read_passage(
    context: ToolContext, sentence: Sentence, result: SearchResult, tokens: int = PASSAGE_TOKENS
) -> PassageVerdict:
    """Judge the sentence against the best part of a passage. A quotation of the page needs no judgement; a sentence
    that answers the question is compared with the answer that the passage gives by itself, where that could decide it."""
    text = text_of(result)
    source = _source(result)
    if span := quoted(sentence.text, text):
        return PassageVerdict(result, source, span, QUOTED)
    about = f"{sentence.claim} {context.question}"
    count = context.model.count_tokens
    (place,), _ = await asyncio.to_thread(best_windows, text, about, 1, tokens, count)
    window = text[slice(*place)]
    found = replace(context, base_rate=0.5)  # it may be about something else
    judged = await ask(found, sentence, window, wording_of(context))
    supported, anew, agrees = judged.supported, "", None
    weight = calibration_of(context.model).agreement[context.language]
    may_turn = judged.against > EITHER_WAY or agreed(supported, 1.0, weight) > SUPPORTED
    if answers(context, sentence) and judged.calibrated and may_turn:
        anew = await answer_anew(context, window)
        if _is_of(window, anew, context.question):
            agrees = contained(anew, sentence.claim, context.question)
            likeness = agreement(anew, sentence.claim, context.question) if wording_of(context) == "answer" else agrees
            likeness = await asyncio.to_thread(counted, likeness, anew, sentence.claim, context.question, text)
            supported = agreed(supported, likeness, weight)
    absent = absent_numbers(sentence.claim, f"{text} {context.question}")
    missing = in_digits(one.text for one in absent)
    if missing:
        supported = min(supported, without_number(wording_of(context), calibration_of(context.model)))
    in_words = any(one.value > 1 for one in absent)  # "one of them" and "no more" are no figures
    return PassageVerdict(
        result, source, place, supported, judged.silent, anew, agrees, missing, judged.against, in_words=in_words
    )


def _is_of(text: str, answer: str, question: str) -> bool:
    """Return whether an answer is that of a text, which has its words or the values of its numbers, if the question does not have them.
    Any other is the model's own."""
    numbers = bool(missing_numbers(answer, question)) and not missing_numbers(answer, text)
    return numbers or words(answer) <= words(text) or says(text, answer)


def _source(result: SearchResult) -> TextSource:
    return TextSource("web_search", text_of(result), result.url, result.offset if result.text is not None else None)


def answers(context: ToolContext, sentence: Sentence) -> bool:
    """Return whether a sentence answers the question, if there is one: the first sentence does. A later one may take up
    the question's words and say something else."""
    return sentence.index == 1 and bool(context.question)


def supports(found: PassageVerdict, doubted: bool = False) -> float | None:
    """Return the confidence in [0, 1] that a passage supports the sentence; None where it does not. Where the passage gives
    another answer by itself, which may only be a worse one ("a mason" for who built it), where it lacks a number in words, which may be
    its own in another form ("a dozen"), or where another passage says otherwise (`doubted`), the judgement has to be surer. One that
    gives no answer supports none."""
    if found.unanswered:
        return None
    doubted = doubted or found.differs or found.in_words
    return found.supported if found.supported > (SUPPORTED_ALL_THE_SAME if doubted else SUPPORTED) else None


def speaks_against(context: ToolContext, sentence: Sentence, found: PassageVerdict) -> bool:
    """Return whether a passage contradicts the sentence, rather than not mentioning it: it is about the same, as far as shared words
    tell, and it says otherwise. The fewer words are shared, the more certainly it has to. A sentence that answers the question is only
    contradicted by a passage that gives another answer by itself."""
    answering = answers(context, sentence)
    if found.silent or found.supported > CONTRADICTED or (answering and not found.differs):
        return False
    wanted = asked_words(context.question) if answering else subject_words(sentence.claim)
    about = share(wanted, subject_words(found.source.text))
    if about >= MOST:
        return found.against > (EITHER_WAY if answering else OTHERWISE)
    return about >= SOME and found.against >= OTHERWISE_FOR_CERTAIN
