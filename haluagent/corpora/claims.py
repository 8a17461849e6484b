"""Claims made in twos from a passage: a right one and a wrong one of the same form."""

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from haluagent.corpora import perturbations
from haluagent.corpora.passages import Asked, Passage, Search
from haluagent.text.segment import split
from haluagent.types import Language

LONGEST: dict[Language, int] = {"en": 12, "zh": 30}  # words, or characters, of an answer
SHORT = 5  # words of a published wrong answer that is no sentence
_GAP: dict[Language, str] = {"en": " ", "zh": ""}
_SENTENCE: dict[Language, str] = {"en": "The answer is {}.", "zh": "答案是{}。"}


class Two(NamedTuple):
    """A right and a wrong claim, with what they are compared with; see `Pair`."""

    kind: str
    question: str
    right: str
    wrong: str
    reference: str = ""
    before: str = ""


def answer(passage: Passage, chance: random.Random) -> Two | None:
    """Answers to a question: both bare, or both made a sentence in the same way. None where none can be made."""
    made = _answers(passage, chance)
    if made is None:
        return None
    question, *two = made
    stated = _stated(question, two, passage.language)
    form = chance.choice(["bare", "sentence", "statement" if stated else "bare"])
    if form == "sentence":
        two = [_SENTENCE[passage.language].format(text) for text in two]
    right, wrong = stated if form == "statement" and stated else two
    return Two(form, question, right, wrong, passage.text)


def statement(passage: Passage, chance: random.Random) -> Two | None:
    """Sentences of a longer response: the passage says the one in other words, and something else than the other."""
    made = _statements(passage, chance)
    return made and made[0]._replace(reference=passage.text, before=split(passage.text)[0].text)


def search(passage: Passage, index: Search, chance: random.Random) -> Two | None:
    """A right and a wrong claim beside a text of the same topic that decides neither: the passage without what it says
    about the claim, or the passage that a search for the claim finds in its place."""
    if chance.random() < 0.5 and (made := _statements(passage, chance)):
        two, said = made
        use = "statement"
    elif found := _answers(passage, chance):
        two, said = Two("", *found), found[1]
        use = "answer"
    else:
        return None
    kind, text = "removed", without(passage, said) if chance.random() < 0.7 else None
    if text is None:
        other = index.best(f"{passage.text} {two.question}", without=(passage.text, said))
        kind, text = "neighbour", other.text if other else ""
    before = split(text)[0].text if text and use == "statement" else ""
    return two._replace(kind=f"{kind} {use}", reference=text, before=before) if text else None


def consistency(passage: Passage, chance: random.Random) -> Two | None:
    """What may follow in a response after the passage or its beginning, and what is at odds with that."""
    if chance.random() < 0.5:
        made = _statements(passage, chance)
        return made and made[0]._replace(kind="restated", before=passage.text)
    sentences = [item.text for item in split(passage.text)]
    if len(sentences) < 3:
        return None
    cut = chance.randrange(1, len(sentences) - 1)
    right = sentences[cut]
    if chance.random() < 0.5:  # what is new may be wrong: it still goes together with what was said
        right = altered(right, passage, chance) or right
    for one in chance.sample(sentences[:cut], cut):
        if wrong := altered(one, passage, chance):
            return Two(
                "next", passage.asked[0].question, right, wrong, before=_GAP[passage.language].join(sentences[:cut])
            )
    return None


def premise(problem: Passage, chance: random.Random) -> Two | None:
    """A premise of a problem, repeated as it is or with another number; compared with the question."""
    clauses = [item.text for item in split(problem.text)[:-1]]
    if problem.language == "zh":
        clauses = [
            f"{clause}。" for clause in re.split(r"[，。；]|(?<!\d)．|．(?!\d)", problem.text)[:-1] if len(clause) > 5
        ]
    for clause in chance.sample(clauses, len(clauses)):
        wrong = perturbations.replace_number(clause, problem.text, chance)
        if wrong and not re.search("多少|几|how many", clause, re.IGNORECASE):
            return Two("premise", problem.text, clause, wrong)
    return None


def _answers(passage: Passage, chance: random.Random) -> tuple[str, str, str] | None:
    """A question with its right answer and a wrong one."""
    found = (answers_to(asked, passage, chance) for asked in chance.sample(passage.asked, len(passage.asked)))
    return next(filter(None, found), None)


def answers_to(asked: Asked, passage: Passage, chance: random.Random) -> tuple[str, str, str] | None:
    """The question with its right answer and a wrong one of the same kind, neither of which holds the other: another
    question's answer, a published one, or the same with another number or name."""
    right, language = asked.right.strip().rstrip(".。"), passage.language
    kind = perturbations.asks(asked.question)
    wrong = [
        other.right
        for other in passage.asked
        if other is not asked and kind and perturbations.asks(other.question) == kind
    ]
    if _size(asked.wrong, language) <= SHORT >= _size(right, language):
        wrong.append(asked.wrong)
    if not any(wrong):
        wrong = [perturbations.replace_number(right, passage.text, chance) or ""]
    if not any(wrong) and language == "en":
        wrong = [perturbations.another_name(right, passage.text, chance) or ""]
    one = chance.choice([text for text in wrong if text] or [""]).strip().rstrip(".。")
    if not one or max(_size(right, language), _size(one, language)) > LONGEST[language]:
        return None
    return None if right.lower() in one.lower() or one.lower() in right.lower() else (asked.question, right, one)


def _size(text: str, language: Language) -> int:
    return len(text) if language == "zh" else len(text.split())


def _stated(question: str, answers: Sequence[str], language: Language) -> tuple[str, str] | None:
    right, wrong = (perturbations.statement(question, text, language) for text in answers)
    return (right, wrong) if right and wrong else None


def _statements(passage: Passage, chance: random.Random) -> tuple[Two, str] | None:
    """A question's answers put as statements, or a sentence that was shortened and one of its words replaced; and what
    the passage says about it: the answer, or the sentence."""
    for asked in chance.sample(passage.asked, len(passage.asked)):
        found = answers_to(asked, passage, chance)
        stated = _stated(asked.question, found[1:], passage.language) if found else None
        if found and stated:
            return Two("stated", asked.question, *stated), found[1]
    sentences = [item.text for item in split(passage.text)] if passage.language == "en" else []
    for sentence in chance.sample(sentences, len(sentences)):
        right = perturbations.shortened(sentence)
        wrong = right and altered(right, passage, chance)
        if right and wrong:
            return Two("shortened", passage.asked[0].question, right, wrong), sentence
    return None


def altered(sentence: str, passage: Passage, chance: random.Random) -> str | None:
    """The sentence with a number, a name or an answer replaced by another of the passage."""
    if passage.language == "en":
        edits = chance.sample([perturbations.replace_number, perturbations.replace_name], 2)
        return next(filter(None, [edit(sentence, passage.text, chance) for edit in edits]), None)
    for asked in chance.sample(passage.asked, len(passage.asked)):
        found = answers_to(asked, passage, chance) if asked.right in sentence else None
        if found and found[2] not in sentence:
            return sentence.replace(found[1], found[2], 1)
    return perturbations.replace_number(sentence, passage.text, chance)


def without(passage: Passage, said: str) -> str | None:
    """The text without the sentences that hold an answer, or that it holds; None where less than a third is left."""
    kept = [item.text for item in split(passage.text) if said not in item.text and item.text not in said]
    rest = _GAP[passage.language].join(kept)
    return rest if len(rest) > len(passage.text) / 3 else None
