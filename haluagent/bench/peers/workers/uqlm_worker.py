"""UQLM 0.6.7, the scorer P(True): the model is asked whether the response is true, and how sure it is of that answer is read
from its log-probabilities (Kadavath et al., 2022, arXiv 2207.05221).

It uses UQLM's own scorer through LangChain's client, at temperature 0 and for one token, the only one that is read. No reference
is used, and no answers are sampled, as when the scorer is chosen alone in UQLM. UQLM names no threshold: below 0.5 the response
is a hallucination; the score returned here is 1 minus P(True). If the token is neither true nor false, or the endpoint gives no
log-probabilities, that is an error.
"""

import asyncio
from typing import Any

import _protocol

# Their `__init__` would load scorers that need torch, and plots.
for name in ("uqlm", "uqlm.utils", "uqlm.white_box"):
    _protocol.package(name)

from langchain_openai import ChatOpenAI  # noqa: E402
from uqlm.white_box.p_true import PTrueScorer  # noqa: E402

# The client reads OPENAI_BASE_URL and OPENAI_API_KEY, and the scorer has it ask for log-probabilities. LangChain's own limit of
# tokens is sent under a name that not every server knows.
SCORER = PTrueScorer(ChatOpenAI(model=_protocol.model(), temperature=0, extra_body={"max_tokens": 1}))
RUNNER = asyncio.Runner()  # one loop for all items, as the client keeps its connections


def detect(item: _protocol.Item) -> dict[str, Any]:
    if not item["question"]:
        raise ValueError("UQLM needs a question, and this item has none")
    try:
        found = RUNNER.run(SCORER.evaluate(prompts=[item["question"]], responses=[item["response"]]))
    except TypeError as error:  # it looks into them without asking whether there are any
        raise ValueError("the endpoint gives no log-probabilities") from error
    true = float(found["p_true"][0])
    if true != true:  # NaN
        raise ValueError("the model wrote neither true nor false")
    return {"verdict": true < 0.5, "score": 1 - true, "details": ""}


if __name__ == "__main__":
    _protocol.serve(detect)
