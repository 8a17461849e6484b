"""The text of a file or of standard input."""

import sys
from pathlib import Path

from haluagent.errors import ConfigError

STANDARD_INPUT = "-"


def read_text(path: str, *, empty: bool = False) -> str:
    """Return the text of a UTF-8 file (`-`: standard input) without its last line end. Raises ConfigError if it cannot
    be read, or is empty where it may not be."""
    name = "standard input" if path == STANDARD_INPUT else path
    try:
        data = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).expanduser().read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {name}: {error.strerror or error}") from error
    except (ValueError, RuntimeError) as error:  # a NUL in the path, or a home directory that does not exist
        raise ConfigError(f"cannot read {name!r}: {error}") from error
    # Editors end a file with a line end that is not part of the text, and lengths are counted exactly.
    text = decode(data, name).removesuffix("\n").removesuffix("\r")
    if not (empty or text.strip()):
        raise ConfigError(f"{name} is empty")
    return text


def decode(data: bytes, name: str) -> str:
    """Decode UTF-8 text with or without a byte order mark. Raises ConfigError that calls the text `name`."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8 text: convert it first, for example with iconv") from error
