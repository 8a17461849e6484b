"""The tools that a client may call: what it is told of each, what a call takes, and what it gives."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import Field, PlainValidator

from haluagent.agent import HaluAgent
from haluagent.checks.claims.check import acheck_claims
from haluagent.checks.claims.records import ClaimReport
from haluagent.checks.faithfulness.check import acheck, text_of
from haluagent.checks.faithfulness.records import Faithfulness, Mode
from haluagent.checks.runs.calls.ahead import GrowingRun
from haluagent.checks.runs.forms import reading
from haluagent.checks.runs.records import AgentRun, ToolCallValidation, ToolUse
from haluagent.errors import ConfigError
from haluagent.events import Answered, Event
from haluagent.protocols import SearchResult
from haluagent.report.lines import Line
from haluagent.sandbox.worker.work import as_work
from haluagent.server.bodies import LANGUAGE, QUESTION, Choice, DetectBody, StrictBody, Text, Texts, bounded, parsed
from haluagent.server.mcp import texts
from haluagent.text import language as languages
from haluagent.types import Detection, Language, Record

Report = Callable[[Event], Awaitable[None]]  # tells the client of an event, as progress

INSTRUCTIONS = """\
HaluAgent checks what a language model is about to say. Call `detect` with a draft answer before you send it: give the texts that \
it rests on as `reference`, where there are any. `check` says in one verdict whether an answer keeps to documents, `claims` takes it \
claim by claim, `verify_call` checks the arguments of a tool call before it is made, and `search_documents` finds passages in the \
user's own documents. Correct what is contradicted or invented. What is unverified or undecided was not shown to be right: do \
not call it checked."""


class CheckInput(StrictBody):
    """An answer, and the documents that it should rest on."""

    answer: Text = Field(description="a text that is not blank: the answer to check")
    documents: Texts = Field(description="a text, or a list of texts: what the answer rests on")
    question: str | None = QUESTION
    mode: Mode = Field(default="fast", description="fast, judge (gives reasons) or agent (claim by claim, with tools)")
    language: Choice = LANGUAGE


class ClaimsInput(StrictBody):
    """A response, and the references that its claims are held against."""

    response: Text = Field(description="a text that is not blank: its claims are checked")
    references: Texts | None = Field(
        default=None, description="a text, or a list of texts; left out, they are searched for in the documents"
    )
    question: str | None = QUESTION
    language: Choice = LANGUAGE


class UnfinishedRun(AgentRun):
    """A run that has no answer yet."""

    run_id: str = ""
    answer: str = ""


class ProposedCall(Record):
    """A call that an agent wants to make."""

    tool: str
    arguments: dict[str, Any] | str


def unquoted(data: Any) -> Any:
    """Return what a string of JSON holds: models and clients often send an object inside an object as text. Anything else is returned
    as it is."""
    try:
        return parsed(data) if isinstance(data, str) else data
    except (ValueError, RecursionError):
        return data


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ValueError("it is not an object")
    return data


class CallInput(StrictBody):
    """A call, and the run before it. The run is read by the code that reads its files, whose errors name the place."""

    run: Annotated[dict[str, Any], PlainValidator(_object, json_schema_input_type=UnfinishedRun)] = Field(
        description="an object: the run before the call, with the system prompt, the tools that are offered (with the JSON Schema of "
        "their parameters) and the turns, each of the user or of the assistant, whose calls have their results",
    )
    call: ProposedCall = Field(description="an object: the tool that is to be called, and its arguments")


class SearchInput(StrictBody):
    """What to look for in the documents."""

    query: Text = Field(description="a text that is not blank: a question or some words")
    limit: int = Field(default=5, ge=1, le=20, description="a whole number from 1 to 20: passages at most")


class FoundDocuments(Record):
    """The passages that a search found, best first."""

    query: str
    results: tuple[SearchResult, ...]


async def detect(agent: HaluAgent, body: DetectBody, report: Report) -> Detection:
    """Return the report on a response, without the agent's steps."""
    reference = text_of(body.reference or "") or None
    # `astream` is declared an iterator; it is a generator, whose closing ends the detection
    events = cast(Any, agent.astream(body.question, body.response, reference, body.language))
    async with aclosing(events):
        async for event in events:
            await report(event)
    assert isinstance(event, Answered)
    return event.detection.model_copy(update={"steps": ()})


async def check(agent: HaluAgent, body: CheckInput, report: Report) -> Faithfulness:
    """Return the verdict on an answer. Raises ModelError if the model fails."""
    return await acheck(
        agent, body.question, body.answer, body.documents, mode=body.mode, language=body.language, on_error="raise"
    )


async def claims(agent: HaluAgent, body: ClaimsInput, report: Report) -> ClaimReport:
    """Return a response's claims with their labels. Raises ModelError if the model fails."""
    return await acheck_claims(agent, body.response, body.references, body.question, language=body.language)


@as_work
async def verify_call(agent: HaluAgent, body: CallInput, report: Report) -> ToolCallValidation:
    """Return what is to be said of a call that is not made yet. No model is asked."""
    run = bounded(reading.parse({"run_id": "", "answer": ""} | body.run))
    call = ToolUse(id="", tool=body.call.tool, arguments=body.call.arguments)
    return await asyncio.to_thread(GrowingRun().validate, run, call)


async def search_documents(agent: HaluAgent, body: SearchInput, report: Report) -> FoundDocuments:
    """Return the passages that a search finds. Raises ConfigError where there is none, SearchError where it failed."""
    search = agent.services.search
    if search is None:
        raise ConfigError(
            "there are no documents to search: add some with `haluagent index add PATH`, or name a search with --search, and "
            "start this server again"
        )
    language: Language = languages.written_in(body.query)
    return FoundDocuments(query=body.query, results=tuple(await search.search(body.query, body.limit, language)))


@dataclass(frozen=True)
class McpTool:
    """A tool of the server. `queued` is whether a call waits for its turn and for the model; `text` gives what a model reads;
    `objects` are arguments that may come as the text of a JSON object."""

    description: str
    input: type[StrictBody]
    output: type[Record]
    run: Callable[[HaluAgent, Any, Report], Awaitable[Any]]
    text: Callable[[Any], Iterator[Line]]
    queued: bool = True
    objects: tuple[str, ...] = ()


TOOLS: dict[str, McpTool] = {
    "detect": McpTool(
        "Check a response sentence by sentence: each is supported, contradicted, unverified or claims nothing, with the evidence. "
        "Arithmetic, dates, counts, code and translations are worked out; other statements are compared with `reference` or "
        "with what a search finds.",
        DetectBody, Detection, detect, texts.of_detection,
    ),
    "check": McpTool(
        "Decide whether an answer is faithful to documents: PASS, or FAIL where it says something beyond them or against them.",
        CheckInput, Faithfulness, check, texts.of_check,
    ),
    "claims": McpTool(
        "Split a response into claims and label each one against references: Entailment, Neutral (they do not say) or "
        "Contradiction, with citations.",
        ClaimsInput, ClaimReport, claims, texts.of_claims,
    ),
    "verify_call": McpTool(
        "Check a tool call before it is made: does it fit the tool's schema, and does every id, address, date and number in it come "
        "from the run? A call that is `invalid` or `fabricated` should not be made; `unverified` is not a yes.",
        CallInput, ToolCallValidation, verify_call, texts.of_call, queued=False, objects=("run", "call"),
    ),
    "search_documents": McpTool(
        "Find passages in the user's documents.",
        SearchInput, FoundDocuments, search_documents, lambda found: texts.of_documents(found.results), queued=False,
    ),
}  # fmt: skip
