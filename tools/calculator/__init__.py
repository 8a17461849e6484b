"""Check the arithmetic of a sentence, and the answer to a word problem."""

from haluagent.tools.calculator.tool import calculator

__all__ = ["calculator"]
