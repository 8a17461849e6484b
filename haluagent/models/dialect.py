"""The request fields that constrain a server's output.

The chat API is the same everywhere; holding the text to a grammar is not. llama.cpp takes `grammar`, vLLM since 0.12
takes `structured_outputs`, and a server that takes neither is asked without.
"""

import json
from collections.abc import Sequence
from typing import Any

from haluagent.settings import Dialect


def grammar_fields(dialect: Dialect, grammar: str | None) -> dict[str, Any]:
    """Return the request fields that hold a text to a GBNF grammar; empty if the dialect has none."""
    if not grammar or dialect == "plain":
        return {}
    return {"grammar": grammar} if dialect == "llama.cpp" else {"structured_outputs": {"grammar": grammar}}


def choice_fields(dialect: Dialect, choices: Sequence[str]) -> dict[str, Any]:
    """Return the request fields that hold a text to one of a few literal answers."""
    if dialect == "vllm":
        return {"structured_outputs": {"choice": list(choices)}}
    # JSON escapes are GBNF escapes for every character a choice can hold.
    literals = " | ".join(json.dumps(choice, ensure_ascii=False) for choice in choices)
    return grammar_fields(dialect, f"root ::= {literals}")


def scoring_fields(dialect: Dialect, choices: Sequence[str]) -> dict[str, Any]:
    """Return the constraint to send when a choice is scored by its log-probabilities.

    vLLM masks the logits first, so the constraint brings every choice into the top tokens. llama.cpp reports
    log-probabilities from before the grammar (measured), so there a constraint would change nothing.
    """
    return choice_fields(dialect, choices) if dialect == "vllm" else {}
