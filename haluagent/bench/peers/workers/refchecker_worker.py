"""RefChecker 0.2.17: triplets are extracted from the response, and the model checks each against the reference.

It uses RefChecker's defaults: triplets, at most 500 tokens for them, five checked in one prompt (`is_joint`). The
verdict follows its strict aggregation: the response is a hallucination if any claim is Contradiction or Neutral (its
paper, "RefChecker: Reference-based Fine-grained Hallucination Checker", 2024, counts both). The score is the share of
claims that are not entailed. A response without claims (Abstain) is an error, since nothing was checked.
"""

import ast
import os
from typing import Any

import _protocol

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise it downloads a price list when imported


# Their `__init__` would load checkers that need torch.
for name in ("refchecker", "refchecker.checker", "refchecker.extractor"):
    _protocol.package(name)

import litellm  # noqa: E402
from refchecker import utils  # noqa: E402
from refchecker.aggregator import strict_agg  # noqa: E402
from refchecker.checker.llm_checker import LLMChecker  # noqa: E402
from refchecker.extractor import extractor_base  # noqa: E402
from refchecker.extractor.llm_extractor import LLMExtractor  # noqa: E402

litellm.telemetry = False
extractor_base.eval = ast.literal_eval  # it would evaluate the model's output as Python, but needs only literals


def batch_completion(**arguments: Any) -> list[Any]:
    """Call litellm's function but raise the errors that it returns, since RefChecker would retry them forever."""
    answers: list[Any] = litellm.batch_completion(**arguments)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


utils.batch_completion = batch_completion

MODEL = f"openai/{_protocol.model()}"
BASE = os.environ["OPENAI_BASE_URL"]
EXTRACTOR = LLMExtractor(model=MODEL, api_base=BASE)
CHECKER = LLMChecker(model=MODEL, api_base=BASE)


def detect(item: _protocol.Item) -> dict[str, Any]:
    if not item["reference"]:
        raise ValueError("RefChecker needs a reference, and this item has none")
    extracted = EXTRACTOR.extract([item["response"]], [item["question"]])
    claims = [claim.content for claim in extracted[0].claims]
    if not claims:
        raise ValueError("no triplet could be read from the extractor's answer")
    # One list per claim, with one label per reference.
    labels = [found[0] for found in CHECKER.check([claims], [item["reference"]], [item["question"]])[0]]
    wrong = sum(label != "Entailment" for label in labels)
    return {
        "verdict": strict_agg(list(labels)) != "Entailment",
        "score": wrong / len(labels),
        "details": ", ".join(labels),
    }


if __name__ == "__main__":
    _protocol.serve(detect)
