"""The toolbox: one file a tool. `default_registry()` holds the built-in ones and those of installed packages."""

from haluagent.tooling.registry import Registry


def default_registry() -> Registry:
    """Return a new registry with the built-in tools and those of installed packages. Raises ConfigError where an
    installed package's tool cannot be loaded."""
    # Imported here: at the top the tools would take the names of their modules.
    from haluagent.tools.calculator.tool import calculator
    from haluagent.tools.citation.tool import citation
    from haluagent.tools.code_interpreter.tool import code_interpreter
    from haluagent.tools.control.change_tools import change_tools
    from haluagent.tools.control.get_answer import get_answer
    from haluagent.tools.control.split_text import split_text
    from haluagent.tools.control.talk_to_user import talk_to_user
    from haluagent.tools.convert import convert
    from haluagent.tools.date import date
    from haluagent.tools.match import match
    from haluagent.tools.translate.tool import translate
    from haluagent.tools.web_search import web_search
    from haluagent.tools.word_count import word_count

    checks = [calculator, convert, code_interpreter, word_count, date, citation, translate, match, web_search]
    registry = Registry([split_text, *checks, get_answer, change_tools, talk_to_user])
    registry.load_entry_points()
    return registry
