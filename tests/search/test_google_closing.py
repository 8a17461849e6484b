"""Google's Custom Search JSON API closes: a warning, then an error, the successor, and the way of a configuration to another search."""

import logging
import re
import stat
import tomllib
from datetime import date, timedelta
from pathlib import Path

import pytest

from haluagent.cli import main as cli
from haluagent.errors import ConfigError
from haluagent.search import migration, resolve
from haluagent.search.providers import google
from haluagent.search.providers.google import CLOSES, GoogleSearch
from haluagent.search.providers.vertex import VertexSearch
from haluagent.search.service import SearchService
from haluagent.settings import VARIABLES, read_search_settings

CONFIG = """# mine
base_url = "http://x"   # keep

[search]  # the search
provider = "google"  # old
google_api_key = "s3cr3t"
google_cse_id = "engine"
max_queries = 3
"""


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*VARIABLES.values(), "HALUAGENT_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "config.toml"
    path.write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("HALUAGENT_CONFIG", str(path))
    google._warn.cache_clear()
    return path


def test_before_the_day_it_works_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        assert isinstance(resolve(today=lambda: CLOSES - timedelta(1)), SearchService)
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "2027-01-01" in warning.getMessage() and "haluagent search migrate" in warning.getMessage()
    assert "s3cr3t" not in caplog.text


@pytest.mark.parametrize("name", ["auto", "google"])
def test_from_the_day_on_one_error_names_the_alternatives(name: str) -> None:
    for day in (CLOSES, date(2031, 5, 1)):
        with pytest.raises(ConfigError, match="closed .* on 2027-01-01") as raised:
            resolve(name, today=lambda day=day: day)
        said = str(raised.value)
        assert all(target in said for target in migration.TARGETS) and "\n" not in said and "s3cr3t" not in said
    assert resolve("none", today=lambda: CLOSES) is None


def test_another_server_behind_the_same_client_stays_open() -> None:
    assert GoogleSearch("k", "e", endpoint="http://127.0.0.1:1", today=lambda: CLOSES).name == "google"


def test_the_successor_is_used_where_its_address_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_SEARCH_URL", "https://x.invalid/v1/engines/e/servingConfigs/s:searchLite")
    monkeypatch.setenv("HALUAGENT_SEARCH", "vertex")
    found = resolve(today=lambda: CLOSES)
    assert isinstance(found, SearchService) and isinstance(found.provider, VertexSearch)


def test_a_migration_says_what_it_changes_and_writes_only_when_told(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    move = ["search", "migrate", "searxng", "--url", "http://me:hidden@127.0.0.1:8080"]
    assert cli.run(move) == 0
    said = capsys.readouterr().out
    assert 'provider = "searxng" (was "google")' in said and "nothing is written" in said
    assert "hidden" not in said and "s3cr3t" not in said and config.read_text("utf-8") == CONFIG
    config.chmod(0o600)
    assert cli.run([*move, "--write"]) == 0
    assert config.with_name("config.toml.1.bak").read_text("utf-8") == CONFIG
    text = config.read_text("utf-8")
    assert '# mine\nbase_url = "http://x"   # keep\n\n[search]  # the search\n' in text
    assert tomllib.loads(text)["search"] == {
        "provider": "searxng",
        "searxng_url": "http://me:hidden@127.0.0.1:8080",
        "google_api_key": "s3cr3t",
        "max_queries": 3,
    }
    assert stat.S_IMODE(config.stat().st_mode) == 0o600 and len(list(config.parent.iterdir())) == 2
    assert read_search_settings().provider == "searxng"
    assert cli.run([*move, "--write"]) == 0 and "already" in capsys.readouterr().out


def test_without_a_file_one_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HALUAGENT_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new"))
    assert migration.write(migration.plan("mediawiki")) is None
    assert read_search_settings().provider == "mediawiki"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["bing"], "no way to move to 'bing'"),
        (["google"], "no way to move to 'google'"),
        (["searxng"], "needs HALUAGENT_SEARXNG_URL: .* or give --url"),
        (["searxng", "--url", "ftp://x"], "--url is no http"),
        (["serper"], "needs SERPER_API_KEY"),
        (["serper", "--url", "http://x"], "leave out --url"),
        (["local"], "there is no index"),
    ],
)
def test_what_is_missing_is_said(
    arguments: list[str], complaint: str, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["search", "migrate", *arguments, "--write"]) == 2
    assert re.search(complaint, capsys.readouterr().err) and config.read_text("utf-8") == CONFIG


@pytest.mark.parametrize(
    "text",
    [
        'search = {provider = "google"}\n',
        'search.provider = "google"\n',
        '[search]\nprovider = """\ngoogle"""\n',
        '["search"]\n',
    ],
)
def test_a_file_that_is_written_otherwise_is_left_to_its_owner(text: str, config: Path) -> None:
    config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match='do it by hand: provider = "mediawiki"'):
        migration.plan("mediawiki")
    assert config.read_text("utf-8") == text


def test_a_file_that_changed_meanwhile_is_not_overwritten(config: Path) -> None:
    planned = migration.plan("mediawiki")
    config.write_text("[search]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        migration.write(planned)
    assert config.read_text("utf-8") == "[search]\n" and len(list(config.parent.iterdir())) == 1


def test_the_environment_that_wins_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HALUAGENT_SEARCH", "google")
    assert cli.run(["search", "migrate", "mediawiki"]) == 0
    assert "HALUAGENT_SEARCH=google is set in the environment" in capsys.readouterr().out
    monkeypatch.setenv("HALUAGENT_SEARXNG_URL", "http://127.0.0.1:1")
    assert cli.run(["search", "migrate", "searxng", "--url", "http://127.0.0.1:2"]) == 0
    assert "HALUAGENT_SEARXNG_URL is set in the environment" in capsys.readouterr().out
    assert cli.run(["search", "migrate"]) == 0
    assert "set: google, by HALUAGENT_SEARCH" in capsys.readouterr().out
