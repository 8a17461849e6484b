"""Files of answers with their documents: JSON lines in, JSON lines out with REASONING and SCORE; a stopped run can be
resumed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from haluagent.agent import HaluAgent
from haluagent.batch.files import CarryingRow, Id, parsed, run_lines
from haluagent.batch.pool import Bounds
from haluagent.checks.faithfulness.check import acheck
from haluagent.checks.faithfulness.records import Faithfulness, Score
from haluagent.types import Usage

FORM = "{question?, answer or response, document, documents, reference, context or passage: a text or a list, id?}"


class CheckItem(BaseModel):
    """A line of the input, including the field names that others use. Other fields of the line, such as a label, are
    carried through to its result."""

    model_config = ConfigDict(frozen=True)

    question: str | None = None
    answer: str = Field(validation_alias=AliasChoices("answer", "response"))
    documents: str | list[str] = Field(
        validation_alias=AliasChoices("documents", "document", "reference", "context", "passage")
    )
    id: Id | None = None


class CheckRow(CarryingRow):
    """A line of the output.

    `SCORE` is None if nothing was decided. The reason is in `error` if the line could not be checked at all, else in
    `check.error`.
    """

    REASONING: tuple[str, ...] = ()
    SCORE: Score | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    error: str | None = None
    check: Faithfulness | None = None

    @property
    def usage(self) -> Usage:
        return self.check.usage if self.check else Usage()


def run(
    source: Path,
    out: Path,
    agents: list[HaluAgent],
    options: dict[str, Any],
    *,
    in_flight: int = 1,
    bounds: Bounds | None = None,
    again: bool = False,
    progress: Callable[[CheckRow], None] = lambda row: None,
) -> str | None:
    """Check the lines of `source` that `out` does not hold yet; see `haluagent.batch.files.run_lines`.

    `options` are keyword arguments of `acheck`.
    """

    async def judge(agent: HaluAgent, line: str, number: int, digest: str) -> CheckRow:
        item = parsed(CheckItem, line, FORM)
        found = await acheck(agent, item.question, item.answer, item.documents, on_error="raise", **options)
        return CheckRow(
            line=number,
            digest=digest,
            id=item.id,
            REASONING=found.reasoning,
            SCORE=found.verdict,
            score=found.score,
            check=found,
        )

    return run_lines(
        source,
        out,
        agents,
        CheckItem,
        CheckRow,
        judge,
        in_flight=in_flight,
        bounds=bounds,
        again=again,
        progress=progress,
    )
