"""The toolbox: one file a tool. `default_registry()` holds the built-in ones and those of installed packages."""

from ..registry import Registry


def default_registry() -> Registry:
    """A new registry. Raises ConfigError where an installed package's tool cannot be loaded."""
    from .calculator import calculator
    from .change_tools import change_tools
    from .code_interpreter import code_interpreter
    from .date import date
    from .get_answer import get_answer
    from .match import match
    from .split_text import split_text
    from .talk_to_user import talk_to_user
    from .translate import translate
    from .web_search import web_search
    from .word_count import word_count

    checks = [calculator, code_interpreter, word_count, date, translate, match, web_search]
    registry = Registry([split_text, *checks, get_answer, change_tools, talk_to_user])
    registry.load_entry_points()
    return registry
