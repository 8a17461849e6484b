"""Fetch the published files of the sets from their sources into the cache, once, and verify them on every use."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

from haluagent.errors import ConfigError
from haluagent.models.weights.progress import download_progress
from haluagent.models.weights.store import CHUNK, exclusive, install, need_space, sha256_of
from haluagent.settings import cache_dir
from haluagent.types import Record

if TYPE_CHECKING:
    import httpx

CHECKSUMS = "CHECKSUMS"  # beside the files, in the format of `sha256sum`
TIMEOUT = 60.0
OTHERWISE = "or give --data DIR with the files"


class FileSource(Record):
    """A published file. `file` is its name in the cache; `revision` is a commit, or a branch if no commit is known."""

    file: str
    host: Literal["github", "huggingface"]
    repository: str
    revision: str
    path: str


class Hosts(Record):
    """The base URLs that the files are fetched from."""

    raw: str = "https://raw.githubusercontent.com"
    api: str = "https://api.github.com"
    hub: str = "https://huggingface.co"


class StatedFile(NamedTuple):
    """The hash and the size in bytes that the source states for a file."""

    kind: Literal["git blob SHA-1", "SHA-256"]
    digest: str
    size: int


PUBLIC = Hosts()


def fetch(name: str, sources: tuple[FileSource, ...], hosts: Hosts = PUBLIC) -> Path:
    """Return the folder with a set's files, fetching those that are missing. No network is needed if all are there.

    A file appears under its name only once it is complete and matches the hash that its source states: the git blob
    SHA-1 on GitHub, the SHA-256 on Hugging Face. Its SHA-256 is then recorded in `CHECKSUMS` and compared on every use.
    Raises ConfigError if a file cannot be fetched or does not match.
    """
    folder = cache_dir() / "datasets" / name / sources[0].revision[:12]
    with exclusive(folder / CHECKSUMS):
        known = _recorded(folder)
        for source in sources:
            if source.file in known and (folder / source.file).is_file():
                _unchanged(folder / source.file, known[source.file])
            else:
                known[source.file] = _fetched(name, source, folder, known.get(source.file), hosts)
                _record(folder, known)
    return folder


def _recorded(folder: Path) -> dict[str, str]:
    path = folder / CHECKSUMS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {file: digest for digest, _, file in (line.partition("  ") for line in lines)}


def _record(folder: Path, known: dict[str, str]) -> None:
    unfinished = folder / f".{CHECKSUMS}.part"
    unfinished.write_text("".join(f"{digest}  {file}\n" for file, digest in known.items()), encoding="utf-8")
    install(unfinished, folder / CHECKSUMS)


def _unchanged(path: Path, recorded: str) -> None:
    if sha256_of(path).hexdigest() != recorded:
        again = f"delete {path.parent} to fetch it again"
        raise ConfigError(f"{path} has changed since it was fetched: {again}, {OTHERWISE}")


def _fetched(name: str, source: FileSource, folder: Path, recorded: str | None, hosts: Hosts) -> str:
    """Download the file and return its SHA-256. `recorded` is the hash from an earlier download, if there was one."""
    import httpx

    unfinished = folder / f".{source.file}.part"
    # Without compression, the Content-Length is the size of the file.
    headers = {"Accept-Encoding": "identity", "User-Agent": "haluagent"}
    try:
        with httpx.Client(timeout=TIMEOUT, headers=headers) as http:
            stated = _stated(source, hosts, http)
            need_space(folder, stated.size)
            _download(name, _url(source, hosts), unfinished, stated.size, http)
        _compare(source, unfinished, stated)
        digest = sha256_of(unfinished).hexdigest()
        if recorded not in (None, digest):
            raise ConfigError(
                f"{source.path} is another file than when it was fetched before (SHA-256 {digest}, then {recorded}): "
                f"delete {folder} to take it, {OTHERWISE}"
            )
        install(unfinished, folder / source.file)
    finally:
        unfinished.unlink(missing_ok=True)
    return digest


def _compare(source: FileSource, path: Path, stated: StatedFile) -> None:
    actual = sha256_of(path).hexdigest() if stated.kind == "SHA-256" else git_blob(path)
    if actual != stated.digest:
        raise ConfigError(
            f"{source.path} of {source.repository} came with {stated.kind} {actual}, and its source states {stated.digest}: "
            f"it was removed; try again, {OTHERWISE}"
        )


def git_blob(path: Path) -> str:
    """Return the SHA-1 of a file as a git blob: a hash of the header `blob SIZE` and the content."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _url(source: FileSource, hosts: Hosts) -> str:
    path = quote(source.path)
    if source.host == "github":
        return f"{hosts.raw}/{source.repository}/{source.revision}/{path}"
    return f"{hosts.hub}/datasets/{source.repository}/resolve/{source.revision}/{path}"


def _stated(source: FileSource, hosts: Hosts, http: "httpx.Client") -> StatedFile:
    """Ask GitHub's contents API, or the headers of the Hugging Face hub, for the hash and the size of the file."""
    if source.host == "huggingface":
        return _stated_by_hub(source, _url(source, hosts), http)
    # List the folder: for a large file, the API does not describe the file itself.
    folder = source.path.rpartition("/")[0]
    url = f"{hosts.api}/repos/{source.repository}/contents{quote(f'/{folder}') if folder else ''}?ref={source.revision}"
    with _clear_errors(url):
        response = http.get(url, headers={"Accept": "application/vnd.github+json"}, follow_redirects=True)
        response.raise_for_status()
    try:
        entries = {entry["path"]: entry for entry in response.json()}
        entry = entries[source.path]
        return StatedFile("git blob SHA-1", str(entry["sha"]), int(entry["size"]))
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{url} says nothing of {source.path}: try again later, {OTHERWISE}") from None


def _stated_by_hub(source: FileSource, url: str, http: "httpx.Client") -> StatedFile:
    with _clear_errors(url):
        response = http.head(url)  # the redirect carries the hash; the storage behind it does not
        if response.status_code >= 400:
            response.raise_for_status()
    headers = response.headers
    digest = (headers.get("x-linked-etag") or headers.get("etag") or "").removeprefix("W/").strip('"')
    size = headers.get("x-linked-size") or headers.get("content-length") or ""
    if len(digest) not in (40, 64) or not size.isdigit():
        raise ConfigError(f"{url} says nothing of the file's hash: try again later, {OTHERWISE}")
    return StatedFile("SHA-256" if len(digest) == 64 else "git blob SHA-1", digest, int(size))


def _download(name: str, url: str, path: Path, size: int, http: "httpx.Client") -> None:
    with (
        _clear_errors(url),
        download_progress(f"{name}: {url.rpartition('/')[2]}") as progress,
        http.stream("GET", url, follow_redirects=True) as response,
        path.open("wb") as file,
    ):
        response.raise_for_status()
        for chunk in response.iter_bytes(CHUNK):
            file.write(chunk)
            progress(file.tell(), max(size, file.tell()))


@contextmanager
def _clear_errors(url: str) -> Iterator[None]:
    """Turn connection errors and HTTP error statuses into a ConfigError that tells the user what to do."""
    import httpx

    try:
        yield
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        why = {404: " (it is not there)", 403: " (too many requests?)", 429: " (too many requests)"}.get(status, "")
        raise ConfigError(f"{url} answers {status}{why}: try again later, {OTHERWISE}") from error
    except httpx.HTTPError as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(f"{url} cannot be fetched ({what}): check the network and try again, {OTHERWISE}") from error
