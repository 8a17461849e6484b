"""Checking whole agent runs, with every tool call, every result and the answer, after the Agent Hallucination Detection
Spec."""

from typing import Literal

# The form of a recorded run: our own, that of another library or data set, or a detection of HaluAgent.
RunSource = Literal[
    "haluagent", "openai", "openai-responses", "anthropic", "langgraph", "otel", "toolbench", "detection"
]
