"""The observers of requests: metrics and traces."""

from typing import Literal, Protocol

from haluagent.checks.claims.records import ClaimReport
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.checks.runs.records import HallucinationReport
from haluagent.events import Event
from haluagent.types import Detection, Record

Job = Literal["detect", "recheck", "check", "claims", "runs"]
Result = Detection | Faithfulness | ClaimReport | HallucinationReport
# done: there is a whole result. Otherwise there is none, because the input is wrong, the queue is full, the model failed, it took
# too long (a detection has what was found until then), the client went away, the server is stopping, or there is a bug.
Ending = Literal["done", "invalid", "busy", "model", "deadline", "gone", "stopping", "internal"]


class Outcome(Record):
    """The end of a request. `waited` and `worked` are seconds in the queue and after it."""

    job: Job
    ending: Ending
    waited: float
    worked: float
    result: Result | None = None


class Watch(Protocol):
    """Follow one request. It must not raise, and must not hold up the event loop."""

    def started(self) -> None:
        """Note that its turn in the queue came. This is called in the task that does the work."""

    def event(self, event: Event) -> None:
        """Note what happened in a detection."""

    def ended(self, outcome: Outcome) -> None:
        """Note how it ended. This is called once, and last."""


class Watcher(Protocol):
    """Observe requests. `headers` are those of the request, names in lower case."""

    def watch(self, job: Job, headers: dict[str, str]) -> Watch:
        """Return what follows this request."""
