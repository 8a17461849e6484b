"""A model wrapper that records calls: the teacher's replies become the training data of another model."""

import re
from collections.abc import Sequence
from typing import Any

from haluagent.models.wrapper import ModelWrapper
from haluagent.prompts import origin
from haluagent.protocols import Choice, Generation, Message, Model, Warmable
from haluagent.train.trajectories.records import ModelCall, RecordedMessage
from haluagent.types import Usage

NOT_LEARNED = ("opinion", "standalone")  # the model's own belief and its own words: neither has a gold answer
_TARGET = re.compile(r"(?:Check|核查) S(\d+)")


class Recorder(ModelWrapper):
    """A `Model` that records its calls. `temperature` applies to the agent's turns only, so that several samples of an
    item differ. The messages are recorded as the agent sent them, without a hint that the teacher was given."""

    def __init__(self, teacher: Model, temperature: float = 0.0) -> None:
        super().__init__(teacher)
        self._temperature = temperature
        self._not_learned = {*NOT_LEARNED, *getattr(teacher, "guessed", ())}
        self.calls: list[ModelCall] = []

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        """Implement `Model.generate`."""
        prompt = prompt_of(messages)
        if prompt == "agent":
            options["temperature"] = self._temperature
        generation = await self._model.generate(messages, **options)
        for text in dict.fromkeys(generation.texts):
            self._keep(prompt, messages, text.strip(), ())
        return generation

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """Implement `Model.choose`."""
        choice = await self._model.choose(messages, choices)
        self._keep(prompt_of(messages), messages, choice.best, tuple(choices))
        return choice

    async def warm(self, system: str) -> Usage:
        """Warm the teacher, if it supports that; see `Warmable`."""
        return await self._model.warm(system) if isinstance(self._model, Warmable) else Usage()

    def _keep(self, prompt: str, messages: Sequence[Message], reply: str, choices: tuple[str, ...]) -> None:
        sentence = target(messages) if prompt == "agent" else None
        said = tuple(RecordedMessage(**message) for message in messages)
        learn = bool(reply) and prompt not in self._not_learned
        self.calls.append(
            ModelCall(prompt=prompt, sentence=sentence, messages=said, reply=reply, choices=choices, learn=learn)
        )


def prompt_of(messages: Sequence[Message]) -> str:
    """Return the name of the prompt that a conversation was rendered from; "agent" for a branch."""
    found = origin(messages)
    return found.prompt if found else "agent"


def target(messages: Sequence[Message]) -> int | None:
    """Return the index of the sentence that a branch is about; None for a single transcript."""
    opening = next(message["content"] for message in messages if message["role"] == "user")
    found = _TARGET.findall(opening)
    return int(found[-1]) if found else None
