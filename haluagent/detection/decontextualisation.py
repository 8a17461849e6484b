"""Decontextualisation: pronouns and omitted content are filled in, so that a sentence can be checked by itself (the paper's section 2.3).

The model writes the completion; it is kept beside the verbatim sentence, and dropped where it brings in anything
that neither the question nor the response says.
"""

import re

from haluagent.detection.limits import Meter
from haluagent.detection.task import DetectionTask
from haluagent.prompts import conversation
from haluagent.text.windows import clip
from haluagent.types import Sentence

COMPLETION_TOKENS = 96
# A pronoun that opens a sentence refers back to another one. Further in, what it refers to mostly stands in the same sentence, or it
# refers to nothing ("that" as a conjunction, "there were").
_PRONOUNS = r"(?:he|she|it|they|him|them|his|her|its|their|this|that|these|those)\b"
_PRONOUN = {"en": re.compile(_PRONOUNS, re.IGNORECASE), "zh": re.compile(r"[他她它]们?|[这那此该其]")}
_OPENING = {
    "en": re.compile(rf"(?:\W*\w++){{0,2}}?\W*+{_PRONOUNS}", re.IGNORECASE),  # its first three words
    "zh": re.compile(r"[\W_]*(?:[这那此该其]|.{0,8}?[他她它])"),
}
_VERB_FREE_WORDS = 4  # an English answer this short is a fragment: "Paris", "in 1998", "the second one"
_FRAGMENT_CHARACTERS = 8
_CODE = re.compile(r"```|^\s{4}|[{};]\s*$|\bdef \w+\(", re.MULTILINE)
_DENIAL = re.compile(r"\b(?:not|no|never|none|nor|neither|without)\b|n't\b|[不没无未非别]", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+|\d+(?:\.\d+)?|[\u4e00-\u9fff]")
_GLUE = frozenset(
    """
    a an the is are was were be been of in on at to by for and or with as from that which who its it has
    have had answer question
    """.split()
)


def needs_completion(sentence: Sentence, language: str) -> bool:
    """Return True for a sentence that cannot be understood alone: it opens with a pronoun or is a bare fragment. Code and
    formulas are left as they are."""
    text = sentence.text
    if _CODE.search(text) or "=" in text:
        return False
    if _OPENING["zh" if re.search(r"[\u4e00-\u9fff]", text) else "en"].match(text):
        return True
    if language == "zh" and re.search(r"[\u4e00-\u9fff]", text):
        return len(text) <= _FRAGMENT_CHARACTERS
    return len(text.split()) <= _VERB_FREE_WORDS


def judged_as_it_is(task: DetectionTask) -> bool:
    """Return True where the response is one sentence: it is read as the answer to the question, and not completed."""
    return len(task.sentences) == 1


async def complete(task: DetectionTask, model: Meter) -> tuple[Sentence, ...]:
    """Return the sentences, each with its `standalone` text where it needed one."""
    return tuple([await _complete(task, sentence, model) for sentence in task.sentences])


async def _complete(task: DetectionTask, sentence: Sentence, model: Meter) -> Sentence:
    if not needs_completion(sentence, task.language):
        return sentence
    before = task.response[max(0, sentence.span[0] - 600) : sentence.span[0]].strip()
    messages = conversation(
        "standalone",
        task.language,
        question=clip(task.question, task.room // 4, task.count)[0],
        before=before,
        sentence=clip(sentence.text, task.room // 4, task.count)[0],
    )
    generation = await model.generate(messages, stop=["\n"], max_tokens=COMPLETION_TOKENS)
    written = generation.text.strip().strip('"“”')
    if not adds_nothing(written, sentence.text, f"{task.question}\n{before}\n{sentence.text}"):
        return sentence
    return sentence.model_copy(update={"standalone": written})


def adds_nothing(written: str, original: str, known: str) -> bool:
    """Return True for a completion that keeps every number, name and denial of the original and takes every other word from
    `known`."""
    if not written or written == original or len(written) > 3 * len(original) + 240:
        return False
    if _denials(written) != _denials(original):
        return False
    words, source = _words(written), _words(known) | _GLUE
    if not words <= source:
        return False
    kept = {word for word in _words(original) if not any(one.fullmatch(word) for one in _PRONOUN.values())}
    return kept - _GLUE - {"们", "there"} <= words


def _denials(text: str) -> int:
    return len(_DENIAL.findall(text))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}
