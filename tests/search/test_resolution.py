"""Which search is used: flag, then environment, then config file, then the index of the user's own documents."""

import asyncio
import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from haluagent.errors import ConfigError
from haluagent.protocols import SearchProvider
from haluagent.search import resolve
from haluagent.search.index.local import LocalIndex
from haluagent.search.index.place import default_path
from haluagent.search.providers.google import GoogleSearch
from haluagent.search.providers.mediawiki import MediaWiki
from haluagent.search.providers.searxng import SearXNG
from haluagent.search.providers.serper import Serper
from haluagent.search.providers.vertex import VertexSearch
from haluagent.search.service import DAY, SearchService
from haluagent.settings import VARIABLES, SearchSettings, config_path, read_search_settings


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings."""
    for name in (*VARIABLES.values(), "HALUAGENT_CONFIG", "HALUAGENT_CACHE", "HALUAGENT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    for kind in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    return tmp_path


def write_config(text: str) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(text, encoding="utf-8")


def online(provider: SearchProvider | None) -> object:
    """The provider inside the service."""
    assert isinstance(provider, SearchService)
    return provider.provider


def test_nothing_goes_online_unasked() -> None:
    assert resolve() is None
    assert resolve("none") is None


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({"HALUAGENT_SEARXNG_URL": "http://127.0.0.1:8080"}, SearXNG),
        ({"GOOGLE_API_KEY": "k", "GOOGLE_CSE_ID": "e"}, GoogleSearch),
        ({"GOOGLE_API_KEY": "k", "GOOGLE_CSE_ID": "e", "GOOGLE_SEARCH_URL": "https://x.invalid/s"}, VertexSearch),
        ({"SERPER_API_KEY": "k"}, Serper),
        ({"HALUAGENT_SEARCH": "mediawiki"}, MediaWiki),
        ({"HALUAGENT_SEARCH": "serper", "SERPER_API_KEY": "k", "HALUAGENT_SEARXNG_URL": "http://x"}, Serper),
    ],
)
def test_what_is_configured_is_used(environment: dict[str, str], kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert isinstance(online(resolve(today=lambda: date(2026, 12, 31))), kind)
    assert resolve("none") is None


@pytest.mark.parametrize(
    "environment",
    [
        {"GOOGLE_API_KEY": "k"},
        {"HALUAGENT_MEDIAWIKI_URL": "https://w/api.php"},
        {"HALUAGENT_SEARCH": "none", "SERPER_API_KEY": "k"},
    ],
)
def test_what_is_not_configured_enough(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of Google's alone may be there for something else; a wiki is used only by name."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert resolve() is None


def test_the_local_index_comes_last_and_only_where_there_is_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "note.txt").write_text("Canberra is the capital of Australia.", encoding="utf-8")
    LocalIndex().add([home / "note.txt"])
    for found in (resolve(), resolve("local")):
        assert isinstance(found, LocalIndex) and found.path == default_path()
        assert asyncio.run(found.search("capital of Australia"))[0].text == "Canberra is the capital of Australia."
    other = home / "other.db"
    LocalIndex(other).add([home / "note.txt"])
    monkeypatch.setenv("HALUAGENT_SEARXNG_URL", "http://127.0.0.1:8080")
    assert isinstance(online(resolve()), SearXNG)
    found = resolve(index=other)  # who names an index wants it searched
    assert isinstance(found, LocalIndex) and found.path == other
    assert isinstance(online(resolve("searxng", index=other)), SearXNG)
    with pytest.raises(ConfigError, match="there is no index .*none.db"):
        resolve(index=home / "none.db")


def test_the_file_then_the_environment_then_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    write_config('[search]\nprovider = "serper"\nserper_api_key = "k"\nmax_queries = 3\nsearxng_url = "http://file"\n')
    assert isinstance(online(resolve()), Serper)
    monkeypatch.setenv("HALUAGENT_SEARCH", "searxng")
    found = online(resolve())
    assert isinstance(found, SearXNG) and found.endpoint == "http://file/search"
    monkeypatch.setenv("HALUAGENT_SEARXNG_URL", "http://environment")
    found = online(resolve())
    assert isinstance(found, SearXNG) and found.endpoint == "http://environment/search"
    assert isinstance(online(resolve("mediawiki")), MediaWiki)
    assert resolve("none") is None


def test_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    def budget(flag: int | None = None) -> int | None:
        service = resolve("mediawiki", max_queries=flag)
        assert isinstance(service, SearchService)
        return service._max_queries

    assert budget() is None and budget(0) == 0
    write_config("[search]\nmax_queries = 3\n")
    assert budget() == 3
    monkeypatch.setenv("HALUAGENT_SEARCH_MAX_QUERIES", "5")
    assert budget() == 5 and budget(7) == 7


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("searxng", "needs HALUAGENT_SEARXNG_URL"),
        ("google", "needs GOOGLE_API_KEY"),
        ("serper", "needs SERPER_API_KEY: set it, or serper_api_key under .search. in"),
        ("bing", "no search 'bing': use one of auto, local, searxng, mediawiki, vertex, google, serper, none"),
        ("local", "there is no index .*haluagent index add"),
    ],
)
def test_what_is_missing_is_named(name: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as raised:
        resolve(name)
    assert "\n" not in str(raised.value)


def test_google_needs_an_engine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    with pytest.raises(ConfigError, match="needs GOOGLE_CSE_ID"):
        resolve("google")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HALUAGENT_SEARCH_MAX_QUERIES", "many"),
        ("HALUAGENT_SEARCH_MAX_QUERIES", "-1"),
        ("SERPER_API_KEY", "s3cr3t\ts3cr3t"),
    ],
)
def test_a_value_that_cannot_be_is_named_and_not_shown(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name) as raised:
        read_search_settings()
    assert "s3cr3t" not in str(raised.value)


def test_a_mistake_in_the_file_is_named() -> None:
    write_config("[search]\nproviders = 1\n")
    with pytest.raises(ConfigError, match="key 'search.providers'.*known keys are provider, searxng_url"):
        resolve()


def test_a_key_in_the_file_is_not_shown() -> None:
    write_config('[search]\nserper_api_key = ["s3cr3t"]\n')
    with pytest.raises(ConfigError, match="key 'search.serper_api_key'") as raised:
        resolve()
    assert "s3cr3t" not in str(raised.value) and raised.value.__suppress_context__


def test_every_variable_is_a_setting() -> None:
    assert VARIABLES.keys() <= SearchSettings.model_fields.keys()


def test_the_cache_is_in_the_cache_directory(home: Path) -> None:
    service = resolve("mediawiki")
    assert isinstance(service, SearchService) and service._cache is not None
    assert service._cache.path == home / "cache" / "haluagent" / "search.sqlite3"
    assert service._keep == 7 * DAY
    write_config("[search]\nkeep_days = 0\n")
    service = resolve("mediawiki")
    assert isinstance(service, SearchService) and service._cache is None


def test_pages_are_read_where_asked() -> None:
    for asked in (False, True):
        service = resolve("mediawiki", fetch_pages=asked)
        assert isinstance(service, SearchService) and (service._read_pages is not None) == asked


def test_importing_loads_no_client() -> None:
    heavy = ["httpx", "tenacity", "googleapiclient", "httplib2", "sqlite3", "bs4", "pypdf"]
    code = f"import sys, json, haluagent.search; print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
