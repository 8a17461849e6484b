"""Labelled claims of one's own as pairs for a calibration."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from haluagent.corpora.pairs import LabelledPair, Use, digest
from haluagent.errors import ConfigError
from haluagent.text.segment import split
from haluagent.train.trajectories.judgements import TaughtClaim, read

FEWEST = 50  # claims from which a curve is fitted


def pairs(paths: Iterable[Path]) -> list[LabelledPair]:
    """Return the claims of the files, and of the `.jsonl` files in the directories, as pairs: those of one text stand side
    by side, so that it is read once. Raises ConfigError if a file cannot be read, or if there are claims and fewer than
    `FEWEST`, or all of them are right or wrong."""
    files = [file for path in paths for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])]
    claims = [claim for file in files for claim in read(file)]
    counts = Counter(claim.label == "supported" for claim in claims)
    if claims and (len(claims) < FEWEST or len(counts) < 2):
        raise ConfigError(
            f"{', '.join(map(str, files))}: {counts[True]} right claims and {counts[False]} others are too few to fit "
            f"anything to; give at least {FEWEST}, with both kinds among them"
        )
    return [_pair(claim) for claim in sorted(claims, key=lambda claim: digest(claim.text))]


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
