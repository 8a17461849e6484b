"""The gold teacher: it knows the gold labels and how an item was made, and makes every call by rule.

It takes the place of a model, so that the agent, its prompts, its tools and their observations are the real ones. If it
does not know the right answer to a call, it raises ModelError, and the detection ends without a trajectory.
"""

import re
from collections.abc import Sequence
from typing import Any

from haluagent.errors import ModelError
from haluagent.models.calibration import IDENTITY
from haluagent.models.tokenizer import ApproximateTokenizer
from haluagent.prompts import origin
from haluagent.protocols import Choice, Generation, Message
from haluagent.text.segment import split
from haluagent.train.trajectories.arithmetic import PLANS
from haluagent.train.trajectories.gold_turns import Move, made, pointers, say, turn
from haluagent.train.trajectories.lessons import Lesson
from haluagent.train.trajectories.recorder import target
from haluagent.types import Label, Sentence, ToolCall, Usage

SURE = 0.999
_NOT_SAID = {"en": "not stated", "zh": "没有说"}


class GoldTeacher:
    """A `Model` for one lesson. `tools` names those that the fine-tuned model will know without demos.

    `guessed` names prompts that it answers only to move the detection along: a short answer that is not known is not
    used for training.
    """

    name = "gold"
    context = 8192
    calibration = IDENTITY

    def __init__(self, lesson: Lesson, tools: frozenset[str]) -> None:
        self.fine_tuned_tools = tools
        self.guessed: frozenset[str] = frozenset() if lesson.answer else frozenset({"answer"})
        self._lesson = lesson
        self._sentences = split(lesson.response)
        self._tokens = ApproximateTokenizer()

    def count_tokens(self, text: str) -> int:
        return self._tokens.count(text)

    async def generate(
        self, messages: Sequence[Message], *, grammar: str | None = None, samples: int = 1, **_: Any
    ) -> Generation:
        """Implement `Model.generate`. Raises ModelError if the right text is not known."""
        asked = origin(messages)
        text = (
            say(self._turn(messages, grammar or ""), self._lesson.language) if asked is None else self._written(*asked)
        )
        return Generation(texts=(text,) * samples, usage=Usage(calls=1))

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Implement `Model.choose`. Raises ModelError if the right choice is not known."""
        asked = origin(messages)
        assert asked is not None, "the agent's own turns are written, not chosen"
        prompt, variables = asked
        if prompt == "opinion":
            return Choice(probabilities=dict.fromkeys(choices, 1 / len(choices)), usage=Usage(calls=1))
        options = choices[::-1] if variables.get("turned") else choices
        right = options[self._right_option(prompt, variables)]
        rest = (1 - SURE) / (len(choices) - 1)
        return Choice(
            probabilities={choice: SURE if choice == right else rest for choice in choices}, usage=Usage(calls=1)
        )

    def _turn(self, messages: Sequence[Message], grammar: str) -> Move:
        index, calls = target(messages), made(messages)
        if index is not None:
            return self._about(index, calls, grammar)
        if not calls:
            return Move("split_text", ToolCall(name="split_text", arguments={}))
        asked = {call.arguments.get("sentence") for call in calls}
        following = next((name for name in pointers(grammar) if name not in asked), None)
        if following is None:
            return Move("end", ToolCall(name="get_answer", arguments={}))
        return self._about(int(following[1:]), (), grammar)

    def _about(self, index: int, calls: Sequence[ToolCall], grammar: str) -> Move:
        before = [call.name for call in calls]
        return turn(self._lesson, self._sentence(index), self._label(index), before, grammar)

    def _written(self, prompt: str, variables: dict[str, Any]) -> str:
        lesson = self._lesson
        if prompt == "standalone":
            return str(variables["sentence"])
        if prompt == "answer":
            if not lesson.answer and lesson.gold is False:
                return lesson.response
            return lesson.answer if self._says(variables["evidence"], lesson.answer) else _NOT_SAID[lesson.language]
        if prompt == "formula" and lesson.formula:
            return lesson.formula
        if prompt == "translate" and lesson.independent:
            return lesson.independent
        raise ModelError(f"the gold teacher does not know what to write for the prompt {prompt!r} of {lesson.id}")

    def _right_option(self, prompt: str, variables: dict[str, Any]) -> int:
        """Return the place of the right option of the prompt, in its unturned order."""
        if prompt == "verdict":
            label = self._label_of(variables["claim"])
            if not self._decides(variables["evidence"], label):
                return 2
            return 0 if label == "supported" else 1
        return 0 if self._first_of_two(prompt, variables) else 1

    def _first_of_two(self, prompt: str, variables: dict[str, Any]) -> bool:
        lesson = self._lesson
        if prompt == "match":
            label = self._label_of(variables["claim"])
            if variables["wording"] == "consistency":
                return label != "contradicted"
            return self._decides(variables["evidence"], label) and label == "supported"
        if prompt == "mentions":
            return self._decides(variables["evidence"], self._label(1))
        if prompt in ("problem", "same_meaning") and lesson.gold is not None:
            return not lesson.gold
        if prompt == "claim":
            return self._label_of(variables["claim"]) != "no_claim"
        if prompt == "writing":
            return lesson.kind != "length"
        raise ModelError(f"the gold teacher does not know what to choose for the prompt {prompt!r} of {lesson.id}")

    def _decides(self, evidence: str, label: Label | None) -> bool:
        """Return True if a text decides a sentence: it is one of the passages or part of one, and contains the answer
        if that is known. Raises ModelError if the label of the sentence is not given."""
        lesson = self._lesson
        if label is None:
            raise ModelError(f"{lesson.id} has several sentences: give their labels as gold_labels")
        known = lesson.passages or ((lesson.reference,) if lesson.reference else ())
        if label not in ("supported", "contradicted") or not any(_same(evidence) in _same(text) for text in known):
            return False
        return not lesson.answer or self._says(evidence, lesson.answer)

    @staticmethod
    def _says(evidence: str, answer: str) -> bool:
        return bool(answer) and _same(answer) in _same(evidence)

    def _sentence(self, index: int | None) -> Sentence:
        if index == 0:
            response = self._lesson.response
            return Sentence(index=0, text=response, span=(0, len(response)))
        for sentence in self._sentences:
            if sentence.index == index:
                return sentence
        raise ModelError(f"the gold teacher finds no sentence {index} in {self._lesson.id}")

    def _label_of(self, claim: str) -> Label | None:
        """Return the gold label of a claim. Raises ModelError if the claim is not a sentence of the response."""
        for sentence in self._sentences:
            if _same(sentence.text) == _same(claim):
                return self._label(sentence.index)
        raise ModelError(f"{claim[:40]!r} is no sentence of {self._lesson.id}")

    def _label(self, index: int | None) -> Label | None:
        """Return the gold label of a sentence; None if it is not known. All sentences of a right response are right,
        except those that only announce the work."""
        labels = self._lesson.gold_labels
        if index and len(labels) == len(self._sentences):
            return labels[index - 1]
        if index and self._sentence(index).text in PLANS[self._lesson.language]:
            return "no_claim"
        if self._lesson.gold is False:
            return "supported"
        if len(self._sentences) != 1:
            return None
        return "contradicted" if self._lesson.gold else "unverified"


def _same(text: str) -> str:
    return re.sub(r"[\s\u200b]+", "", text).casefold()
