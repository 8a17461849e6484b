"""A cross-encoder behind vLLM's `/v1/score`, for the checker `nli`.

vLLM serves there models with one output, such as those fine-tuned to tell whether a text supports a claim. The score is taken for the
probability of an Entailment, and its complement for that of a Neutral: a single score cannot tell a Contradiction.
https://docs.vllm.ai/en/latest/models/pooling_models/scoring/
"""

import httpx

from haluagent.checks.claims.nli_windows import LONGEST, WINDOWS, Shares, most_like, too_long
from haluagent.errors import ConfigError, ModelError
from haluagent.models.discovery import discover
from haluagent.models.endpoint import is_local, normalize, read_object
from haluagent.models.fields import list_in
from haluagent.text.failures import describe
from haluagent.types import Span

TIMEOUT = 60.0  # seconds per request
MARGIN = 16  # tokens that a template adds


class ScoreEndpoint:
    """The model that a server lists first. The server has to be one that needs no key.

    Windows are cut by characters, two a token at least, or one in a text with Chinese characters.
    """

    def __init__(self, base_url: str) -> None:
        served = discover(base_url)
        if not served.models:
            raise ConfigError(f"{base_url} lists no model: give the address of a server with /v1/models and /v1/score")
        self.model = served.models[0]
        self.limit = served.context or LONGEST
        self.url = normalize(base_url) + "/score"
        self.client = httpx.Client(timeout=TIMEOUT, trust_env=not is_local(base_url))

    def windows(self, passage: str, claim: str) -> tuple[list[tuple[Span, Shares]], bool]:
        places = _windows(passage, claim, self.limit)
        chosen = most_like(places, passage, claim)
        scores = self._scores([passage[slice(*place)] for place in chosen], claim)
        shares: list[Shares] = [{"Entailment": score, "Neutral": 1 - score} for score in scores]
        return list(zip(chosen, shares, strict=True)), len(places) <= WINDOWS

    def _scores(self, premises: list[str], claim: str) -> list[float]:
        body = {"model": self.model, "text_1": premises, "text_2": [claim] * len(premises)}
        try:
            answer = read_object(self.client.post(self.url, json=body))
        except httpx.HTTPError as error:
            raise ModelError(f"{self.url} gave no answer ({describe(error)}): is the server running?") from error
        found = [one for one in list_in(answer, "data") if isinstance(one, dict)]
        scores = {one.get("index"): float(one["score"]) for one in found if _is_probability(one.get("score"))}
        if any(at not in scores for at in range(len(premises))):
            raise ModelError(f"{self.url} gave no score between 0 and 1 for each text: serve a cross-encoder there")
        return [scores[at] for at in range(len(premises))]


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _windows(passage: str, claim: str, limit: int) -> list[Span]:
    """Return the windows of a passage, each of which overlaps with the next by a quarter. Raise `ToolError` if the claim leaves
    them no room."""
    letters = 1 if any("\u2e80" <= letter <= "\u9fff" for letter in passage) else 2
    size = letters * (limit - MARGIN) - len(claim)
    if size < limit // 4:
        raise too_long(limit)
    starts = range(0, max(1, len(passage) - size // 4), size - size // 4)
    return [(start, min(start + size, len(passage))) for start in starts]
