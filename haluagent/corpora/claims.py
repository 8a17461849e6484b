"""Make pairs of claims from a passage: a right one and a wrong one of the same form."""

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from haluagent.corpora import perturbations
from haluagent.corpora.passages import Asked, Passage, Search
from haluagent.text.language import GAP
from haluagent.text.segment import split
from haluagent.types import Language

LONGEST: dict[Language, int] = {"en": 12, "zh": 30}  # the maximum length of an answer, in words or characters
SHORT = 5  # the maximum words of a published wrong answer that is not a sentence
_SENTENCE: dict[Language, str] = {"en": "The answer is {}.", "zh": "答案是{}。"}


class ClaimPair(NamedTuple):
    """A right and a wrong claim, with the text they are compared with; see `Pair`."""

    kind: str
    question: str
    right: str
    wrong: str
    reference: str = ""
    before: str = ""


def answer(passage: Passage, chance: random.Random) -> ClaimPair | None:
    """Return two answers to a question, both bare or both phrased as a sentence in the same way. None if none can be
    made."""
    made = _answers(passage, chance)
    if made is None:
        return None
    question, *answers = made
    stated = _stated(question, answers, passage.language)
    form = chance.choice(["bare", "sentence", "statement" if stated else "bare"])
    if form == "sentence":
        answers = [_SENTENCE[passage.language].format(text) for text in answers]
    right, wrong = stated if form == "statement" and stated else answers
    return ClaimPair(form, question, right, wrong, passage.text)


def statement(passage: Passage, chance: random.Random) -> ClaimPair | None:
    """Return two sentences of a longer response: the passage says the right one in other words and contradicts the
    wrong one."""
    made = _statements(passage, chance)
    return made and made[0]._replace(reference=passage.text, before=split(passage.text)[0].text)


def search(passage: Passage, index: Search, chance: random.Random) -> ClaimPair | None:
    """Return a right and a wrong claim with a text on the same topic that decides neither: the passage without the part
    about the claim, or the passage that a search for the claim finds instead."""
    if chance.random() < 0.5 and (made := _statements(passage, chance)):
        claims, said = made
        use = "statement"
    elif found := _answers(passage, chance):
        claims, said = ClaimPair("", *found), found[1]
        use = "answer"
    else:
        return None
    kind, text = "removed", without(passage, said) if chance.random() < 0.7 else None
    if text is None:
        other = index.best(f"{passage.text} {claims.question}", without=(passage.text, said))
        kind, text = "neighbour", other.text if other else ""
    before = split(text)[0].text if text and use == "statement" else ""
    return claims._replace(kind=f"{kind} {use}", reference=text, before=before) if text else None


def consistency(passage: Passage, chance: random.Random) -> ClaimPair | None:
    """Return a sentence that may follow the passage or its beginning in a response, and one that is inconsistent with
    it."""
    if chance.random() < 0.5:
        made = _statements(passage, chance)
        return made and made[0]._replace(kind="restated", before=passage.text)
    sentences = [item.text for item in split(passage.text)]
    if len(sentences) < 3:
        return None
    cut = chance.randrange(1, len(sentences) - 1)
    right = sentences[cut]
    if chance.random() < 0.5:  # a new statement may be wrong and still be consistent with the text before it
        right = altered(right, passage, chance) or right
    for one in chance.sample(sentences[:cut], cut):
        if wrong := altered(one, passage, chance):
            return ClaimPair(
                "next", passage.asked[0].question, right, wrong, before=GAP[passage.language].join(sentences[:cut])
            )
    return None


def premise(problem: Passage, chance: random.Random) -> ClaimPair | None:
    """Return a premise of a problem, repeated as it is and with another number; it is compared with the question."""
    clauses = [item.text for item in split(problem.text)[:-1]]
    if problem.language == "zh":
        clauses = [
            f"{clause}。" for clause in re.split(r"[，。；]|(?<!\d)．|．(?!\d)", problem.text)[:-1] if len(clause) > 5
        ]
    for clause in chance.sample(clauses, len(clauses)):
        wrong = perturbations.replace_number(clause, problem.text, chance)
        if wrong and not re.search("多少|几|how many", clause, re.IGNORECASE):
            return ClaimPair("premise", problem.text, clause, wrong)
    return None


def _answers(passage: Passage, chance: random.Random) -> tuple[str, str, str] | None:
    """Return a question with its right answer and a wrong one."""
    found = (answers_to(asked, passage, chance) for asked in chance.sample(passage.asked, len(passage.asked)))
    return next(filter(None, found), None)


def answers_to(asked: Asked, passage: Passage, chance: random.Random) -> tuple[str, str, str] | None:
    """Return the question with its right answer and a wrong one of the same kind, neither of which contains the other.
    The wrong one is another question's answer, a published one, or the right one with another number or name."""
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


def _statements(passage: Passage, chance: random.Random) -> tuple[ClaimPair, str] | None:
    """Return two claims, and the part of the passage about them. The claims are a question's answers phrased as
    statements (the part is the right answer), or a shortened sentence and the same with a word replaced (the part is
    the sentence)."""
    for asked in chance.sample(passage.asked, len(passage.asked)):
        found = answers_to(asked, passage, chance)
        stated = _stated(asked.question, found[1:], passage.language) if found else None
        if found and stated:
            return ClaimPair("stated", asked.question, *stated), found[1]
    sentences = [item.text for item in split(passage.text)] if passage.language == "en" else []
    for sentence in chance.sample(sentences, len(sentences)):
        right = perturbations.shortened(sentence)
        wrong = right and altered(right, passage, chance)
        if right and wrong:
            return ClaimPair("shortened", passage.asked[0].question, right, wrong), sentence
    return None


def altered(sentence: str, passage: Passage, chance: random.Random) -> str | None:
    """Return the sentence with a number, a name or an answer replaced by another one from the passage."""
    if passage.language == "en":
        edits = chance.sample([perturbations.replace_number, perturbations.replace_name], 2)
        return next(filter(None, [edit(sentence, passage.text, chance) for edit in edits]), None)
    for asked in chance.sample(passage.asked, len(passage.asked)):
        found = answers_to(asked, passage, chance) if asked.right in sentence else None
        if found and found[2] not in sentence:
            return sentence.replace(found[1], found[2], 1)
    return perturbations.replace_number(sentence, passage.text, chance)


def without(passage: Passage, said: str) -> str | None:
    """Return the text without the sentences that contain `said` or are contained in it; None if less than a third is
    left."""
    kept = [item.text for item in split(passage.text) if said not in item.text and item.text not in said]
    rest = GAP[passage.language].join(kept)
    return rest if len(rest) > len(passage.text) / 3 else None
