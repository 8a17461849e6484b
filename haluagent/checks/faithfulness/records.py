"""The record of a faithfulness check, in the terms of Lynx (Ravi et al. 2024)."""

from typing import Any, Literal

from haluagent.types import Evidence, Language, Record, Usage

Mode = Literal["fast", "judge", "agent"]
Score = Literal["PASS", "FAIL"]


class Faithfulness(Record):
    """The verdict on an answer: a faithful one says nothing that the documents do not say, and nothing against them.

    `verdict` is None if nothing could be decided; `error` then says why. `score` in [0, 1] is the probability of FAIL.
    `reasoning` holds bullet points. `evidence` holds places in the documents, joined as `text_of(documents)` joins
    them; the reasoning names the sentences of the answer that they decide. `coverage` in [0, 1] is the share of the
    documents' characters that was read.
    """

    question: str
    answer: str
    language: Language
    mode: Mode
    verdict: Score | None
    score: float
    reasoning: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    coverage: float = 1.0
    usage: Usage = Usage()
    seconds: float = 0.0
    error: str | None = None

    def published(self) -> dict[str, Any]:
        """Return the two fields that Lynx writes."""
        return {"REASONING": list(self.reasoning), "SCORE": self.verdict}
