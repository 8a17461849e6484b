"""LlamaIndex: a faithfulness evaluator (extra `llamaindex`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from haluagent.agent import HaluAgent
from haluagent.checks.faithfulness.check import acheck
from haluagent.checks.faithfulness.records import Faithfulness, Mode
from haluagent.errors import ConfigError, ModelError
from haluagent.integrations.outcome import check_choice, check_threshold

try:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult
except ImportError:
    raise ConfigError('LlamaIndex is not installed: pip install "haluagent[llamaindex]"') from None

__all__ = ["FaithfulnessEvaluator"]

OnError = Literal["invalid", "raise"]


class FaithfulnessEvaluator(BaseEvaluator):
    """Evaluates whether a response is faithful to its contexts: it says nothing beyond them and nothing against them.

    The `score` of a result follows LlamaIndex: it is the probability in [0, 1] that the response is faithful. The
    result passes unless the probability that it is unfaithful is above `threshold`. `feedback` is a list of bullet
    points. If the model fails, or there is no context or response, the result is invalid and gives the reason; with
    `on_error="raise"`, a ModelError or ConfigError is raised instead. `mode`, `prompt_file` and `language` are those of
    `haluagent.checks.faithfulness.check`.
    """

    def __init__(
        self,
        agent: HaluAgent,
        *,
        mode: Mode = "fast",
        threshold: float = 0.5,
        on_error: OnError = "invalid",
        prompt_file: Path | None = None,
        language: Literal["auto", "en", "zh"] = "auto",
    ) -> None:
        check_choice("mode", mode, Mode)
        check_choice("on_error", on_error, OnError)
        check_threshold(threshold)
        self._agent = agent
        self._on_error = on_error
        self._options: dict[str, Any] = {
            "mode": mode, "threshold": threshold, "prompt_file": prompt_file, "language": language,
        }  # fmt: skip

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """Do nothing: the prompts ship with the package, in both languages."""

    def evaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Run `aevaluate` from synchronous code, on the agent's own thread, where its connections stay open."""
        return self._agent.wait_for(self.aevaluate(query, response, contexts, **kwargs))

    async def aevaluate(
        self,
        query: str | None = None,
        response: str | None = None,
        contexts: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Evaluate a response against its contexts. Raises ModelError or ConfigError only with `on_error="raise"`."""
        given: dict[str, Any] = {"query": query, "response": response, "contexts": contexts}
        texts = [text for text in contexts or () if text.strip()]
        if not texts or not (response or "").strip():
            return self._invalid(given, ConfigError(f"there is no {'context' if not texts else 'response'} to look at"))
        try:
            report = await acheck(self._agent, query or "", response or "", texts, **self._options)
        except ModelError as error:
            return self._invalid(given, error)
        if report.verdict is None:
            return self._invalid(given, ModelError(report.error or "the model came to no verdict"))
        return EvaluationResult(
            **given, passing=report.verdict == "PASS", score=1 - report.score, feedback=_feedback(report)
        )

    def _invalid(self, given: dict[str, Any], error: ConfigError | ModelError) -> EvaluationResult:
        if self._on_error == "raise":
            raise error
        return EvaluationResult(**given, invalid_result=True, invalid_reason=str(error))


def _feedback(report: Faithfulness) -> str:
    """Return the reasoning and the passages in the contexts as bullet points, or the verdict if there are none."""
    quoted = [f"{evidence.source}: {evidence.text}" for evidence in report.evidence]
    return "\n".join(f"- {line}" for line in [*report.reasoning, *quoted]) or f"- {report.verdict}"
