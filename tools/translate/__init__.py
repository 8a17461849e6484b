"""Check a translation by its meaning."""

from haluagent.tools.translate.tool import translate

__all__ = ["translate"]
