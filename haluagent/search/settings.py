"""The settings of the searches: the table `[search]` of the config file, and the environment over it."""

import os
from typing import Annotated

from pydantic import Field, ValidationError

from ..errors import ConfigError
from ..types import Record

Key = Annotated[str, Field(pattern=r"^[!-~]+$")]  # visible ASCII, as it has to go into a request's head

VARIABLES = {
    "provider": "HALUAGENT_SEARCH",
    "searxng_url": "HALUAGENT_SEARXNG_URL",
    "mediawiki_url": "HALUAGENT_MEDIAWIKI_URL",
    "contact": "HALUAGENT_CONTACT",
    "google_api_key": "GOOGLE_API_KEY",
    "google_cse_id": "GOOGLE_CSE_ID",
    "serper_api_key": "SERPER_API_KEY",
    "max_queries": "HALUAGENT_SEARCH_MAX_QUERIES",
}


class SearchSettings(Record):
    """All of it is optional. `timeout` and `interval` (between two requests) are in seconds, `keep_days` is how long
    answers stay in the cache; 0 keeps none."""

    provider: str | None = None
    searxng_url: str | None = None
    mediawiki_url: str | None = None
    contact: Key | None = None
    google_api_key: Key | None = None
    google_cse_id: str | None = None
    serper_api_key: Key | None = None
    max_queries: int | None = Field(default=None, ge=0)
    timeout: float = Field(default=10.0, gt=0)
    interval: float | None = Field(default=None, ge=0)
    keep_days: float = Field(default=7.0, ge=0)


def read_search_settings() -> SearchSettings:
    """Raises ConfigError, naming the variable or the key, where a value is not one that can be."""
    from ..models.config import read_settings

    given = {key: value for key, name in VARIABLES.items() if (value := os.environ.get(name, "").strip())}
    try:
        return SearchSettings.model_validate(read_settings().search.model_dump() | given)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise ConfigError(f"{VARIABLES[str(first['loc'][0])]}: {first['msg']}") from None
