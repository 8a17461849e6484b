"""The ZIM files that are attached to a local index, remembered in a small file beside it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from haluagent.errors import ConfigError
from haluagent.models.weights.store import exclusive, install
from haluagent.search.index.place import packs_path
from haluagent.search.knowledge.zim import BrokenZim, ZimPack
from haluagent.types import Record

LARGEST_COPIED = 64_000_000  # bytes; the articles of a smaller ZIM file are copied into the index


class Pack(Record):
    """An attached file, as it was when it was attached. `size` is in bytes."""

    name: str
    path: Path
    title: str
    language: str
    licence: str
    articles: int
    size: int


_PACKS = TypeAdapter(tuple[Pack, ...])


def read_packs(index: Path) -> tuple[Pack, ...]:
    """Return the packs attached to an index. Raise `ConfigError` if the file that remembers them cannot be read."""
    path = packs_path(index)
    try:
        return _PACKS.validate_json(path.read_bytes())
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is damaged"
        raise ConfigError(
            f"the list of packs {path} cannot be read ({why}): delete it and attach them again"
        ) from error


def attach(index: Path, path: Path) -> Pack:
    """Remember a ZIM file, in the place of what was known of it. Raise `ConfigError` if it cannot be searched."""
    path = Path(os.path.abspath(path))
    try:
        told = ZimPack(path).summary()
    except BrokenZim as error:
        raise ConfigError(str(error)) from error
    if not told.full_text:
        raise ConfigError(f"{path} has no full-text index, so it cannot be searched: take another file")
    pack = Pack(
        name=path.stem,
        path=path,
        title=told.title,
        language=told.language,
        licence=told.licence,
        articles=told.articles,
        size=path.stat().st_size,
    )
    with _changing(index) as packs:
        packs[:] = [*(one for one in packs if one.path != pack.path), pack]
    return pack


def detach(index: Path, name: str) -> Pack | None:
    """Forget the pack of that name or path, and return it; None if there is none.

    Raise `ConfigError` if several have the name.
    """
    with _changing(index) as packs:
        paths = {Path(os.path.abspath(name)), Path(name)}
        found = [one for one in packs if one.path in paths] or [one for one in packs if one.name == name]
        if len(found) > 1:
            raise ConfigError(
                f"{len(found)} packs are named {name}: give the path of one, as in `haluagent knowledge list`"
            )
        packs[:] = [one for one in packs if one not in found]
    return found[0] if found else None


@contextmanager
def _changing(index: Path) -> Iterator[list[Pack]]:
    """Yield the packs, and write what has become of them: at once or not at all."""
    path = packs_path(index)
    with exclusive(path, "name another index with --index"):
        packs = list(read_packs(index))
        before = list(packs)
        yield packs
        if packs == before:
            return
        new = path.with_name(f".{path.name}.new")
        try:
            if not packs:
                return path.unlink(missing_ok=True)
            new.write_text(json.dumps([pack.model_dump(mode="json") for pack in packs], ensure_ascii=False, indent=1))
            install(new, path)
        except OSError as error:
            raise ConfigError(f"the list of packs {path} cannot be written ({error.strerror})") from error
