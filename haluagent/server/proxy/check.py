"""The check of one answer, in its turn; whatever happens, it ends in a finding."""

import asyncio
import logging
from collections.abc import Sequence

from haluagent.agent import HaluAgent
from haluagent.errors import ConfigError
from haluagent.server.endpoint import Watches
from haluagent.server.problems import HttpProblem, problem_of
from haluagent.server.proxy.metrics import ProxyMetrics
from haluagent.server.proxy.records import Finding, finding_of
from haluagent.server.proxy.sources import AskedQuestion
from haluagent.server.queue import Place, RequestQueue
from haluagent.server.scheduler import Scheduler, following
from haluagent.server.settings import ServerSettings
from haluagent.server.watch import Ending, Outcome, Result, Watcher
from haluagent.types import Detection

logger = logging.getLogger(__name__)


class ProxyScheduler(Scheduler):
    """Admits conversations, and the checks of their answers. Each has one check at a time, so that none is turned away."""

    def __init__(self, agent: HaluAgent, settings: ServerSettings, conversations: int) -> None:
        super().__init__(agent, settings.model_copy(update={"waiting": conversations}))
        self.conversations = RequestQueue(conversations, 0)

    def enter(self) -> Place:
        """Admit a conversation. Raises HttpProblem where the server is stopping, or has too many."""
        if self.stopping:
            raise HttpProblem("stopping", "the server is stopping")
        return self.conversations.join()

    @property
    def empty(self) -> bool:
        return super().empty and self.conversations.state()[0] == 0


class AnswerChecker:
    """Checks answers with the agent of a scheduler. `watchers` are told of each detection."""

    def __init__(self, scheduler: ProxyScheduler, watchers: Sequence[Watcher], metrics: ProxyMetrics) -> None:
        self._scheduler = scheduler
        self._watchers = watchers
        self._metrics = metrics

    async def find(self, asked: AskedQuestion, answer: str, headers: dict[str, str]) -> Finding:
        """Return what a detection finds about an answer. Raises nothing.

        What cannot be checked is unverified: too long, or in a language that is not supported. A check that failed
        leaves it unchecked.
        """
        if not answer.strip():
            return Finding(verdict="no_claim")
        characters = len(answer) + len(asked.question) + len(asked.reference or "")
        if characters > (allowed := self._scheduler.settings.text):
            return Finding(
                verdict="unverified", reason=f"the texts have {characters} characters, and {allowed} are read"
            )
        try:
            finding = finding_of(await self._detect(asked, answer, headers))
        except ConfigError as error:
            return Finding(verdict="unverified", reason=str(error))
        except Exception as error:
            return self._failed(problem_of(error).type)
        return self._failed("model") if finding.verdict == "unchecked" else finding

    def _failed(self, kind: str) -> Finding:
        logger.warning("a check failed: %s", kind)
        self._metrics.count_failure(kind)
        return Finding(verdict="unchecked", reason=f"the check failed: {kind}")

    async def _detect(self, asked: AskedQuestion, answer: str, headers: dict[str, str]) -> Detection:
        watch = Watches(self._watchers, "detect", headers)
        run = following(lambda agent: agent.astream(asked.question, answer, asked.reference or None))
        admitted = self._scheduler.admit()
        ending: Ending = "gone"
        result: Result | None = None
        try:
            result = await admitted.run(run, watch.started, watch.event, asyncio.Event().wait())
            assert isinstance(result, Detection)
            ending = "model" if result.stop == "error" else "done"
            return result
        except Exception as error:
            ending = problem_of(error).ending
            raise
        finally:
            admitted.end()
            watch.ended(
                Outcome(job="detect", ending=ending, waited=admitted.waited, worked=admitted.worked, result=result)
            )
