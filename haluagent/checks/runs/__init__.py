"""Whole agent runs: every tool call, every result and the answer, after the Agent Hallucination Detection Spec."""

from typing import Literal

# Whose form a recorded run has: ours, what another library keeps, or a detection of our own.
Source = Literal["haluagent", "openai", "openai-responses", "anthropic", "langgraph", "otel", "detection"]
