"""Weights from a model hub: any GGUF file as `hf:OWNER/REPO/FILE.gguf`, through huggingface_hub."""

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from haluagent.errors import ConfigError
from haluagent.models.weights.store import Progress
from haluagent.models.weights.transfer import SHA256, download, first_line

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

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
        raise ConfigError(f"{name} could not be fetched: {first_line(error)}") from error
    expected = _expected_hash(name, metadata, sha256)
    size = metadata.size or 0
    # The version whose hash was read, even if the branch has moved meanwhile.
    url = locate(revision=metadata.commit_hash or revision)
    download(name, url, target, size, expected, progress, client.utils.build_hf_headers())


def _expected_hash(name: str, metadata: "HfFileMetadata", given: str | None) -> str:
    """Return the hash that was given, otherwise the hub's: the etag of a file in large-file storage is its SHA-256."""
    expected = (given or metadata.etag or "").lower()
    if not SHA256.fullmatch(expected):
        what = "no SHA-256 is 64 hexadecimal digits" if given else "the hub states none"
        raise ConfigError(f"{name} needs a SHA-256 to be checked against ({what}): give it with --sha256")
    return expected
