"""Labelled pairs of a claim and a text, made from published questions and answers, for the calibration of `match`.

CMRC 2018 (Cui et al. 2019) provides Chinese passages with questions and answers, the generated part of HaluEval-QA (Li
et al. 2023) English ones; Ape210K and GSM8K provide problems whose premises a solution repeats. Right and wrong claims
are made in pairs of one form, so that neither length nor wording gives the label away.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from haluagent.corpora import claims, passages
from haluagent.corpora.claims import ClaimPair
from haluagent.corpora.passages import Passage, Search
from haluagent.types import Language, Record

SEED = 2018

Use = Literal["answer", "statement", "consistency", "search", "results", "reasons", "relevance", "authentic"]
USES: tuple[Use, ...] = ("answer", "statement", "consistency", "search")  # those made from published passages


class LabelledPair(Record):
    """A claim, and the text that it is compared with.

    `group` names the passage that the claim was made from. The text is `reference`; if that is empty (in
    `consistency`), it is `before`, the part of the response before the claim, or else the question. `wrong` says that
    the claim is inconsistent with its passage.

    In the use `search`, the reference is another text on the same topic and decides nothing; in `results`, it is the
    result of a tool, as `runs.evidence` reads it; `reasons` are pairs judged after the model wrote its reasons;
    `relevance` and `authentic` are about tool calls (`tool_pairs`). A passage with all of its pairs is in `half` 0 or
    1, so that one half can test what was fitted to the other.
    """

    id: str
    group: str
    language: Language
    use: Use
    kind: str
    question: str
    claim: str
    wrong: bool
    half: int
    reference: str = ""
    before: str = ""


def make(directory: Path, limit: int = 48, seed: int = SEED) -> list[LabelledPair]:
    """Return at most `limit` pairs for each use and language, half of them wrong; the same ones for the same files.

    The pairs of a passage are adjacent, so that an engine with a prefix cache reads it once. A greater limit adds pairs
    without changing the others. Raises ConfigError if a file is missing or cannot be read.
    """
    pairs: list[LabelledPair] = []
    for language in passages.LANGUAGES:
        known = sorted(passages.load(directory, language), key=lambda one: digest(f"{seed}:{one.name}"))
        index = Search(known)
        texts, problems = ([one for one in known if one.problem is problem] for problem in (False, True))
        pairs += _most(texts, index, seed, dict.fromkeys(USES, limit) | {"consistency": limit - limit // 4 * 2})
        pairs += _most(problems, index, seed, {"consistency": limit // 4 * 2})
    return pairs


def _most(known: Sequence[Passage], index: Search, seed: int, most: dict[Use, int]) -> Iterator[LabelledPair]:
    """Yield the pairs of the passages in order, at most `most` of them for each use."""
    count: Counter[Use] = Counter()
    for number, passage in enumerate(known):
        for pair in _of(passage, index, random.Random(f"{seed}:{passage.name}"), number % 2):
            if count[pair.use] < most[pair.use]:
                count[pair.use] += 1
                yield pair
        if all(count[use] >= most[use] for use in most):
            return


def short(seed: int = SEED) -> Iterator[LabelledPair]:
    """Yield pairs with short texts written for this purpose (`roles.jsonl`): the answer to one question about a text is
    wrong for the other. Without them, the curves are biased towards long passages."""
    for number, passage in enumerate(passages.roles("haluagent.corpora")):
        for place, asked in enumerate(passage.asked):
            name = f"{passage.name}:{place}"
            both = claims.answer(passage.model_copy(update={"asked": (asked,)}), random.Random(f"{seed}:{name}"))
            if both:
                yield from _both(passage, name, "answer", both, number % 2)


def reasoned(known: Sequence[LabelledPair], limit: int) -> list[LabelledPair]:
    """Return at most `limit` of the pairs that a document decides for each language, to be judged after reasons."""
    found: list[LabelledPair] = []
    for language in passages.LANGUAGES:
        own = [pair for pair in known if pair.language == language and pair.use == "answer"][:limit]
        found += [pair.model_copy(update={"id": f"{pair.id}:reasons", "use": "reasons"}) for pair in own]
    return found


def digest(name: str) -> bytes:
    """Return the SHA-256 of a name, used as a reproducible random order."""
    return hashlib.sha256(name.encode()).digest()


def _of(passage: Passage, index: Search, chance: random.Random, half: int) -> Iterator[LabelledPair]:
    """Yield the pairs made from one passage: for each use, a right claim and a wrong one, or none."""
    made: dict[Use, ClaimPair | None]
    if passage.problem:
        made = {"consistency": claims.premise(passage, chance)}
    else:
        made = {
            "answer": claims.answer(passage, chance),
            "statement": claims.statement(passage, chance),
            "search": claims.search(passage, index, chance),
            "consistency": claims.consistency(passage, chance),
        }
    for use, both in made.items():
        if both:
            yield from _both(passage, passage.name, use, both, half)


def _both(passage: Passage, name: str, use: Use, both: ClaimPair, half: int) -> Iterator[LabelledPair]:
    for wrong in (False, True):
        yield LabelledPair(
            id=f"{name}:{use}:{'wrong' if wrong else 'right'}",
            group=passage.name,
            language=passage.language,
            use=use,
            kind=both.kind,
            question=both.question,
            claim=both.wrong if wrong else both.right,
            wrong=wrong,
            half=half,
            reference=both.reference,
            before=both.before,
        )
