"""The endpoints that work on a body: the same work, and the same JSON, as the command line."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Body, Response

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
from haluagent.server.bodies import (
    AnyRun,
    CheckBody,
    ClaimsBody,
    ConvertedRunBody,
    DetectBody,
    RecheckBody,
    RunOptions,
    bounded,
    joined,
)
from haluagent.server.endpoint import JobRequest, JobRoute
from haluagent.server.openapi import FOUND, JOB_ERRORS, CheckAnswer, ClaimsAnswer, ErrorAnswer, errors
from haluagent.server.scheduler import Tell, following
from haluagent.types import Detection

router = APIRouter(prefix="/v1", route_class=JobRoute, responses=errors(*JOB_ERRORS) | FOUND)


def _example(**body: Any) -> Any:
    return Body(openapi_examples={"example": {"value": body}})


@router.post(
    "/detect",
    summary="Check a response sentence by sentence",
    response_model=Detection,
    responses={502: errors("model")[502] | {"model": Detection | ErrorAnswer}},
)
async def detect(
    body: Annotated[DetectBody, _example(question="What is 12 times 12?", response="12 times 12 is 146.")],
    request: JobRequest,
) -> Response:
    """Do what `haluagent detect` does. A detection whose model failed is a 502 with what was found until then.

    One that reached the deadline is a 200: what was found until then, with `budget` as its `stop`.
    """
    _check_tools(request, body.tools)
    reference = joined(body.reference)
    run = following(lambda agent: agent.astream(body.question, body.response, reference, body.language), body.tools)
    return await request.answer(run, Detection.model_dump_json)


_SENTENCE = {"index": 1, "text": "12 times 12 is 146.", "span": (0, 19)}
_REPORT = {
    "question": "What is 12 times 12?", "response": "12 times 12 is 146.", "language": "en", "hallucination": False, "score": 0.1,
    "sentences": [{"sentence": _SENTENCE, "label": "supported"}],
}  # fmt: skip


@router.post(
    "/recheck",
    summary="Check one sentence of a report again",
    response_model=Detection,
    responses={502: errors("model")[502] | {"model": Detection | ErrorAnswer}},
)
async def recheck(
    body: Annotated[RecheckBody, _example(detection=_REPORT, sentence=1, tools=["calculator"])], request: JobRequest
) -> Response:
    """Do what `/recheck` of `haluagent chat` does. The report comes back with the new entry in the place of the old one.

    A recheck whose model failed is a 502 with the report as it was, and its `error`.
    """
    _check_tools(request, body.tools)
    reference = joined(body.reference)
    run = following(lambda agent: agent.arecheck(body.detection, body.sentence, reference), body.tools)
    return await request.answer(run, Detection.model_dump_json)


def _check_tools(request: JobRequest, tools: list[str] | None) -> None:
    """Raise ConfigError where there is no tool of such a name, before anything else is done."""
    if tools is not None:
        request.app.state.scheduler.agent.using(*tools)


@router.post("/check", summary="Check an answer against its documents", response_model=CheckAnswer)
async def check(
    body: Annotated[CheckBody, _example(
        question="Who built Harlow Tower?", answer="John Carrick did.", documents=["Mary Ellis built Harlow Tower."]
    )],
    request: JobRequest,
) -> Response:  # fmt: skip
    """Do what `haluagent check` does: PASS where the answer says nothing beyond the documents and nothing against them."""
    documents = body.document if body.documents is None else body.documents
    assert documents is not None

    async def run(agent: HaluAgent, tell: Tell) -> Faithfulness:
        return await acheck(
            agent, body.question, body.answer, documents, mode=body.mode, threshold=body.threshold, language=body.language,
            on_error="raise",
        )  # fmt: skip

    return await request.answer(run, lambda found: _dump(found.published() | found.model_dump(mode="json")))


@router.post("/claims", summary="Check the claims of a response against references", response_model=ClaimsAnswer)
async def claims(
    body: Annotated[ClaimsBody, _example(
        response="Mary Ellis built Harlow Tower.", reference=["Harlow Tower is the work of Mary Ellis."]
    )],
    request: JobRequest,
) -> Response:  # fmt: skip
    """Do what `haluagent claims extract-check` does with an item of RefChecker's file."""
    options = ("format", "aggregator", "checker", "tools", "language")
    fields = {name: value for name, value in request.data.items() if name not in options}
    item = await request.aside(file.parse, fields, 1)

    async def run(agent: HaluAgent, tell: Tell) -> ClaimReport:
        return await acheck_claims(
            agent, item.response, item.reference, item.question, claims=item.claims,
            format="triplet" if item.claims and not isinstance(item.claims[0], str) else body.format,
            checker=body.checker, aggregator=body.aggregator, tools=body.tools, language=body.language,
        )  # fmt: skip

    return await request.answer(run, lambda report: _dump(file.with_report(item, report)))


_CALL = {"id": "c1", "tool": "weather", "arguments": {"city": "Oslo"}, "result": "12 degrees, cloudy"}
_TURNS = [{"role": "user", "text": "How warm is it in Oslo?"}, {"role": "assistant", "calls": [_CALL]}]


@router.post("/runs", summary="Check the run of an agent", response_model=HallucinationReport)
async def runs(
    body: Annotated[
        AnyRun, _example(run_id="r1", tools=[{"name": "weather"}], turns=_TURNS, answer="It is 21 degrees in Oslo.")
    ],
    request: JobRequest,
) -> Response:
    """Do what `haluagent runs check` does: may the answer of the run go out?"""
    options, agent_run = await request.aside(_run, body)
    wanted = options.model_dump(include={"emit", "revise", "block", "base_rate"}, exclude_none=True)
    settings = GateSettings.model_validate(GateSettings.for_task(agent_run.task).model_dump() | wanted)

    async def run(agent: HaluAgent, tell: Tell) -> HallucinationReport:
        return await acheck_run(agent, agent_run, settings=settings, probes=options.probes)

    return await request.answer(run, lambda report: _dump(report.model_dump(mode="json")))


def _run(data: dict[str, Any]) -> tuple[RunOptions, AgentRun]:
    """Return how a run is judged, and the run. Raises ConfigError."""
    named = {name: value for name, value in data.items() if name in RunOptions.model_fields}
    options = RunOptions.model_validate(named)
    recorded = {name: value for name, value in data.items() if name not in named}
    if options.source == "haluagent":
        run = reading.parse(recorded)
    elif options.source == "detection":
        run = reading.convert(recorded, "detection")
    else:
        body = ConvertedRunBody.model_validate(data)
        run = reading.convert(recorded, body.source)
        run = run.model_copy(update={"task": body.task or run.task, "language": body.language})
    return options, bounded(run)


def _dump(what: dict[str, Any]) -> str:
    return json.dumps(what, ensure_ascii=False)
