"""What a report means to a program that has to act on it."""

from typing import Any, Literal, get_args

from haluagent.errors import ConfigError
from haluagent.types import Detection

Outcome = Literal["hallucinated", "failed", "undecided", "clear"]


def outcome_of(detection: Detection, threshold: float | None = None) -> Outcome:
    """What was found, the worst first: `hallucinated`, `failed` (the model did, and `error` says how), `undecided` (something
    could not be checked), `clear`.

    Without a threshold the labels decide. With one, in [0, 1], a response that was checked is hallucinated where its score
    is above it. What could not be checked is never clear, whatever its score.
    """
    wrong = detection.hallucination if threshold is None else detection.score > threshold
    if wrong and detection.hallucination is not None:
        return "hallucinated"
    if detection.error is not None:
        return "failed"
    if detection.hallucination is None or any(entry.label == "unverified" for entry in detection.sentences):
        return "undecided"
    return "clear"


def check_threshold(threshold: float | None) -> None:
    """Raises ConfigError for a number that is no probability."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise ConfigError(f"threshold={threshold}: give a probability from 0 to 1")


def check_choice(name: str, value: str, choices: Any) -> None:
    """Raises ConfigError where an option is none of the values of its `Literal`."""
    if value not in get_args(choices):
        raise ConfigError(f"{name}={value!r}: use {' or '.join(map(repr, get_args(choices)))}")
