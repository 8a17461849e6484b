"""Strip the texts from a run so that it can be shared: the licences of most sets do not allow sharing them."""

import gzip
from pathlib import Path

from haluagent.bench.rows import Row, read
from haluagent.errors import ConfigError
from haluagent.types import Detection, Evidence, MemoryEntry, Step


def strip(run: Path, out: Path) -> int:
    """Write the rows of a run to `out` (gzip, byte-identical for the same run) without any text of an item or a model,
    and return their number. What remains is enough for all figures: labels, scores, costs, and which tool was called
    with what success. Raises ConfigError if a file cannot be read or written."""
    if out.suffix != ".gz":
        raise ConfigError(f"{out}: name the copy with .jsonl.gz, so that `bench report` reads it")
    if out.exists() and out.samefile(run):
        raise ConfigError(f"{out} is the run itself: name another file for the copy")
    about, rows = read(run)
    lines = [about.model_dump_json(), *(without_texts(row).model_dump_json(exclude_defaults=True) for row in rows)]
    data = gzip.compress("".join(line + "\n" for line in lines).encode(), mtime=0)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(data)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error}") from error
    return len(rows)


def without_texts(row: Row) -> Row:
    """Return the row with every text of its detection emptied; spans, labels and figures stay. An error message may
    quote a text, so it is replaced by "failed"."""
    return row.model_copy(
        update={
            "error": "failed" if row.error else None,
            "detection": row.detection and _detection(row.detection),
        }
    )


def _detection(found: Detection) -> Detection:
    return found.model_copy(
        update={
            "question": "",
            "response": "",
            "error": "failed" if found.error else None,
            "sentences": tuple(map(_entry, found.sentences)),
            "steps": tuple(map(_step, found.steps)),
        }
    )


def _entry(entry: MemoryEntry) -> MemoryEntry:
    revised = entry.revised_from and entry.revised_from.model_copy(update={"reason": ""})
    sentence = entry.sentence.model_copy(update={"text": "", "standalone": None})
    return entry.model_copy(
        update={
            "sentence": sentence,
            "reason": "",
            "revised_from": revised,
            "evidence": tuple(map(_evidence, entry.evidence)),
            "parts": tuple(
                part.model_copy(update={"evidence": tuple(map(_evidence, part.evidence))}) for part in entry.parts
            ),
        }
    )


def _evidence(one: Evidence) -> Evidence:
    return one.model_copy(update={"text": "", "url": None})


def _step(step: Step) -> Step:
    call = step.call and step.call.model_copy(update={"arguments": {}})
    result = step.result and step.result.model_copy(
        update={"observation": "", "evidence": tuple(map(_evidence, step.result.evidence))}
    )
    return step.model_copy(
        update={"thought": "", "call": call, "result": result, "error": "failed" if step.error else None}
    )
