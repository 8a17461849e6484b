"""The training examples: the tokens of each call, and which of them carry the loss."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from haluagent.errors import ConfigError
from haluagent.protocols import Message
from haluagent.train.trajectories.records import ModelCall, Trajectory

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class TrainingExample:
    """One call as tokens. The loss is on the last `learned` of them, each with `weight`."""

    ids: tuple[int, ...]
    learned: int
    weight: float = 1.0


@dataclass
class Counts:
    """Counts over a file. `too_long` calls were left out; `tokens` is the total of all examples, before any sharing."""

    trajectories: int = 0
    calls: int = 0
    not_learned: int = 0
    too_long: int = 0
    tokens: int = 0
    learned_tokens: int = 0


class Encoder:
    """Turns calls into tokens as the engines see them: the chat template up to the reply, then the reply, which is
    encoded separately because an engine's prompt ends there and its own tokens begin. Raises ConfigError if the
    tokenizer has no chat template."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        if not tokenizer.chat_template:
            raise ConfigError(
                f"{tokenizer.name_or_path} has no chat template: take the instruct version of the base model"
            )
        self._tokenizer = tokenizer
        self.end = self._end_of_turn()

    def example(self, call: ModelCall, weight: float = 1.0) -> TrainingExample:
        """Return the example of a call. Its reply ends with the end-of-turn token unless it is a scored choice, of
        which only the answer is ever read."""
        prompt = self.prompt([{"role": message.role, "content": message.content} for message in call.messages])
        reply = self.reply(call.reply, ends=not call.choices)
        return TrainingExample(prompt + reply, len(reply), weight)

    def prompt(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return the tokens up to where the model's reply begins."""
        text = self._tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
        return tuple(self._tokenizer.encode(text, add_special_tokens=False))

    def reply(self, text: str, *, ends: bool = True) -> tuple[int, ...]:
        """Return the tokens of a reply, with the end-of-turn token if it `ends` the turn."""
        ids = tuple(self._tokenizer.encode(text, add_special_tokens=False))
        return (*ids, self.end) if ends else ids

    def _end_of_turn(self) -> int:
        """Return the token that the chat template puts after the assistant's message."""
        said = "said"
        turns = [{"role": "user", "content": "asked"}, {"role": "assistant", "content": said}]
        text = self._tokenizer.apply_chat_template(turns, tokenize=False)
        behind = self._tokenizer.encode(text[text.rindex(said) + len(said) :], add_special_tokens=False)
        if behind and behind[0] in self._tokenizer.all_special_ids:
            return int(behind[0])
        if self._tokenizer.eos_token_id is None:
            raise ConfigError(f"{self._tokenizer.name_or_path} has no token that ends a turn: take another base model")
        return int(self._tokenizer.eos_token_id)


class RoughEncoder(Encoder):
    """Counts tokens where no tokenizer is at hand: pieces of words, pairs of Chinese characters, other characters one by one.

    On 4.5 million tokens of the agent's own turns it counts 0 to 3 % more than Qwen2.5's tokenizer, and makes 8 to 11 % more rows,
    because fewer of its pieces are shared.
    """

    _PIECE = re.compile(r" ?[A-Za-z]{1,6}|[\u4e00-\u9fff]{1,2}|\s+|.")

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.end = self._number("\0")

    def prompt(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Return a number for each piece, with five for the marks of a turn."""
        marks = [self._number(mark) for mark in "\1\2\3\4\5"]
        pieces = [number for message in messages for number in (*marks, *self.reply(message["content"], ends=False))]
        return (*pieces, *marks[:3])

    def reply(self, text: str, *, ends: bool = True) -> tuple[int, ...]:
        """Return a number for each piece, and one for the end."""
        numbers = tuple(self._number(piece) for piece in self._PIECE.findall(text))
        return (*numbers, self.end) if ends else numbers

    def _number(self, piece: str) -> int:
        return self._numbers.setdefault(piece, len(self._numbers))


def make_examples(
    trajectories: Iterable[Trajectory], encoder: Encoder, max_tokens: int, choice_weight: float = 1.0
) -> tuple[list[TrainingExample], Counts]:
    """Return the examples of the trajectories, in order, with their counts. A call of more than `max_tokens` tokens is
    left out, not truncated: a truncated call would train the model to stop midway, or to judge what is not there.
    `choice_weight` is the weight of a scored choice, whose loss is on one token, whereas a turn has dozens."""
    examples, counts = [], Counts()
    for trajectory in trajectories:
        counts.trajectories += 1
        for call in trajectory.calls:
            counts.calls += 1
            if not call.learn:
                counts.not_learned += 1
                continue
            example = encoder.example(call, choice_weight if call.choices else 1.0)
            if len(example.ids) > max_tokens:
                counts.too_long += 1
                continue
            counts.tokens += len(example.ids)
            counts.learned_tokens += example.learned
            examples.append(example)
    return examples, counts
