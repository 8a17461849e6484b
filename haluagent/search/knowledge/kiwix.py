"""Downloading encyclopaedias: from the library of Kiwix by their names, or from an address."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

from haluagent.errors import ConfigError
from haluagent.models.weights.store import Progress, exclusive
from haluagent.models.weights.transfer import SHA256, download, first_line
from haluagent.search.documents.reading import ENCYCLOPAEDIAS, kind_of
from haluagent.settings import cache_dir

CATALOGUE = "https://library.kiwix.org/catalog/v2/entries"  # OPDS, https://wiki.kiwix.org/wiki/OPDS
VARIABLE = "HALUAGENT_KIWIX"  # another catalogue
TIMEOUT = 30.0  # seconds for a short answer
SHORT = 10_000_000  # characters of one

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_FLAVOUR = re.compile(r"_(maxi|nopic|mini)$")
_DATED = re.compile(r"(.+)_(\d{4}-\d{2}\w?)\.zim")
_ATOM = "{http://www.w3.org/2005/Atom}"


def pull(wanted: str, progress: Progress, *, sha256: str | None = None) -> Path:
    """Download a file by its name in Kiwix's library (`wikipedia_zh_all_nopic`) or by its address, and return its path. An
    existing one is kept, an interrupted download continued.

    It must have the hash `sha256`, or else the one that the server states in a file beside it, with `.sha256` after its name.
    Raise a `ConfigError` with advice if it fails.
    """
    url = wanted if "://" in wanted else find(wanted)
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    if urlsplit(url).scheme not in ("http", "https") or not _NAME.fullmatch(name):
        raise ConfigError(f"{wanted!r} is no address of a file: give one that begins with https://")
    if kind_of(Path(name)) not in ENCYCLOPAEDIAS:
        raise ConfigError(f"{name} is no encyclopaedia: its name must end in .zim, .json.gz, .json.bz2 or .xml.bz2")
    target = cache_dir() / "knowledge" / name
    try:
        with exclusive(target):
            if not target.is_file():
                expected = _hash(url, sha256)
                download(name, url, target, _size(url), expected, progress)
    except OSError as error:  # the disk is full, or went away
        raise ConfigError(f"{name} could not be written to {target.parent} ({error}): pull again to go on") from error
    return target


def find(name: str) -> str:
    """Return the address of the newest file of that name in Kiwix's catalogue. Raise `ConfigError` if there is not one."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is no name in the library of Kiwix, such as wikipedia_zh_all_nopic")
    files = _listed(_FLAVOUR.sub("", name)) or _listed(name)  # a catalogue may count the flavour to the name
    fitting = {key: url for key, url in files.items() if key == name or _FLAVOUR.sub("", key) == name}
    if len(fitting) == 1 or name in fitting:
        return fitting.get(name) or next(iter(fitting.values()))
    have = ", ".join(sorted(fitting or files)) or "nothing like it"
    raise ConfigError(f"the library of Kiwix has no single file {name} (it has: {have}): name one, or give an address")


def _listed(name: str) -> dict[str, str]:
    """Return the newest address of each file that the catalogue has under a name."""
    catalogue = os.environ.get(VARIABLE) or CATALOGUE
    try:
        feed = ElementTree.fromstring(_get(catalogue, name=name, count="-1"))
    except ElementTree.ParseError as error:
        raise ConfigError(
            f"the catalogue {catalogue} cannot be read ({error}): give the file's address instead"
        ) from error
    files: dict[str, str] = {}
    for link in feed.iter(f"{_ATOM}link"):
        url = link.get("href", "").removesuffix(".meta4")
        if found := _DATED.fullmatch(url.rpartition("/")[2]):
            files[found[1]] = max(url, files.get(found[1], ""))
    return files


def _hash(url: str, given: str | None) -> str:
    stated = (given if given is not None else _get(f"{url}.sha256").partition(" ")[0]).strip().lower()
    if not SHA256.fullmatch(stated):
        what = "no SHA-256 is 64 hexadecimal digits" if given is not None else f"there is none in {url}.sha256"
        raise ConfigError(f"{url} needs a SHA-256 to be checked against ({what}): give it with --sha256")
    return stated


def _size(url: str) -> int:
    """Return the bytes that the server announces; 0 if it does not."""
    import httpx

    try:
        answer = httpx.head(url, follow_redirects=True, timeout=TIMEOUT, headers={"Accept-Encoding": "identity"})
    except httpx.HTTPError:
        return 0
    length = answer.headers.get("Content-Length", "") if answer.is_success else ""
    return int(length) if length.isdecimal() else 0


def _get(url: str, **parameters: str) -> str:
    import httpx

    try:
        answer = httpx.get(url, params=parameters or None, follow_redirects=True, timeout=TIMEOUT)
        if answer.status_code == 404 and not parameters:
            return ""
        answer.raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ConfigError(f"{url} could not be fetched: {first_line(error)}") from error
    return answer.text[:SHORT]
