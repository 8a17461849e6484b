"""The metadata of a GGUF model file, read without loading the model.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

import mmap
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError

MAGIC = b"GGUF"
STRING, ARRAY = 8, 9
# Value types of fixed size, by their number in the file.
SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_U32, _U64 = SCALARS[4], SCALARS[10]


def read_metadata(path: Path, wanted: Callable[[str], bool] = lambda key: True) -> dict[str, Any]:
    """Return the keys and values of the file's header: strings as `str`, arrays as lists.

    Keys that `wanted` refuses are passed over. Only the header's pages are read, however large the file is.
    Raises ConfigError naming the file where it cannot be read, is not GGUF, or is cut off.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).metadata(wanted)
    except OSError as error:
        raise ConfigError(f"cannot read the model file {path}: {error.strerror}; check the path") from error
    except (ValueError, struct.error, RecursionError) as error:
        raise ConfigError(f"{path} is not a complete GGUF model file ({error}); download it again") from error


class _Reader:
    """A cursor over the header. Raises ValueError or struct.error where the data makes no sense."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def metadata(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        if self.data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self.at = 4
        version = self.number(_U32)
        if version not in (2, 3):
            raise ValueError(f"version {version} is not 2 or 3")
        self.number(_U64)  # the number of tensors
        found: dict[str, Any] = {}
        for _ in range(self.number(_U64)):
            key = self.string()
            value = self.value(self.number(_U32))
            if wanted(key):
                found[key] = value
        return found

    def number(self, kind: struct.Struct) -> Any:
        (value,) = kind.unpack_from(self.data, self.at)
        self.at += kind.size
        return value

    def string(self) -> str:
        size = self.number(_U64)
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise ValueError("it is cut off within its header")
        return self.data[start : self.at].decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        if kind == STRING:
            return self.string()
        if kind == ARRAY:
            return self.array()
        if kind not in SCALARS:
            raise ValueError(f"value type {kind} is unknown")
        return self.number(SCALARS[kind])

    def array(self) -> list[Any]:
        kind, count = self.number(_U32), self.number(_U64)
        # A value takes at least a byte: a larger count is damage, and must not become a huge loop or allocation.
        if count > len(self.data) - self.at:
            raise ValueError("it is cut off within its header")
        if kind not in SCALARS:
            return [self.value(kind) for _ in range(count)]
        scalar = SCALARS[kind]
        start, self.at = self.at, self.at + count * scalar.size
        if self.at > len(self.data):
            raise ValueError("it is cut off within its header")
        return [value for (value,) in scalar.iter_unpack(self.data[start : self.at])]
