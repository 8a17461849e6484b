"""Training items about facts, from passages with questions and answers.

Right and wrong answers are always made in pairs of the same form, bare or in one of several phrasings, so that neither
length nor wording gives the label away; longer responses combine two such sentences. Each is checked against its
passage as the reference, or looked up in an index of all passages.
"""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from haluagent.corpora import claims, perturbations
from haluagent.corpora.passages import Asked, Passage
from haluagent.text.language import GAP
from haluagent.text.segment import split
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.records import Alteration
from haluagent.types import Label, Language

PHRASINGS: dict[Language, tuple[str, ...]] = {
    "en": (
        "{}", "{}.", "The answer is {}.", "It is {}.", "{}, according to what is known.", "According to the sources, it is {}.",
        "As far as the text goes, the correct answer to this question would be {}.",
    ),
    "zh": ("{}", "{}。", "答案是{}。", "是{}。", "根据资料，是{}。", "这个问题的正确答案应该是{}。", "{}，资料里是这样写的。"),
}  # fmt: skip
COURTESIES: dict[Language, tuple[str, ...]] = {
    "en": ("I hope this helps!", "Good question!", "Let me know if you want to hear more.", "Happy to help with that."),
    "zh": ("希望对您有帮助！", "这是个好问题。", "如果还有疑问，欢迎继续提问。", "很高兴为您解答。"),
}
# The share of looked-up passages that get an undecidable item, if enough of the passage is left without the answer.
UNDECIDED = 0.5
_SURE_LABELS: tuple[Label, Label] = ("supported", "contradicted")


class AnswerPair(NamedTuple):
    """A right answer and a wrong one of the same form."""

    asked: Asked
    right: str
    wrong: str
    change: Alteration


def lessons(passage: Passage, chance: random.Random) -> Iterator[Lesson]:
    """Yield the items made from one passage: as many right as wrong responses of each form, with the passage as the
    reference; then either longer responses or some to be looked up."""
    for number, answers in enumerate(_answer_pairs(passage, chance)):
        forms = list(_phrased(answers, passage.language, chance))
        chosen = forms if number == 0 else chance.sample(forms[:2], 1)
        for form, one in enumerate(chosen):
            yield from _single(passage, one, f"{number}.{form}", index=False)
        if number == 0:
            yield from chance.choice((_looked_up, _longer))(passage, answers, chance)


def roles(passage: Passage, chance: random.Random) -> Iterator[Lesson]:
    """Yield the items made from a short text with two answers, each of which is wrong for the other's question."""
    for number, asked in enumerate(passage.asked):
        stated, bare, *_ = _phrased(_answer_pair(asked, asked.right, asked.wrong), passage.language, chance)
        yield from _single(passage, chance.choice((stated, bare)), str(number), index=False)


def _answer_pairs(passage: Passage, chance: random.Random) -> Iterator[AnswerPair]:
    """Yield the answers to at most two of the questions, each with a wrong one of the same kind."""
    found = 0
    for asked in chance.sample(passage.asked, len(passage.asked)):
        made = claims.answers_to(asked, passage, chance)
        if made and found < 2:
            found += 1
            yield _answer_pair(asked, made[1], made[2])


def _answer_pair(asked: Asked, right: str, wrong: str) -> AnswerPair:
    return AnswerPair(asked, right, wrong, Alteration(kind="answer", before=right, after=wrong))


def _phrased(answers: AnswerPair, language: Language, chance: random.Random) -> Iterator[AnswerPair]:
    """Yield the two answers as a sentence, in the question's own words if it allows that, and bare; a published wrong
    answer that is a sentence is paired with a right one that is also a sentence."""
    stated = [
        perturbations.statement(answers.asked.question, text, language) for text in (answers.right, answers.wrong)
    ]
    bare, sentence = chance.choice(PHRASINGS[language][:2]), chance.choice(PHRASINGS[language][2:])
    if stated[0] and stated[1] and chance.random() < 0.7:
        yield answers._replace(right=stated[0], wrong=stated[1])
    else:
        yield answers._replace(right=_fill(sentence, answers.right), wrong=_fill(sentence, answers.wrong))
    yield answers._replace(right=_fill(bare, answers.right), wrong=_fill(bare, answers.wrong))
    published = answers.asked.wrong.strip()
    if len(published.split()) > claims.SHORT and answers.right.lower() not in published.lower():
        sentence = stated[0] or _fill(PHRASINGS[language][-1], answers.right)
        change = Alteration(kind="published", before=answers.right, after=published)
        yield answers._replace(right=sentence, wrong=published, change=change)


def _fill(form: str, answer: str) -> str:
    text = form.format(answer)
    return text[0].upper() + text[1:] if form != "{}" else text


def _single(passage: Passage, answers: AnswerPair, name: str, *, index: bool) -> Iterator[Lesson]:
    for wrong in (False, True):
        yield _lesson(passage, answers, name, answers.wrong if wrong else answers.right, wrong, index=index)


def _looked_up(passage: Passage, answers: AnswerPair, chance: random.Random) -> Iterator[Lesson]:
    """Yield answers that the index can decide, or one that it cannot. Never both, since an index with the whole passage
    can decide all of them."""
    decided = list(
        _single(passage, chance.choice(list(_phrased(answers, passage.language, chance))), "search", index=True)
    )
    undecided = list(_undecided(passage, answers, chance))
    rare = random.Random(f"undecided:{passage.name}").random() < UNDECIDED
    yield from undecided if undecided and rare else decided


def _lesson(
    passage: Passage,
    answers: AnswerPair,
    name: str,
    response: str,
    gold: bool | None,
    labels: Sequence[Label] = (),
    *,
    index: bool,
) -> Lesson:
    source, _, _ = passage.name.partition(":")
    sides = {False: "right", True: "wrong", None: "open"}
    labels = tuple(labels) or ((_SURE_LABELS[gold],) if gold is not None and len(split(response)) == 1 else ())
    return Lesson(
        id=f"{passage.name}:{name}:{sides[gold]}",
        group=passage.name,
        source=source,
        kind="knowledge",
        language=passage.language,
        question=answers.asked.question,
        response=response,
        reference=None if index else passage.text,
        gold=gold,
        gold_labels=labels,
        change=answers.change if gold else None,
        answer=answers.asked.right.strip().rstrip(".。"),
        passages=(passage.text,) if index else (),
        index=index,
    )


def _longer(passage: Passage, answers: AnswerPair, chance: random.Random) -> Iterator[Lesson]:
    """Yield responses of an answer and a shortened sentence of the passage, each right or wrong, sometimes with a
    courtesy, which claims nothing."""
    language = passage.language
    more = _told(passage, answers, chance)
    if more is None:
        return
    form = chance.choice(PHRASINGS[language][2:])
    first = {False: _fill(form, answers.right), True: _fill(form, answers.wrong)}
    polite = chance.choice(COURTESIES[language]) if chance.random() < 0.4 else ""
    for position, wrongs in enumerate(((False, False), (True, False), (False, False), (False, True))):
        pair = position // 2
        told = more[pair]
        parts = [first[wrongs[0]], told[wrongs[1]]] + ([polite] if polite else [])
        labels: list[Label] = [_SURE_LABELS[wrong] for wrong in wrongs] + (["no_claim"] if polite else [])
        response = GAP[language].join(parts)
        if [sentence.text for sentence in split(response)] == parts:
            yield _lesson(passage, answers, f"longer{pair}", response, any(wrongs), labels, index=False)


def _told(passage: Passage, answers: AnswerPair, chance: random.Random) -> list[tuple[str, str]] | None:
    """Return two sentences of the passage, in English without asides, each with a version in which a number, a name or
    an answer is replaced. None if there are not two."""
    found = []
    for sentence in chance.sample(split(passage.text), len(split(passage.text))):
        right = (perturbations.shortened(sentence.text) if passage.language == "en" else None) or sentence.text
        wrong = claims.altered(right, passage, chance)
        if wrong and answers.right not in right and len(right) < 160 and len(split(right)) == len(split(wrong)) == 1:
            found.append((right, wrong))
    return found[:2] if len(found) > 1 else None


def _undecided(passage: Passage, answers: AnswerPair, chance: random.Random) -> Iterator[Lesson]:
    """Yield an answer to be looked up although no passage contains it: nothing decides whether it is right or wrong."""
    if (rest := claims.without(passage, answers.right)) is None or answers.right.lower() in rest.lower():
        return
    form = chance.choice(PHRASINGS[passage.language])
    response = _fill(form, chance.choice((answers.right, answers.wrong)))
    lesson = _lesson(passage, answers, "without", response, None, ("unverified",), index=True)
    yield lesson.model_copy(update={"passages": (rest,), "gold_labels": ("unverified",)})
