"""SelfCheckGPT 0.1.7, prompt variant: each sentence of the response is checked against newly sampled answers (arXiv
2303.08896).

It samples three answers to the question at temperature 1.0, of at most 256 tokens; no reference is used. The samples
come from the model at the endpoint, not from the author of the response as in the paper. Each pair of sentence and
sample is one yes/no question. The score of a sentence is the share of samples that do not support it (0.5 if the answer
is neither yes nor no), that of the response the mean over its sentences; above 0.5, it is a hallucination.
"""

import re
from typing import Any

import _protocol
from selfcheckgpt.modeling_selfcheck_apiprompt import SelfCheckAPIPrompt

SAMPLES = 3
END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")

MODEL = _protocol.model()
CHECK = SelfCheckAPIPrompt(client_type="openai", model=MODEL)  # its client reads OPENAI_BASE_URL and OPENAI_API_KEY


def sentences(text: str) -> list[str]:
    return [part.strip() for part in END.split(text) if part.strip()]


def sample(question: str, seed: int) -> str:
    answer = CHECK.client.chat.completions.create(
        model=MODEL,
        messages=[{"role": "user", "content": question}],
        temperature=1.0,
        max_tokens=256,
        seed=seed,
    )
    return answer.choices[0].message.content or ""


def detect(item: _protocol.Item) -> dict[str, Any]:
    parts = sentences(item["response"])
    if not parts:
        raise ValueError("the response is empty")
    samples = [sample(item["question"], seed) for seed in range(SAMPLES)]
    scores = CHECK.predict(sentences=parts, sampled_passages=samples)
    score = float(scores.mean())
    return {"verdict": score > 0.5, "score": score, "details": ", ".join(f"{one:.2f}" for one in scores)}


if __name__ == "__main__":
    _protocol.serve(detect)
