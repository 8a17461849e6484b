"""A teacher that is shown the gold label, and must still reach it by evidence."""

from collections.abc import Sequence
from typing import Any

from ..calibration import calibration_of, taught_of
from ..prompts import render
from ..protocols import Choice, Generation, Message, Model
from .recorder import prompt_of
from .records import Item


class Hinted:
    """A `Model` that adds the gold label to the turns of the agent, and to no other prompt: what a tool asks is judged by
    the evidence alone."""

    def __init__(self, teacher: Model, item: Item) -> None:
        self._teacher = teacher
        self._hint = render("hint", item.language, gold=item.gold, labels=list(enumerate(item.gold_labels, start=1)))
        self.name = teacher.name
        self.context = teacher.context
        self.calibration = calibration_of(teacher)
        self.taught = taught_of(teacher)

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        """See `Model.generate`."""
        if prompt_of(messages) == "agent":
            messages = [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n{self._hint}"}]
        return await self._teacher.generate(messages, **options)

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """See `Model.choose`."""
        return await self._teacher.choose(messages, choices)

    def count_tokens(self, text: str) -> int:
        return self._teacher.count_tokens(text)
