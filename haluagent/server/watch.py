"""What the server tells of its work: to metrics, to traces."""

from typing import Literal, Protocol

from haluagent.checks.claims.records import ClaimReport
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.checks.runs.records import HallucinationReport
from haluagent.events import Event
from haluagent.types import Detection, Record

Job = Literal["detect", "check", "claims", "runs"]
Result = Detection | Faithfulness | ClaimReport | HallucinationReport
# done: there is a whole result. Else why there is none: what was given is wrong, the queue is full, the model failed, it took too
# long (of a detection there is what was found until then), the client went away, the server is stopping, or there is a bug.
Ending = Literal["done", "invalid", "busy", "model", "deadline", "gone", "stopping", "internal"]


class Outcome(Record):
    """How the work on one request ended. `waited` and `worked` are seconds in the queue and after it."""

    job: Job
    ending: Ending
    waited: float
    worked: float
    result: Result | None = None


class Watch(Protocol):
    """Follows one request. It must not raise, and must not hold up the event loop."""

    def started(self) -> None:
        """Its turn in the queue came."""

    def event(self, event: Event) -> None:
        """Something happened in a detection."""

    def ended(self, outcome: Outcome) -> None:
        """The last that is heard of it."""


class Watcher(Protocol):
    """Gives a watch to each request that is let in. `headers` are those of the request, names in lower case."""

    def watch(self, job: Job, headers: dict[str, str]) -> Watch: ...
