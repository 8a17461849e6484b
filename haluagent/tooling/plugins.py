"""Load tools from a file of the user's own. Loading runs the file, so only one that the user names is loaded."""

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from haluagent.errors import ConfigError
from haluagent.text.failures import describe
from haluagent.tooling.isolation import is_ctrl_c
from haluagent.tooling.tool import Tool


def load_file(path: str | Path) -> tuple[Tool, ...]:
    """Return the tools that a Python file defines or imports at its top level, in that order, without the built-in ones.

    The file may import modules that lie beside it. Raises ConfigError of one line, with the place in the file where
    there is one, for a file that cannot be read or run, that has no tool, or two tools of one name.
    """
    file = _python_file(path)
    module = _run(file)
    found = {id(item): item for item in vars(module).values() if isinstance(item, Tool) and not _is_built_in(item)}
    if not found:
        raise ConfigError(f"{file} has no tool: decorate a function with @haluagent.tool(...)")
    names: set[str] = set()
    for item in found.values():
        if item.name in names:
            raise ConfigError(f"{file} has two tools named {item.name!r}: give one another name, @tool(name=...)")
        names.add(item.name)
    return tuple(found.values())


def _is_built_in(item: Tool) -> bool:
    """Return True for a tool that the file only imports to call it."""
    return item.run.__module__.startswith("haluagent.")


def _python_file(path: str | Path) -> Path:
    try:
        file = Path(path).expanduser().resolve()
        there, folder = file.exists(), file.is_dir()
    except (OSError, ValueError, RuntimeError) as error:  # a NUL in the path, or a home that does not exist
        raise ConfigError(f"cannot read the tools in {str(path)!r}: {error}") from error
    if folder:
        raise ConfigError(f"{path} is a folder: name the Python file in it that has the tools")
    if not there:
        raise ConfigError(f"there is no file {path}: check the path that --tools names")
    if file.suffix != ".py":
        raise ConfigError(f"{path} is not a Python file: tools come from files that end in .py")
    return file


def _run(file: Path) -> ModuleType:
    # A name of its own, so that a file named json.py hides nothing and two of one name do not meet.
    name = f"haluagent_tools_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # as for every .py
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    try:
        with _siblings(file.parent):
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if is_ctrl_c(error):
            raise
        raise ConfigError(f"{_place(file, error)}: {_what(error)}") from None
    return module


@contextmanager
def _siblings(folder: Path) -> Iterator[None]:
    """Make the modules of `folder` importable: before all others while the file runs, as for a script, then after all
    others, so that none of them hides a module that is imported later."""
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)
        if entry not in sys.path:
            sys.path.append(entry)


def _place(file: Path, error: BaseException) -> str:
    """Return the file and line that the user has to look at."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{file}:{lines[-1]}" if lines else str(file)


def _what(error: BaseException) -> str:
    if isinstance(error, ConfigError):
        return str(error)
    if isinstance(error, SystemExit):
        return 'it exits when it is imported: put what is for scripts under if __name__ == "__main__"'
    if isinstance(error, ModuleNotFoundError):
        return f"{error}: install it beside haluagent, or put it beside the file"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{error.title}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return describe(error)
