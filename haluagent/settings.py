"""The user's settings, from the config file and the environment (which wins), and the folders for files."""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from haluagent.errors import ConfigError
from haluagent.types import Record

Key = Annotated[str, Field(pattern=r"^[!-~]+$")]  # visible ASCII, because it goes into a request header

VARIABLES = {
    "provider": "HALUAGENT_SEARCH",
    "searxng_url": "HALUAGENT_SEARXNG_URL",
    "mediawiki_url": "HALUAGENT_MEDIAWIKI_URL",
    "contact": "HALUAGENT_CONTACT",
    "google_api_key": "GOOGLE_API_KEY",
    "google_cse_id": "GOOGLE_CSE_ID",
    "google_search_url": "GOOGLE_SEARCH_URL",
    "serper_api_key": "SERPER_API_KEY",
    "doi_registry": "HALUAGENT_DOI_REGISTRY",
    "cited_pages": "HALUAGENT_CITED_PAGES",
    "max_queries": "HALUAGENT_SEARCH_MAX_QUERIES",
}


Dialect = Literal["llama.cpp", "vllm", "plain"]  # the server's syntax for constrained output


class SearchSettings(Record):
    """The settings of search; all are optional.

    `timeout` and `interval` (between two requests) are in seconds. `keep_days` is how long answers stay in the cache; 0
    keeps none. `doi_registry` is the address of a registry to look DOIs up in, and with `cited_pages` the pages that a response
    cites are asked for.
    """

    provider: str | None = None
    searxng_url: str | None = None
    mediawiki_url: str | None = None
    contact: Key | None = None
    google_api_key: Key | None = None
    google_cse_id: str | None = None
    google_search_url: str | None = None
    serper_api_key: Key | None = None
    doi_registry: str | None = None
    cited_pages: bool = False
    max_queries: int | None = Field(default=None, ge=0)
    timeout: float = Field(default=10.0, gt=0)
    interval: float | None = Field(default=None, ge=0)
    keep_days: float = Field(default=7.0, ge=0)


class Settings(Record):
    """The config file; every key is optional. `context` is in tokens, `timeout` in seconds per try.

    `model`, `adapter`, `calibration` (a file that `haluagent calibrate --write` wrote) and `api_key` belong to the
    `base_url` beside them: an endpoint named elsewhere gets none of them.
    """

    base_url: str | None = None
    model: str | None = None
    adapter: str | None = None
    calibration: str | None = None
    api_key: str | None = None
    dialect: Dialect | None = None
    context: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    search: SearchSettings = SearchSettings()


def config_path() -> Path:
    """Return the config file's path, whether or not it exists: `HALUAGENT_CONFIG`, or in the user's config
    directory."""
    if given := os.environ.get("HALUAGENT_CONFIG"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_config_dir("haluagent")) / "config.toml"


def cache_dir() -> Path:
    """Return the directory for weights and caches: `HALUAGENT_CACHE`, or the user's cache directory."""
    if given := os.environ.get("HALUAGENT_CACHE"):
        return Path(given)
    import platformdirs

    return Path(platformdirs.user_cache_dir("haluagent"))


def read_settings() -> Settings:
    """Read the config file; without a file, return empty settings.

    Raise a `ConfigError` that names the file and the key.
    """
    path = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if "HALUAGENT_CONFIG" in os.environ and os.environ["HALUAGENT_CONFIG"]:
            raise ConfigError(f"{path} does not exist: correct HALUAGENT_CONFIG or unset it") from None
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    try:
        return Settings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        table = SearchSettings if len(first["loc"]) > 1 else Settings
        known = f"; known keys are {', '.join(table.model_fields)}" if first["type"] == "extra_forbidden" else ""
        raise ConfigError(f"{path}: key {key!r}: {first['msg']}{known}") from None  # the cause would show the value


def read_search_settings() -> SearchSettings:
    """Read the search settings; environment variables win over the config file.

    Raise a `ConfigError` that names the variable or the key if a value is invalid.
    """
    given = {key: value for key, name in VARIABLES.items() if (value := os.environ.get(name, "").strip())}
    try:
        return SearchSettings.model_validate(read_settings().search.model_dump() | given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ConfigError(f"{VARIABLES[str(first['loc'][0])]}: {first['msg']}") from None
