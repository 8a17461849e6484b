"""Google Translate, through the Cloud Translation API v2. https://cloud.google.com/translate/docs/reference/rest/v2"""

import os

from haluagent.errors import ConfigError, ToolError
from haluagent.protocols import Translator
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.failures import Failure, Kind, Service
from haluagent.search.providers.google_api import CHINESE, KEY_SETTING, GoogleApi, is_installed
from haluagent.search.providers.results import whole
from haluagent.settings import read_search_settings

PATH = "/language/translate/"
SERVICE = Service(
    "Google Translate",
    key=KEY_SETTING,
    refusal="google_translate",
)


class TranslationError(ToolError):
    """A translation could not be made."""


class TranslationQuotaExhausted(TranslationError):
    """The translation service allows no more requests for now."""


class TranslationTimeout(TranslationError):
    """The translation service did not answer in time."""


_ERRORS: dict[Kind, type[TranslationError]] = {
    "quota": TranslationQuotaExhausted,
    "busy": TranslationQuotaExhausted,
    "timeout": TranslationTimeout,
}


class GoogleTranslator:
    """Google Translate with an API key.

    `endpoint` is the address of the server, if it is not Google's; `timeout` is in seconds per try.
    """

    name = "google"

    def __init__(
        self, key: str, *, endpoint: str | None = None, timeout: float = 10.0, calls: Calls | None = None
    ) -> None:
        address = endpoint.rstrip("/") + PATH if endpoint else None
        self._api = GoogleApi("translate", "v2", key, endpoint=address, timeout=timeout, calls=calls or Calls())

    async def translate(self, text: str, target: str, source: str | None = None) -> str:
        """Translate a text; see `Translator.translate`.

        Raise `TranslationError`, `TranslationQuotaExhausted` or `TranslationTimeout`.
        """
        if not text.strip():
            return text
        languages = {"target": _code(target)} | ({"source": _code(source)} if source else {})
        try:
            answer = await self._api.call(
                lambda api: api.translations().list(q=[whole(text)], format="text", **languages)
            )
            return _read(answer.get("translations"))
        except Failure as failure:
            error = _ERRORS.get(failure.kind, TranslationError)(SERVICE.explain(failure, "en"))
        raise error


def resolve_translator(name: str = "auto") -> Translator | None:
    """Return the translator that the settings name, or None if the model is to translate.

    `google` needs a key, `model` uses none, and `auto` is the value of HALUAGENT_TRANSLATOR, or else `google` if there
    is a key and the extra `google` is installed. Raise `ConfigError` if the name is unknown, or the key or the extra is
    missing.
    """
    if name == "auto":
        name = os.environ.get("HALUAGENT_TRANSLATOR") or "auto"
    if name not in ("auto", "google", "model"):
        raise ConfigError(f"there is no translator {name!r}: use auto, google or model")
    key = read_search_settings().google_api_key
    if name == "model" or (name == "auto" and not (key and is_installed())):
        return None
    if not key:
        raise ConfigError(f"the translator google needs a key: set {KEY_SETTING}")
    return GoogleTranslator(key)


def _code(language: str) -> str:
    return CHINESE if language == "zh" else language


def _read(translations: object) -> str:
    first = translations[0] if isinstance(translations, list) and translations else None
    text = first.get("translatedText") if isinstance(first, dict) else None
    if not isinstance(text, str):
        raise Failure("answer", "no translation")
    return whole(text)
