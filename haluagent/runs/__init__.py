"""Whole agent runs: every tool call, every result and the answer, after the Agent Hallucination Detection Spec."""
