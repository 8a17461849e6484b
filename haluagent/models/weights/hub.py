"""Weights from a model hub: any GGUF file as `hf:OWNER/REPO/FILE.gguf`, through huggingface_hub."""

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from haluagent.errors import ConfigError
from haluagent.models.weights.store import Progress, install, need_space, sha256_of

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

ATTEMPTS = 5

_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def parse(name: str) -> tuple[str, str, str]:
    """Return the owner, repository and file of `hf:OWNER/REPO/FILE.gguf`. Raise `ConfigError` if the form is wrong."""
    owner, _, rest = name.removeprefix("hf:").partition("/")
    repo, _, file = rest.partition("/")
    # The three become a path on this machine, so nothing in them may lead out of the cache.
    if not all(map(_NAME.fullmatch, [owner, repo, *file.split("/")])) or not file.endswith(".gguf"):
        raise ConfigError(f"{name!r} names no file on a hub: write it as hf:OWNER/REPO/FILE.gguf")
    return owner, repo, file


def fetch(name: str, target: Path, *, revision: str | None, sha256: str | None, progress: Progress) -> None:
    """Download `name` to `target`; the caller holds the lock on it.

    The hub is the one of `HF_ENDPOINT`, or the client's default. The file must have the hash `sha256`, or if that is
    None the hash that the hub states for it. An interrupted download is resumed. Raise `ConfigError` if the hub has no
    such file, does not answer, or sends another file.
    """
    try:
        import huggingface_hub as client
    except ImportError:
        raise ConfigError('weights from a hub need one more package: pip install "haluagent[hub]"') from None
    owner, repo, file = parse(name)
    endpoint = os.environ.get("HF_ENDPOINT") or None
    locate = partial(client.hf_hub_url, f"{owner}/{repo}", file, endpoint=endpoint)
    try:
        metadata = client.get_hf_file_metadata(locate(revision=revision), endpoint=endpoint)
    except Exception as error:  # what a broken connection raises depends on the client's version
        raise ConfigError(f"{name} could not be fetched: {_first_line(error)}") from error
    expected = _expected_hash(name, metadata, sha256)
    # Its name contains the hash, so that the rest of another version is never appended to it.
    unfinished = target.with_name(f".{target.name}.{expected[:12]}.part")
    have = unfinished.stat().st_size if unfinished.exists() else 0
    size = metadata.size or 0
    need_space(target.parent, size - have)
    # The version whose hash was read, even if the branch has moved meanwhile.
    url = locate(revision=metadata.commit_hash or revision)
    _download(name, url, client.utils.build_hf_headers(), unfinished, size, progress)
    actual = sha256_of(unfinished).hexdigest()
    if actual != expected:
        unfinished.unlink()
        raise ConfigError(f"{name} has SHA-256 {actual} and not {expected}: it was removed")
    install(unfinished, target)


def _download(name: str, url: str, headers: dict[str, str], unfinished: Path, size: int, progress: Progress) -> None:
    """Download the missing rest of `unfinished`.

    Done here because the hub's client, since version 2, starts over after an interruption; it still provides the
    addresses and the keys.
    """
    import httpx

    trouble: Exception | None = None
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
    raise ConfigError(f"{name} could not be fetched: {_first_line(trouble)}; pull again to go on") from trouble


def _expected_hash(name: str, metadata: "HfFileMetadata", given: str | None) -> str:
    """Return the hash that was given, otherwise the hub's: the etag of a file in large-file storage is its SHA-256."""
    expected = (given or metadata.etag or "").lower()
    if not _SHA256.fullmatch(expected):
        what = "no SHA-256 is 64 hexadecimal digits" if given else "the hub states none"
        raise ConfigError(f"{name} needs a SHA-256 to be checked against ({what}): give it with --sha256")
    return expected


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
