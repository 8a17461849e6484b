"""The strictness of the check: the thresholds of stage 4, and the options of the stages before it."""

from typing import Literal

from pydantic import Field

from haluagent.checks.claims.records import Format
from haluagent.checks.runs.records import TaskType
from haluagent.errors import ConfigError
from haluagent.types import Record

Status = Literal["grounded", "weak", "unsupported", "ungrounded"]


class GateSettings(Record):
    """The spec's defaults for general-purpose agents; `for_task` gives those of a task.

    `emit`, `revise` and `block` are scores in [0, 1]. `overall` is the minimum over the claims, or their mean, in which
    critical ones count twice. `format` says how the answer is cut: a clause (`subsentence`) states one thing, a
    sentence often two. `probes` is the number of answers to each question of stage 3; the first is the likeliest, the
    others are drawn with `temperature`. A critical claim is probed unless its score is at least `sure` or already below
    `block`; with `probe_all` it always is. `probes_required` makes probes part of every report. `block_executed` blocks
    if a call was executed with an invented argument. `base_rate` in (0, 1) is the usual share of right claims in an
    answer: the model's judgements are calibrated on equally many wrong ones, so 0.5 leaves them unchanged. Raise
    `ConfigError` if the thresholds are not in order.
    """

    emit: float = Field(default=0.85, ge=0, le=1)
    revise: float = Field(default=0.6, ge=0, le=1)
    block: float = Field(default=0.4, ge=0, le=1)
    overall: Literal["minimum", "mean"] = "minimum"
    groundedness: bool = True
    format: Format = "subsentence"
    probes: int = Field(default=3, ge=1, le=20)
    temperature: float = Field(default=0.7, ge=0, le=2)
    sure: float = Field(default=0.95, ge=0, le=1)
    probe_all: bool = False
    probes_required: bool = False
    block_executed: bool = False
    base_rate: float = Field(default=0.8, gt=0, lt=1)

    def model_post_init(self, context: object) -> None:
        if not self.block <= self.revise <= self.emit:
            raise ConfigError(
                f"block {self.block:g}, revise {self.revise:g}, emit {self.emit:g}: each must be at least the one before it"
            )

    @classmethod
    def for_task(cls, task: TaskType) -> "GateSettings":
        """Return the settings of a task.

        `factual`: the defaults. `high_stakes`: tighter, with no assumption about the claims; every critical one is
        probed, and an executed call with an invented argument blocks. `creative`: claims are not judged, calls are.
        """
        if task == "high_stakes":
            return cls(
                emit=0.9,
                revise=0.7,
                block=0.5,
                probe_all=True,
                probes_required=True,
                block_executed=True,
                base_rate=0.5,
            )
        return cls(groundedness=task != "creative")

    @property
    def undecided(self) -> float:
        """Return the score of a claim that could not be judged: `unsupported`, and never grounded."""
        return (self.block + self.revise) / 2 if self.revise > self.block else self.block

    def status(self, score: float) -> Status:
        """Return a score's name in a report."""
        if score >= self.emit:
            return "grounded"
        return "weak" if score >= self.revise else "unsupported" if score >= self.block else "ungrounded"
