"""Files of answers with their documents: JSON lines, CSV or Parquet in, the same with the verdicts out; a stopped run can
be resumed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from haluagent.agent import HaluAgent
from haluagent.batch.files import CarryingRow, Id, Kind, item_file, output_file, parsed, run_lines
from haluagent.batch.pool import Bounds
from haluagent.batch.results import Added
from haluagent.batch.tables import FileFormat
from haluagent.checks.faithfulness.records import Faithfulness, Score
from haluagent.checks.faithfulness.steady import acheck_steadily
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


ADDED: Added = {"verdict": str, "score": float, "reasons": str, "error": str}


def verdict(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns `ADDED` of a line of the output; the reasons are bullet points, a line each."""
    error = row.get("error") or (row.get("check") or {}).get("error")
    reasons = "\n".join(f"• {reason}" for reason in row.get("REASONING") or ())
    return {"verdict": row.get("SCORE"), "score": row.get("score"), "reasons": reasons, "error": error}


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
    columns: Mapping[str, str] | None = None,
    format: FileFormat | None = None,
) -> str | None:
    """Check the rows of `source` that `out` does not hold yet; see `haluagent.batch.files.run_lines`.

    `options` are keyword arguments of `acheck_steadily`. `columns` are the names of question, answer, documents or id in the file;
    `format` is that of files whose ending names none.
    """

    async def judge(agent: HaluAgent, line: str, number: int, digest: str) -> CheckRow:
        item = parsed(CheckItem, line, FORM)
        found = await acheck_steadily(agent, item.question, item.answer, item.documents, on_error="raise", **options)
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
        item_file(CheckItem, source, format, columns),
        output_file(out, format, source),
        agents,
        Kind(CheckItem, CheckRow, ADDED, verdict),
        judge,
        in_flight=in_flight,
        bounds=bounds,
        again=again,
        progress=progress,
    )
