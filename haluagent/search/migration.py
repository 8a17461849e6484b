"""Move the configuration from one search to another: a few lines of the config file, the rest of which stays as it is."""

import json
import os
import re
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haluagent.errors import ConfigError
from haluagent.search.resolution import resolve
from haluagent.settings import VARIABLES, config_path, read_search_settings, read_settings

TARGETS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "searxng": ("searxng_url", ("searxng_url",)),
    "mediawiki": ("mediawiki_url", ()),
    "serper": (None, ("serper_api_key",)),
    "vertex": ("google_search_url", ("google_api_key", "google_search_url")),
    "local": (None, ()),
}
"""The searches that one can move to: the key of the config file that an address goes to, and the keys that there must be."""

_HEADER = re.compile(r"^[ \t]*\[search\][ \t]*(?:#.*)?$", re.MULTILINE)
_NEXT_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


@dataclass(frozen=True)
class Migration:
    """What becomes of the config file: its text before and after, and a line for each change, without keys and passwords."""

    path: Path
    before: str
    after: str
    changes: tuple[str, ...]


def plan(target: str, url: str | None = None) -> Migration:
    """Return how the config file has to change for the search `target` to be used; `url` is the address of its server. Nothing is
    written. Raise `ConfigError` if the target is unknown, misses a setting, or the file has to be changed by hand."""
    if target not in TARGETS:
        raise ConfigError(f"there is no way to move to {target!r}: use one of {', '.join(TARGETS)}")
    place, needed = TARGETS[target]
    if url and place is None:
        raise ConfigError(f"{target} has no address to set: leave out --url")
    if url:
        from haluagent.search.providers.jsonapi import service_url

        url = str(service_url(url, "--url"))
    settings = read_search_settings()  # of a file that can be read
    for key in needed:
        if not (url and key == place) and not getattr(settings, key):
            also = " or give --url" if key == place else ""
            raise ConfigError(
                f"{target} needs {VARIABLES[key]}: set it, or {key} under [search] in {config_path()}{also}"
            )
    if target == "local":
        resolve("local")  # that there is an index
    new: dict[str, str | None] = {"provider": target, "google_cse_id": None}
    if url and place:
        new[place] = url
    return _planned(new)


def _planned(new: dict[str, str | None]) -> Migration:
    path = config_path()
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    old: dict[str, Any] = tomllib.loads(before)
    after, changes, wanted = before, [], dict(old.get("search", {}))
    for key, value in new.items():
        if wanted.get(key) == value:
            continue
        changes.append(_told(key, wanted.get(key), value))
        after = _edited(after, key, value)
        if value is None:
            del wanted[key]
        else:
            wanted[key] = value
    try:
        reached = tomllib.loads(after) == {**old, "search": wanted}
    except tomllib.TOMLDecodeError:
        reached = False
    if changes and not reached:
        raise ConfigError(f"{path} is written in a way that is not changed here; do it by hand: {'; '.join(changes)}")
    return Migration(path, before, after, tuple(changes))


def _edited(text: str, key: str, value: str | None) -> str:
    """Return a config file with one key of its table `[search]` set, or taken out."""
    line = "" if value is None else f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
    header = _HEADER.search(text)
    if header is None:
        return f"{text.rstrip()}\n\n[search]\n{line}".lstrip() if line else text
    start = header.end() + 1
    end = table.start() if (table := _NEXT_TABLE.search(text, start)) else len(text)
    known = re.compile(rf"^[ \t]*{key}[ \t]*=.*(?:\n|\Z)", re.MULTILINE).search(text, start, end)
    if known:
        return text[: known.start()] + line + text[known.end() :]
    return text[: header.end()] + "\n" + line + text[start:]


def _told(key: str, old: str | None, new: str | None) -> str:
    def shown(value: str) -> str:
        return json.dumps(re.sub(r"//[^/@]*@", "//***@", value), ensure_ascii=False)

    if new is None:
        return f"{key} is taken out"
    return f"{key} = {shown(new)}" + (f" (was {shown(old)})" if old else "")


def write(migration: Migration) -> Path | None:
    """Write the config file, all of it or nothing, with the rights that it had. Return where a copy of the old one is; None if there was
    none. Raise `ConfigError` if that fails, or the file is not the one that was planned with."""
    path = migration.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.read_text(encoding="utf-8") if path.exists() else ""
        if there != migration.before:
            raise ConfigError(f"{path} was changed meanwhile: run the command again")
        copy = _kept(path) if path.exists() else None
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(migration.after)
            file.flush()
            os.fsync(file.fileno())
        if copy:
            shutil.copymode(path, part)
        os.replace(part, path.resolve())
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from error
    return copy


def _kept(path: Path) -> Path:
    """Copy a file beside itself, under a name that none has yet."""
    number = 1
    while (copy := path.with_name(f"{path.name}.{number}.bak")).exists():
        number += 1
    shutil.copy2(path, copy)
    return copy


def current() -> str:
    """Return in one line which search is set, and by what."""
    if name := os.environ.get(VARIABLES["provider"], "").strip():
        return f"{name}, by {VARIABLES['provider']}"
    if name := read_settings().search.provider or "":
        return f"{name}, by provider in {config_path()}"
    return "auto: what is configured, else local"
