"""What each endpoint does with a body: the same work, and the same JSON, as the command line."""

import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

from haluagent.agent import HaluAgent
from haluagent.checks.claims import file
from haluagent.checks.claims.check import acheck_claims
from haluagent.checks.claims.records import ClaimReport
from haluagent.checks.faithfulness.check import acheck
from haluagent.checks.faithfulness.records import Faithfulness
from haluagent.checks.runs.forms import reading
from haluagent.checks.runs.gate import acheck_run
from haluagent.checks.runs.records import AgentRun, HallucinationReport
from haluagent.checks.runs.settings import GateSettings
from haluagent.errors import ConfigError
from haluagent.events import Answered, Event
from haluagent.server.bodies import CheckBody, ClaimsBody, ConvertedRunBody, DetectBody, RunOptions, validated
from haluagent.server.watch import Job, Result
from haluagent.types import Detection

MOST_CALLS = 1000  # of a run: holding each against all before it takes time that no deadline ends

Tell = Callable[[Event], None]


@dataclass(frozen=True)
class Work:
    """What a request asks for. `run` does it with an agent and tells of its events; `text` is the JSON of what it gives."""

    run: Callable[[HaluAgent, Tell], Awaitable[Result]]
    text: Callable[[Any], str]


def detect(data: dict[str, Any]) -> Work:
    body = validated(DetectBody, data)
    reference = body.reference if isinstance(body.reference, str) else "\n\n".join(body.reference or [])

    async def run(agent: HaluAgent, tell: Tell) -> Detection:
        # `astream` is declared an iterator; it is a generator, whose closing ends the detection
        events = cast(Any, agent.astream(body.question, body.response, reference or None, body.language))
        async with aclosing(events):
            async for event in events:
                tell(event)
        assert isinstance(event, Answered)
        return event.detection

    return Work(run, Detection.model_dump_json)


def check(data: dict[str, Any]) -> Work:
    body = validated(CheckBody, data)
    documents = body.document if body.documents is None else body.documents
    assert documents is not None

    async def run(agent: HaluAgent, tell: Tell) -> Faithfulness:
        return await acheck(
            agent, body.question, body.answer, documents, mode=body.mode, threshold=body.threshold, language=body.language,
            on_error="raise",
        )  # fmt: skip

    return Work(run, lambda found: _dump(found.published() | found.model_dump(mode="json")))


def claims(data: dict[str, Any]) -> Work:
    body = validated(ClaimsBody, data)
    options = ("format", "aggregator", "checker", "tools", "language")
    item = file.parse({name: value for name, value in data.items() if name not in options}, 1)

    async def run(agent: HaluAgent, tell: Tell) -> ClaimReport:
        return await acheck_claims(
            agent, item.response, item.reference, item.question, claims=item.claims,
            format="triplet" if item.claims and not isinstance(item.claims[0], str) else body.format,
            checker=body.checker, aggregator=body.aggregator, tools=body.tools, language=body.language,
        )  # fmt: skip

    return Work(run, lambda report: _dump(file.with_report(item, report)))


def runs(data: dict[str, Any]) -> Work:
    named = {name: value for name, value in data.items() if name in RunOptions.model_fields}
    options = validated(RunOptions, named)
    recorded = {name: value for name, value in data.items() if name not in named}
    if options.source == "haluagent":
        agent_run = reading.parse(recorded)
    else:
        agent_run = (
            reading.convert(recorded, "detection") if options.source == "detection" else _converted(data, recorded)
        )
    if (calls := sum(len(turn.calls) for turn in agent_run.turns)) > MOST_CALLS:
        raise ConfigError(f"the run has {calls} calls: at most {MOST_CALLS} are checked in one request")
    wanted = options.model_dump(include={"emit", "revise", "block", "base_rate"}, exclude_none=True)
    settings = GateSettings.model_validate(GateSettings.for_task(agent_run.task).model_dump() | wanted)

    async def run(agent: HaluAgent, tell: Tell) -> HallucinationReport:
        return await acheck_run(agent, agent_run, settings=settings, probes=options.probes)

    return Work(run, lambda report: _dump(report.model_dump(mode="json")))


def _converted(data: dict[str, Any], recorded: dict[str, Any]) -> AgentRun:
    body = validated(ConvertedRunBody, data)
    run = reading.convert(recorded, body.source)
    return run.model_copy(update={"task": body.task or run.task, "language": body.language})


def _dump(what: dict[str, Any]) -> str:
    return json.dumps(what, ensure_ascii=False)


JOBS: dict[Job, Callable[[dict[str, Any]], Work]] = {"detect": detect, "check": check, "claims": claims, "runs": runs}
