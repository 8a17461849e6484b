"""DeepEval 4.3.1, FaithfulnessMetric: it extracts truths from the reference and claims from the response, and judges
each claim by the truths.

It uses DeepEval's own model class for a local server and its own threshold: a score (the share of claims that the
truths do not contradict) below 0.5 is a hallucination; the score returned here is 1 minus that score. The written
reason is left out, because no verdict depends on it and it would cost a fourth call. An answer has at most 1,000
tokens; one that is not the requested JSON is an error. A response without claims is an error, since nothing was
checked.
"""

import os
from typing import Any

import _protocol

os.environ.update(
    DEEPEVAL_TELEMETRY_OPT_OUT="YES",
    DEEPEVAL_DISABLE_DOTENV="1",
    DEEPEVAL_FILE_SYSTEM="READ_ONLY",
    DEEPEVAL_DISABLE_TIMEOUTS="1",  # the parent process has its own timeout, and CPUs are slow
    CONFIDENT_TRACING_ENABLED="NO",
)

from deepeval.metrics import FaithfulnessMetric
from deepeval.models import LocalModel
from deepeval.test_case import LLMTestCase

MODEL = LocalModel(
    model=_protocol.model(),
    base_url=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    temperature=0,
    generation_kwargs={"max_tokens": 1000},
)


def detect(item: _protocol.Item) -> dict[str, Any]:
    if not item["reference"]:
        raise ValueError("faithfulness needs a reference, and this item has none")
    metric = FaithfulnessMetric(model=MODEL, include_reason=False, async_mode=False)
    case = LLMTestCase(input=item["question"], actual_output=item["response"], retrieval_context=[item["reference"]])
    metric.measure(case, _show_indicator=False)
    if metric.score is None or not metric.verdicts:
        raise ValueError("no claim was found in the response")
    return {
        "verdict": not metric.is_successful(),
        "score": 1 - metric.score,
        "details": ", ".join(str(getattr(verdict.verdict, "value", verdict.verdict)) for verdict in metric.verdicts),
    }


if __name__ == "__main__":
    _protocol.serve(detect)
