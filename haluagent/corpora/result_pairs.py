"""Labelled pairs of a claim and a tool result, made to fit the curves for `results`.

Each kind of result has claims in pairs of one form, one of them wrong, so that neither length nor wording gives the
label away. Results are presented as in the check of a run: the JSON as lines, followed by what the claims derive from
it (`runs.ground`).
"""

import json
import random
from collections.abc import Callable, Iterator

from haluagent.checks.claims.records import Claim
from haluagent.checks.runs.answers.evidence import evidence_of
from haluagent.checks.runs.answers.ground import explain
from haluagent.checks.runs.records import AgentRun, ToolUse, Turn
from haluagent.corpora import result_pairs_en, result_pairs_zh
from haluagent.corpora.pairs import SEED, LabelledPair
from haluagent.corpora.result_pairs_en import Looked
from haluagent.types import Language

_KINDS: dict[Language, tuple[Callable[[random.Random], Looked], ...]] = {
    "en": result_pairs_en.KINDS,
    "zh": result_pairs_zh.KINDS,
}


def make(seed: int = SEED) -> list[LabelledPair]:
    """Return all pairs, those of one result adjacent; the same ones for the same seed."""
    return [
        pair
        for language, kinds in _KINDS.items()
        for number, kind in enumerate(kinds)
        for pair in _of(kind, language, number, seed)
    ]


def _of(kind: Callable[[random.Random], Looked], language: Language, number: int, seed: int) -> Iterator[LabelledPair]:
    """Yield the pairs of one result. Kinds alternate between the halves, so that one half tests what was fitted to the
    other."""
    name = f"results:{language}:{kind.__name__}"
    looked = kind(random.Random(f"{seed}:{name}"))
    result = looked.result if isinstance(looked.result, str) else json.dumps(looked.result, ensure_ascii=False)
    call = ToolUse(id="c1", tool=looked.tool, arguments=looked.arguments, result=result)
    for wrong in (False, True):
        claims = [pair[wrong] for pair in looked.claims]
        run = AgentRun(
            run_id=name, turns=(Turn(role="assistant", calls=(call,)),), answer="; ".join(claims), language=language
        )
        evidence = evidence_of(run)
        explain(evidence, [Claim(content=claim) for claim in claims], run, "")
        for at, claim in enumerate(claims):
            yield LabelledPair(
                id=f"{name}:{at}:{'wrong' if wrong else 'right'}", group=name, language=language, use="results", kind=kind.__name__,
                question="", claim=claim, wrong=wrong, half=number % 2, reference=evidence.text,
            )  # fmt: skip
