"""The outcome of a report, for programs that act on it."""

from typing import Any, Literal, get_args

from haluagent.errors import ConfigError
from haluagent.types import Detection

Outcome = Literal["hallucinated", "failed", "undecided", "clear"]


def outcome_of(detection: Detection, threshold: float | None = None) -> Outcome:
    """Return the outcome, the first that applies: `hallucinated`, `failed` (the model failed; see `error`), `undecided`
    (something could not be checked), `clear`.

    Without a threshold, the labels decide. With one in [0, 1], a checked response is hallucinated if its score is above
    it. A response that could not be checked is never clear, whatever its score.
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
    """Raise ConfigError for a number that is not a probability."""
    if threshold is not None and not 0 <= threshold <= 1:
        raise ConfigError(f"threshold={threshold}: give a probability from 0 to 1")


def check_choice(name: str, value: str, choices: Any) -> None:
    """Raise ConfigError if an option is not one of the values of its `Literal`."""
    if value not in get_args(choices):
        raise ConfigError(f"{name}={value!r}: use {' or '.join(map(repr, get_args(choices)))}")
