"""Files of answers with their documents: JSON lines in, JSON lines out with REASONING and SCORE, and a run that goes on where
it was stopped."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticSerializationError

from ..agent import HaluAgent
from ..batch import digest_of, finished, id_of, lines, same, utf8
from ..bulk import Bounds, Job, work
from ..errors import ConfigError
from ..journal import Journal
from ..types import Record, Usage
from .check import acheck
from .records import Faithfulness, Score

FORM = "{question, answer or response, document, documents, reference, context or passage: a text or a list, id?}"


class CheckItem(BaseModel):
    """A line of the input, under the names that others use as well. What else stands in a line (a label) is not read."""

    model_config = ConfigDict(frozen=True)

    question: str
    answer: str = Field(validation_alias=AliasChoices("answer", "response"))
    documents: str | list[str] = Field(
        validation_alias=AliasChoices("documents", "document", "reference", "context", "passage")
    )
    id: str | int | None = None


class CheckRow(Record):
    """A line of the output: `line` counts the input's lines from 1. `SCORE` is None where nothing was decided: `error` where
    the line could not be checked at all, else `check.error`, says why."""

    line: int
    digest: str = ""
    id: str | int | None = None
    REASONING: tuple[str, ...] = ()
    SCORE: Score | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    error: str | None = None
    check: Faithfulness | None = None

    @property
    def usage(self) -> Usage:
        return self.check.usage if self.check else Usage()


def parse(line: str) -> CheckItem:
    """An item of the input. Raises ConfigError with one line that says what is wrong with it."""
    try:
        item = CheckItem.model_validate(json.loads(line))
        item.model_dump_json()
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the line"
        raise ConfigError(f"{field}: {first['msg']}; an item is {FORM}") from None
    except PydanticSerializationError:
        raise ConfigError("a text holds half a character (a lone surrogate), which cannot be written") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}") from None
    return item


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
    """Check the lines of `source` that `out` does not hold yet, and append each result as it comes, as `haluagent.batch.run`
    does. `options` are keywords of `acheck`.

    Returns None where all is done, else what ended it. Raises ConfigError where a file cannot be read or written,
    ModelError where no endpoint answers any more.
    """
    wanted = lines(source)
    if out.exists() and out.samefile(source):
        raise ConfigError(f"{out} is the input: name another file for the results")
    with Journal(out) as journal:
        before = finished(out)
        same(source, out, before)
        done = {row.line for row in before if not (again and row.failed)}

        def keep(row: CheckRow) -> None:
            journal.append(row.model_dump_json())
            progress(row)

        jobs = (_job(number, line, options) for number, line in wanted if number not in done)
        return asyncio.run(work(jobs, agents, keep, in_flight=in_flight, bounds=bounds))


def _job(number: int, line: str, options: dict[str, Any]) -> Job[CheckRow]:
    digest = digest_of(line)

    async def judge(agent: HaluAgent) -> CheckRow:
        item = parse(utf8(line))
        found = await acheck(agent, item.question, item.answer, item.documents, on_error="raise", **options)
        return CheckRow(
            line=number, digest=digest, id=item.id, REASONING=found.reasoning, SCORE=found.verdict, score=found.score, check=found
        )

    return Job(judge, lambda error: CheckRow(line=number, digest=digest, id=id_of(line), error=error))
