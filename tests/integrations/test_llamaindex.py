"""The evaluator in the real LlamaIndex, on a scripted model."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from haluagent import ConfigError, HaluAgent, ModelError

pytestmark = pytest.mark.integrations

QUESTION, RIGHT, WRONG = (
    "Which colour has the sky?",
    "The sky over the harbour was green.",
    "The sky was bright orange.",
)
CONTEXTS = ["Grass is red there.", f"They wrote it down. {RIGHT} Then it rained."]


def evaluator(model: Any, **options: Any) -> Any:
    from haluagent.integrations.llamaindex import FaithfulnessEvaluator

    return FaithfulnessEvaluator(HaluAgent(model, search="none", sandbox="none"), **options)


def doubtful(scripted: Any) -> Any:
    """A model that takes B, whatever the order of the options: the judgement that a text does not say it."""
    return scripted(choose=lambda messages: 0.1 if "A: yes" in messages[-1]["content"] else 0.9)


def test_a_faithful_response_passes_with_a_high_score(scripted: Any) -> None:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    judge = evaluator(scripted())
    assert isinstance(judge, BaseEvaluator) and judge.get_prompts() == {}
    result = judge.evaluate(query=QUESTION, response=RIGHT, contexts=CONTEXTS)
    assert isinstance(result, EvaluationResult) and not result.invalid_result
    assert result.passing is True and result.score > 0.9 and result.contexts == CONTEXTS
    assert all(line.startswith("- ") for line in result.feedback.splitlines()) and RIGHT.rstrip(".") in result.feedback


def test_an_unfaithful_one_does_not_and_the_threshold_decides(scripted: Any) -> None:
    model = doubtful(scripted)
    result = evaluator(model).evaluate(QUESTION, WRONG, CONTEXTS)
    assert (result.passing, result.invalid_result) == (False, False) and result.score < 0.5
    assert evaluator(model, threshold=1.0).evaluate(QUESTION, WRONG, CONTEXTS).passing is True
    assert evaluator(scripted(), threshold=0.0).evaluate(QUESTION, RIGHT, CONTEXTS).passing is False


def test_a_response_of_a_query_engine_is_read_with_its_nodes(scripted: Any) -> None:
    from llama_index.core import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    response = Response(RIGHT, source_nodes=[NodeWithScore(node=TextNode(text=text)) for text in CONTEXTS])
    result = evaluator(scripted()).evaluate_response(QUESTION, response)
    assert result.passing is True and result.contexts == CONTEXTS


def test_batches_and_running_event_loops(scripted: Any) -> None:
    from llama_index.core.evaluation import BatchEvalRunner

    judge = evaluator(scripted())

    async def run() -> Any:
        runner = BatchEvalRunner({"faithfulness": judge}, workers=2)
        found = await runner.aevaluate_response_strs([QUESTION] * 3, [RIGHT] * 3, [CONTEXTS] * 3)
        return [*found["faithfulness"], judge.evaluate(QUESTION, RIGHT, CONTEXTS)]  # a synchronous call, as in Jupyter

    assert [result.passing for result in asyncio.run(run())] == [True] * 4


def test_a_model_that_failed_gives_an_invalid_result_or_raises(scripted: Any) -> None:
    class Broken(scripted):  # type: ignore[misc]
        async def choose(self, *args: Any) -> Any:
            raise ModelError("the endpoint is gone")

    result = evaluator(Broken()).evaluate(QUESTION, WRONG, CONTEXTS)
    assert result.invalid_result and "the endpoint is gone" in result.invalid_reason
    assert (result.passing, result.score) == (None, None)
    with pytest.raises(ModelError, match="the endpoint is gone"):
        evaluator(Broken(), on_error="raise").evaluate(QUESTION, WRONG, CONTEXTS)


@pytest.mark.parametrize(
    ("response", "contexts", "missing"), [(RIGHT, [], "context"), (RIGHT, [" "], "context"), ("", CONTEXTS, "response")]
)
def test_without_contexts_or_a_response_the_result_is_invalid(
    scripted: Any, response: str, contexts: Any, missing: str
) -> None:
    result = evaluator(scripted()).evaluate(QUESTION, response, contexts)
    assert (
        result.invalid_result
        and result.invalid_reason == f"there is no {missing} to look at"
        and result.passing is None
    )
    with pytest.raises(ConfigError, match=f"there is no {missing}"):
        evaluator(scripted(), on_error="raise").evaluate(QUESTION, response, contexts)


def test_options_that_cannot_be_are_refused(scripted: Any) -> None:
    for name, value in (("mode", "slow"), ("on_error", "pass"), ("threshold", 2)):
        with pytest.raises(ConfigError, match=f"{name}={value!r}"):
            evaluator(scripted(), **{name: value})


def test_without_llamaindex_the_extra_is_named() -> None:
    code = "import sys; sys.modules['llama_index.core'] = None; import haluagent.integrations.llamaindex"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (
        'haluagent.errors.ConfigError: LlamaIndex is not installed: pip install "haluagent[llamaindex]"' in ran.stderr
    )
