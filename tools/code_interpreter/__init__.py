"""Run the code of a response in a sandbox, with its tests."""

from haluagent.tools.code_interpreter.tool import code_interpreter

__all__ = ["code_interpreter"]
