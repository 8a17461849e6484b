"""Labelled claims of one's own as pairs for a calibration."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from haluagent.corpora.pairs import LabelledPair, Use, digest
from haluagent.errors import ConfigError
from haluagent.text.segment import split
from haluagent.train.trajectories.judgements import Outcome, TaughtClaim, read
from haluagent.types import Detection, MemoryEntry

FEWEST = 50  # claims from which a curve is fitted
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


def pairs(paths: Iterable[Path]) -> list[LabelledPair]:
    """Return the claims of the files, and of the `.jsonl` files in the directories, as pairs: those of one text stand side
    by side, so that it is read once. Of several labels of one claim the last counts. Raises ConfigError if a file cannot be
    read, or if there are claims and fewer than `FEWEST`, or all of them are right or wrong."""
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    claims = list({(one.question, one.claim, one.text): one for file in files for one in read(file)}.values())
    counts = Counter(claim.label == "supported" for claim in claims)
    if claims and (len(claims) < FEWEST or len(counts) < 2):
        raise ConfigError(
            f"{', '.join(map(str, files))}: {counts[True]} right claims and {counts[False]} others are too few to fit "
            f"anything to; give at least {FEWEST}, with both kinds among them"
        )
    return [_pair(claim) for claim in sorted(claims, key=lambda claim: digest(claim.text))]


def labelled(detection: Detection, entry: MemoryEntry, reference: str, label: Outcome) -> TaughtClaim:
    """Return a sentence of a detection as a labelled claim beside its reference. The question is kept where it was judged as
    an answer to it, which a sentence of several is not."""
    answers = sum(one.sentence.index > 0 for one in detection.sentences) == 1
    return TaughtClaim(
        id=digest(f"{detection.question} {entry.sentence.claim} {label} {reference}").hex()[:16], source="own",
        language=detection.language, question=detection.question if answers else "", claim=entry.sentence.claim,
        text=reference, label=label,
    )  # fmt: skip


def _pair(claim: TaughtClaim) -> LabelledPair:
    """Return a claim as a pair; what its text does not mention counts as a text that decides nothing."""
    answers = bool(claim.question.strip()) and len(split(claim.claim)) == 1
    use: Use = "search" if claim.label == "not_in_reference" else "answer" if answers else "statement"
    text = digest(claim.text)
    return LabelledPair(
        id=f"{claim.source}:{claim.id}", group=text.hex()[:16], language=claim.language, use=use,
        kind=claim.kind or claim.source, question=claim.question, claim=claim.claim, wrong=claim.label == "contradicted",
        half=text[0] % 2, reference=claim.text,
    )  # fmt: skip
