"""What the models of the checker `nli` have in common: probabilities of labels for the windows of a passage."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from haluagent.checks.claims.records import RELATIONS, Relation
from haluagent.errors import ConfigError, ToolError
from haluagent.text.words import words
from haluagent.types import Span

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LONGEST = 512  # tokens of premise and hypothesis together; a model with a lower limit gets fewer
OVERLAP = 64  # tokens
WINDOWS = 8  # the number read of a longer passage: those that share most words with the claim

Shares = dict[Relation, float]


class PairEncoder(Protocol):
    def windows(self, passage: str, claim: str) -> tuple[list[tuple[Span, Shares]], bool]:
        """Return the windows of the passage that are read, each with the probabilities of the labels, and whether they
        are all of it.

        Raise `ToolError` for a claim that leaves the passage no room.
        """
        ...


class TokenWindows(ABC):
    """An encoder that cuts passages with its tokenizer. `limit` is in tokens."""

    def __init__(self, tokenizer: "Tokenizer", limit: int) -> None:
        self.tokenizer = tokenizer
        self.limit = limit
        self._lock = threading.Lock()
        self.tokenizer.no_padding()

    def windows(self, passage: str, claim: str) -> tuple[list[tuple[Span, Shares]], bool]:
        with self._lock:  # truncation is a setting of the shared tokenizer
            self.tokenizer.no_truncation()
            room = self.limit - len(self.tokenizer.encode("", claim).ids)
            if room < min(2 * OVERLAP, self.limit // 2):
                raise too_long(self.limit)
            self.tokenizer.enable_truncation(self.limit, stride=min(OVERLAP, room // 4), strategy="only_first")
            whole = self.tokenizer.encode(passage, claim)
        encodings = {_place(encoding): encoding for encoding in (whole, *whole.overflowing)}
        chosen = most_like(list(encodings), passage, claim)
        scored = [(place, self.run(encodings[place], passage[slice(*place)], claim)) for place in chosen]
        return scored, len(encodings) <= WINDOWS

    @abstractmethod
    def run(self, encoding: Any, premise: str, claim: str) -> Shares:
        """Return the probabilities of the labels for a window, `premise`, with its claim; `encoding` is that of both."""


def too_long(limit: int) -> ToolError:
    """Return the error for a claim that leaves the passage no room."""
    return ToolError(f"the claim is too long for the NLI model, which reads {limit} tokens in all")


def most_like(places: Sequence[Span], passage: str, claim: str) -> list[Span]:
    """Return the windows to read: at most eight, those that share most words with the claim."""
    said = words(claim)
    return sorted(places, key=lambda place: -len(said & words(passage[slice(*place)])))[:WINDOWS]


def labels_of(id2label: Mapping[Any, Any], model: object) -> list[Relation]:
    """Return the label of each output of a model, in order. Raise `ConfigError` if they are not RefChecker's three."""
    named = {int(number): str(name).strip().capitalize() for number, name in id2label.items()}
    labels = [named[number] for number in sorted(named)]
    if sorted(labels) != sorted(RELATIONS) or sorted(named) != [0, 1, 2]:
        said = ", ".join(map(str, id2label.values())) or "none"
        raise ConfigError(
            f"the NLI model in {model} has the classes {said}; it takes entailment, neutral and contradiction"
        )
    by_name: dict[str, Relation] = {label: label for label in RELATIONS}
    return [by_name[label] for label in labels]


def limit_of(positions: int | None, model_type: str, longest: int | None) -> int:
    """Return the maximum number of tokens a model reads. RoBERTa's positions start after those for padding."""
    known = positions or LONGEST
    if "roberta" in model_type or model_type == "camembert":
        known -= 2
    return min(known, longest or LONGEST, LONGEST)


def _place(encoding: Any) -> Span:
    """Return the span of a window in the passage."""
    pairs = zip(encoding.offsets, encoding.sequence_ids, strict=True)
    offsets = [place for place, sequence in pairs if sequence == 0]
    return (min(a for a, _ in offsets), max(b for _, b in offsets)) if offsets else (0, 0)
