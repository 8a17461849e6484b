"""A model whose calls are kept, for what the teacher said in them is what another model is taught."""

import re
from collections.abc import Sequence
from typing import Any

from haluagent.models.wrapper import ModelWrapper
from haluagent.prompts import origin
from haluagent.protocols import Choice, Generation, Message, Model, Warmable
from haluagent.train.trajectories.records import Call, Said
from haluagent.types import Usage

UNTAUGHT = (
    "opinion",
    "standalone",
)  # what the model believes by itself, and its own words: there is no gold for either
_TARGET = re.compile(r"(?:Check|核查) S(\d+)")


class Recorder(ModelWrapper):
    """A `Model` that keeps what goes through it. `temperature` is for the turns of the agent alone, so that several samples
    of one item differ. What is recorded is what was asked, without a hint that the teacher was given."""

    def __init__(self, teacher: Model, temperature: float = 0.0) -> None:
        super().__init__(teacher)
        self._temperature = temperature
        self._untaught = {*UNTAUGHT, *getattr(teacher, "guessed", ())}
        self.calls: list[Call] = []

    async def generate(self, messages: Sequence[Message], **options: Any) -> Generation:
        """See `Model.generate`."""
        prompt = prompt_of(messages)
        if prompt == "agent":
            options["temperature"] = self._temperature
        generation = await self._model.generate(messages, **options)
        for text in dict.fromkeys(generation.texts):
            self._keep(prompt, messages, text.strip(), ())
        return generation

    async def choose(self, messages: Sequence[Message], choices: Sequence[str]) -> Choice:
        """See `Model.choose`."""
        choice = await self._model.choose(messages, choices)
        self._keep(prompt_of(messages), messages, choice.best, tuple(choices))
        return choice

    async def warm(self, system: str) -> Usage:
        """See `EmbeddedModel.warm`."""
        return await self._model.warm(system) if isinstance(self._model, Warmable) else Usage()

    def _keep(self, prompt: str, messages: Sequence[Message], reply: str, choices: tuple[str, ...]) -> None:
        sentence = target(messages) if prompt == "agent" else None
        said = tuple(Said(**message) for message in messages)
        learn = bool(reply) and prompt not in self._untaught
        self.calls.append(
            Call(prompt=prompt, sentence=sentence, messages=said, reply=reply, choices=choices, learn=learn)
        )


def prompt_of(messages: Sequence[Message]) -> str:
    """The prompt that a conversation was rendered from; "agent" for a branch."""
    found = origin(messages)
    return found.prompt if found else "agent"


def target(messages: Sequence[Message]) -> int | None:
    """The index of the sentence that a branch is about; None for a single transcript."""
    opening = next(message["content"] for message in messages if message["role"] == "user")
    found = _TARGET.findall(opening)
    return int(found[-1]) if found else None
