"""A teacher that sees the gold label but must still reach it by evidence."""

from collections.abc import Sequence
from typing import Any

from haluagent.models.wrapper import ModelWrapper
from haluagent.prompts import render
from haluagent.protocols import Choice, Generation, Message, Model
from haluagent.train.trajectories.recorder import prompt_of
from haluagent.train.trajectories.records import TrajectoryItem


class Hinted(ModelWrapper):
    """A `Model` that adds the gold label to the agent's turns, and to no other prompt: the tools judge by the evidence
    alone."""

    def __init__(self, teacher: Model, item: TrajectoryItem) -> None:
        super().__init__(teacher)
        self._hint = render("hint", item.language, gold=item.gold, labels=list(enumerate(item.gold_labels, start=1)))

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        """Implement `Model.generate`."""
        if prompt_of(messages) == "agent":
            messages = [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n{self._hint}"}]
        return await self._model.generate(messages, **options)

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Implement `Model.choose`."""
        return await self._model.choose(messages, choices)
