"""Downloading a large file: in one piece or after interruptions, with its SHA-256 checked before it gets its name."""

import re
from collections.abc import Mapping
from pathlib import Path

from haluagent.errors import ConfigError
from haluagent.models.weights.store import Progress, install, need_space, sha256_of

ATTEMPTS = 5
SHA256 = re.compile(r"[0-9a-f]{64}")


def download(
    name: str,
    url: str,
    target: Path,
    size: int,
    sha256: str,
    progress: Progress,
    headers: Mapping[str, str] | None = None,
) -> None:
    """Download a file of `size` bytes (0: not known) to `target`; the caller holds the lock on it.

    What an interrupted download left is continued. Raise `ConfigError` if the disk is too small, the server does not
    answer, or the file has another hash than `sha256`; in the last case it is removed.
    """
    # Its name contains the hash, so that the rest of another version is never appended to it.
    unfinished = target.with_name(f".{target.name}.{sha256[:12]}.part")
    have = unfinished.stat().st_size if unfinished.exists() else 0
    need_space(target.parent, size - have)
    _fetch(name, url, headers or {}, unfinished, size, progress)
    actual = sha256_of(unfinished).hexdigest()
    if actual != sha256:
        unfinished.unlink()
        raise ConfigError(f"{name} has SHA-256 {actual} and not {sha256}: it was removed")
    install(unfinished, target)


def _fetch(name: str, url: str, headers: Mapping[str, str], unfinished: Path, size: int, progress: Progress) -> None:
    """Download the missing rest of `unfinished`.

    Done here also for a hub because its client, since version 2, starts over after an interruption; it still provides
    the addresses and the keys.
    """
    import httpx

    trouble: Exception | None = None
    # Bytes as they are: what a server packed on the way would not continue what is there.
    headers = {"Accept-Encoding": "identity", **headers}
    with httpx.Client(headers=headers, follow_redirects=True, timeout=60.0) as http, unfinished.open("ab") as file:
        for _ in range(ATTEMPTS):
            if file.tell() == size > 0:
                return
            try:
                with http.stream("GET", url, headers={"Range": f"bytes={file.tell()}-"}) as response:
                    if response.status_code == 416:  # there is no more; the hash will show whether the file is complete
                        return
                    response.raise_for_status()
                    if response.status_code == 200:  # the whole file, whatever range was asked for
                        file.truncate(0)
                        file.seek(0)
                    for chunk in response.iter_raw():
                        file.write(chunk)
                        progress(file.tell(), max(size, file.tell()))
                    return
            except httpx.HTTPError as error:
                trouble = error
    assert trouble is not None
    raise ConfigError(f"{name} could not be fetched: {first_line(trouble)}; pull again to go on") from trouble


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
