"""One request on its way through the proxy: what was asked, what was found about the answers, and what became of them."""

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from haluagent.prompts import render
from haluagent.server.problems import HttpProblem
from haluagent.server.proxy.check import AnswerChecker
from haluagent.server.proxy.forms import AnswerForm, Data
from haluagent.server.proxy.metrics import ProxyMetrics
from haluagent.server.proxy.records import AnswerReport, CheckedAnswer, Finding, Handling, flaws, worst
from haluagent.server.proxy.reports import Reports
from haluagent.server.proxy.settings import ProxySettings
from haluagent.server.proxy.sources import asked
from haluagent.text.language import written_in
from haluagent.text.messages import message

SHOWN = 40  # places in the headers and the last event; the report has all
REPORT, VERDICT, HANDLING, SPANS = (f"x-haluagent-{name}" for name in ("report", "verdict", "handling", "spans"))

Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


class Conversation:
    """A request and its answers. `added` counts the seconds that the answers waited for the proxy."""

    def __init__(
        self,
        form: AnswerForm,
        request: Data,
        settings: ProxySettings,
        checker: AnswerChecker,
        headers: dict[str, str],
    ) -> None:
        self.form, self.request, self.rules = form, request, settings.rules
        self.asked = asked(form.messages(request), settings.reference)
        self.language = written_in(self.asked.question)
        self.report_id = Reports.new_id()
        self.answers: dict[str, CheckedAnswer] = {}
        self.first: dict[str, CheckedAnswer] = {}
        self.added = 0.0
        self._checker = checker
        self._headers = headers

    async def find(self, text: str) -> Finding:
        """Return what is found about a text of an answer."""
        began = time.monotonic()
        try:
            return await self._checker.find(self.asked, text, self._headers)
        finally:
            self.added += time.monotonic() - began

    async def check(self, texts: Mapping[str, str]) -> None:
        """Check complete answers, one after the other, and decide what is sent."""
        self.answers = {}
        for choice, text in texts.items():
            self.decide(choice, text, await self.find(text))

    def decide(self, choice: str, text: str, finding: Finding, released: str = "") -> None:
        """Note what was found about an answer. Where it may not go out, what was `released` and a refusal are sent."""
        sent = None
        if not self.rules.allows(finding.verdict, revised=bool(self.first)):
            sent = released + self.refusal(finding, bool(released.strip()))
        self.answers[choice] = CheckedAnswer(choice=choice, text=text, finding=finding, sent=sent)

    def refusal(self, finding: Finding, begun: bool) -> str:
        """Return the refusal in the language of the question; a part of the answer may have gone out before it."""
        kind = "runs.refusal.failed" if finding.verdict == "unchecked" else "runs.refusal.claims"
        gap = "\n\n" if begun else ""
        return gap + message("proxy.rest" if begun else kind, self.language)

    @property
    def sent(self) -> dict[str, str]:
        """Return what is sent in the place of blocked answers."""
        return {choice: answer.sent for choice, answer in self.answers.items() if answer.sent is not None}

    def again(self) -> Data | None:
        """Return the request for a second try, with what was found about the first answer that may not go out; None where
        there is none, or where its check failed."""
        for answer in self.answers.values():
            if answer.sent is not None and answer.finding.verdict != "unchecked":
                return self.form.again(self.request, answer.text, self._feedback(answer.finding))
        return None

    def _feedback(self, finding: Finding) -> str:
        held = ("contradicted",) if self.rules.on_unverified == "pass" else ("contradicted", "unverified")
        entries = [entry for entry in finding.sentences if entry.label in held]
        return render("revise", self.language, entries=entries)

    def report(self) -> AnswerReport:
        """Return the report as far as the request has come."""
        answers = tuple(self.answers.values())
        handling: Handling = "blocked" if self.sent else "revised" if self.first else "passed"
        return AnswerReport(
            id=self.report_id,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            api=self.form.api,
            handling=handling,
            verdict=worst(answer.finding.verdict for answer in answers),
            question=self.asked.question,
            answers=answers,
            first=tuple(self.first.values()),
            added_seconds=round(self.added, 3),
        )


def summary(report: AnswerReport) -> Data:
    """Return what a client is told in the last event of a stream."""
    spans = [flaw.model_dump(mode="json") for flaw in flaws(report.answers)[:SHOWN]]
    return {"report": report.id, "verdict": report.verdict, "handling": report.handling, "spans": spans}


def headers_of(report: AnswerReport) -> dict[str, str]:
    """Return the same for the headers of a complete answer."""
    told = summary(report)
    spans = json.dumps(told["spans"], separators=(",", ":"))
    return {REPORT: report.id, VERDICT: report.verdict, HANDLING: report.handling, SPANS: spans}


class Desk:
    """Where conversations end: keeps their reports, counts and logs them."""

    def __init__(self, reports: Reports, metrics: ProxyMetrics) -> None:
        self.reports, self._metrics = reports, metrics

    async def file(self, conversation: Conversation) -> AnswerReport:
        """Keep, count and log the report of a conversation. A folder that takes no report holds no answer up."""
        report = conversation.report()
        self._metrics.count_report(report)
        logger.info(
            "%s %s %s %.3f s added %s", report.api, report.verdict, report.handling, report.added_seconds, report.id
        )
        try:
            await self.reports.keep(report)
        except OSError as error:
            self.failed("report", f"a report could not be written: {error.strerror}")
        return report

    def failed(self, kind: str, why: str) -> None:
        """Count and log what failed."""
        logger.warning("%s", why)
        self._metrics.count_failure(kind)


async def settle(
    conversation: Conversation,
    desk: Desk,
    first: Answer,
    texts: Callable[[Answer], Mapping[str, str]],
    ask: Callable[[Data], Awaitable[Answer]],
) -> Answer:
    """Check an answer, and return it, or the second one that `ask` gives where the policy wants one.

    A second try that fails leaves it at the first answer, which is blocked.
    """
    await conversation.check(texts(first))
    request = conversation.again() if conversation.rules.policy == "revise" else None
    if request is None:
        return first
    began = time.monotonic()
    try:
        second = await ask(request)
    except HttpProblem as problem:
        desk.failed("upstream", str(problem))
        return first
    finally:
        conversation.added += time.monotonic() - began
    conversation.first = conversation.answers
    await conversation.check(texts(second))
    return second
