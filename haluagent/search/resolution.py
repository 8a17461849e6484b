"""The choice of a search: flag, then environment, then config file, then the index of the user's own documents."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from haluagent.errors import ConfigError
from haluagent.protocols import SearchProvider
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.place import default_path, exists, packs_path
from haluagent.settings import VARIABLES, SearchSettings, cache_dir, config_path, read_search_settings

if TYPE_CHECKING:
    from haluagent.search.service import OnlineProvider

NAMES = ("auto", "local", "searxng", "mediawiki", "vertex", "google", "serper", "none")
INTERVALS = {
    "searxng": 0.5,
    "mediawiki": 0.1,
    "vertex": 0.2,
    "google": 0.5,
    "serper": 0.2,
}  # seconds between two requests


def resolve(
    name: str = "auto",
    *,
    index: Path | None = None,
    fetch_pages: bool = False,
    max_queries: int | None = None,
    today: Callable[[], date] = date.today,
) -> SearchProvider | None:
    """Return the provider to search with, or None if there is none.

    `auto` is the one named by HALUAGENT_SEARCH or the config file; else the one whose address or keys are set; else the
    local index with its packs, if there is one. So nothing leaves the machine that the user did not configure. `index` is the file of
    the local index; `fetch_pages` reads the pages that are found; `max_queries` is the budget of online queries; `today`
    says whether Google's API is still open. Raise `ConfigError` if a name is unknown, a setting is missing, or the API is closed.
    """
    settings = read_search_settings()
    if name == "auto":
        name = "local" if index else settings.provider or "auto"
    if name not in NAMES:
        raise ConfigError(f"there is no search {name!r}: use one of {', '.join(NAMES)}")
    if name == "auto":
        name = _configured(settings)
    if name in ("auto", "local"):
        return _local(index, required=name == "local")
    if name == "none":
        return None
    if max_queries is not None:
        settings = settings.model_copy(update={"max_queries": max_queries})
    return _online(name, settings, fetch_pages, today)


def _configured(settings: SearchSettings) -> str:
    if settings.searxng_url:
        return "searxng"
    if settings.google_api_key and settings.google_search_url:
        return "vertex"
    if settings.google_api_key and settings.google_cse_id:
        return "google"
    return "serper" if settings.serper_api_key else "auto"


def _local(path: Path | None, required: bool) -> SearchProvider | None:
    path = path or default_path()
    if packs_path(path).is_file():
        from haluagent.search.knowledge.library import Library

        return Library(path)
    if exists(path):
        return LocalIndex(path)
    if required:
        raise ConfigError(
            f"there is no index {path}: make one with `haluagent index add PATH` or `haluagent knowledge add FILE`"
        )
    return None


def _online(name: str, settings: SearchSettings, fetch_pages: bool, today: Callable[[], date]) -> SearchProvider:
    # Imported here, as the providers below: a detection that goes online nowhere needs none of them.
    from haluagent.search.cache import FILE, Cache
    from haluagent.search.service import DAY, SearchService

    keep = settings.keep_days * DAY
    read_pages = None
    if fetch_pages:
        from haluagent.search.pages.reading import Pages

        read_pages = Pages().add_passages
    return SearchService(
        _provider(name, settings, today),
        cache=Cache(cache_dir() / FILE) if keep else None,
        keep=keep,
        max_queries=settings.max_queries,
        read_pages=read_pages,
    )


def _provider(name: str, settings: SearchSettings, today: Callable[[], date]) -> "OnlineProvider":
    from haluagent.search.providers.calls import Calls

    interval = INTERVALS[name] if settings.interval is None else settings.interval
    calls = Calls(interval=interval)
    timeout = settings.timeout
    if name == "searxng":
        from haluagent.search.providers.searxng import SearXNG

        return SearXNG(_needed(settings, "searxng_url"), timeout=timeout, calls=calls)
    if name == "mediawiki":
        from haluagent.search.providers.mediawiki import URL, MediaWiki

        return MediaWiki(settings.mediawiki_url or URL, contact=settings.contact, timeout=timeout, calls=calls)
    if name == "google":
        from haluagent.search.providers.google import GoogleSearch

        key, engine = _needed(settings, "google_api_key"), _needed(settings, "google_cse_id")
        return GoogleSearch(key, engine, timeout=timeout, calls=calls, today=today)
    if name == "vertex":
        from haluagent.search.providers.vertex import VertexSearch

        key, url = _needed(settings, "google_api_key"), _needed(settings, "google_search_url")
        return VertexSearch(key, url, timeout=timeout, calls=calls)
    from haluagent.search.providers.serper import Serper

    return Serper(_needed(settings, "serper_api_key"), timeout=timeout, calls=calls)


def _needed(settings: SearchSettings, key: str) -> str:
    value = getattr(settings, key)
    if not value:
        raise ConfigError(f"this search needs {VARIABLES[key]}: set it, or {key} under [search] in {config_path()}")
    return str(value)
