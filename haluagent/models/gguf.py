"""The metadata and the list of tensors of a GGUF file, read without loading the model.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3, little-endian).
"""

import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeVar

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
ALIGNMENT = 32  # of the tensors, where the file does not say
BYTES = {0: 4, 1: 2}  # of a number of an F32 and an F16 tensor

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class GGUFTensor:
    """A tensor of a file: its name, its `shape` with the fastest dimension first, its `kind` (0 is F32, 1 is F16), and where its
    numbers stand, `offset` and `size` in bytes. The size is known for these two kinds only, and 0 for others."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    size: int


def read_metadata(path: Path, wanted: Callable[[str], bool] = lambda key: True) -> dict[str, Any]:
    """Return the keys and values of the file's header: strings as `str`, arrays as lists.

    Keys that `wanted` refuses are passed over. Only the header's pages are read, however large the file is.
    Raises ConfigError naming the file where it cannot be read, is not GGUF, or is cut off.
    """
    return _read(path, lambda reader: reader.metadata(wanted))


def read_tensors(path: Path) -> list[GGUFTensor]:
    """Return the tensors of a file, in its order. Raises ConfigError as `read_metadata` does."""
    return _read(path, lambda reader: reader.tensors())


def _read(path: Path, use: "Callable[[_Reader], _Found]") -> "_Found":
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return use(_Reader(data))
    except OSError as error:
        raise ConfigError(f"cannot read the model file {path}: {error.strerror}; check the path") from error
    except (ValueError, struct.error, RecursionError) as error:
        raise ConfigError(f"{path} is not a complete GGUF model file ({error}); download it again") from error


class _Reader:
    """A cursor over the header. Raises ValueError or struct.error where the data makes no sense."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0
        self.count = 0  # of tensors

    def metadata(self, wanted: Callable[[str], bool]) -> dict[str, Any]:
        if self.data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self.at = 4
        version = self.number(_U32)
        if version not in (2, 3):
            raise ValueError(f"version {version} is not 2 or 3")
        self.count = self.number(_U64)
        found: dict[str, Any] = {}
        for _ in range(self.number(_U64)):
            key = self.string()
            value = self.value(self.number(_U32))
            if wanted(key):
                found[key] = value
        return found

    def tensors(self) -> list[GGUFTensor]:
        known = self.metadata(lambda key: key == "general.alignment")
        alignment = known.get("general.alignment", ALIGNMENT)
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError("its alignment is no number")
        listed = []
        for _ in range(self.count):
            name = self.string()
            shape = tuple(self.number(_U64) for _ in range(self.number(_U32)))
            listed.append((name, shape, self.number(_U32), self.number(_U64)))
        start = -(-self.at // alignment) * alignment
        found = [
            GGUFTensor(name, shape, kind, start + offset, prod(shape) * BYTES.get(kind, 0))
            for name, shape, kind, offset in listed
        ]
        if any(tensor.offset + tensor.size > len(self.data) for tensor in found):
            raise ValueError("it is cut off within its tensors")
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
