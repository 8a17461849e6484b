"""Google Translate with Google's client library against a server on loopback, and what the library keeps per thread."""

import asyncio
import http.server
import json
import logging
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from haluagent.errors import ConfigError, SearchError, ToolError
from haluagent.protocols import Translator
from haluagent.search.providers.calls import Calls
from haluagent.search.providers.google_translate import (
    GoogleTranslator,
    TranslationError,
    TranslationQuotaExhausted,
    TranslationTimeout,
    resolve_translator,
)

KEY = "s3cr3t/Key"
HELLO = {"data": {"translations": [{"translatedText": "Tom & “Jerry” <b>", "detectedSourceLanguage": "zh-CN"}]}}


class Server:
    """Answers with what is queued, the last one again and again: a status with headers and a body, or "hang"."""

    def __init__(self) -> None:
        self.queue: list[Any] = [HELLO]
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        played = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                form = parse_qs(f"{url.query}&{body}")
                played.asked.append((url.path, {name: values[0] for name, values in form.items()}))
                what = played.queue.pop(0) if len(played.queue) > 1 else played.queue[0]
                if what == "hang":
                    played.over.wait(5)
                    return
                status, headers, content = what if isinstance(what, tuple) else (200, {}, what)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in (headers | {"content-length": str(len(data))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.over.set()
    server.http.shutdown()
    server.http.server_close()


class Clock:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def translator(server: Server, clock: Clock | None = None, **options: Any) -> GoogleTranslator:
    return GoogleTranslator(KEY, endpoint=server.url, calls=Calls(sleep=(clock or Clock()).sleep), **options)


def translate(server: Server, text: str = "汤姆", target: str = "en", source: str | None = None, **options: Any) -> str:
    return asyncio.run(translator(server, **options).translate(text, target, source))


def test_a_translation(server: Server) -> None:
    assert isinstance(translator(server), Translator)
    assert translate(server) == "Tom & “Jerry” <b>"
    assert server.asked == [
        ("/language/translate/v2", {"q": "汤姆", "target": "en", "format": "text", "key": KEY, "alt": "json"})
    ]


def test_chinese_is_simplified_chinese(server: Server) -> None:
    translate(server, "Tom", "zh", "ko")
    assert server.asked[0][1]["target"] == "zh-CN" and server.asked[0][1]["source"] == "ko"
    translate(server, "汤姆", "en", "zh")
    assert server.asked[1][1]["source"] == "zh-CN"


def test_a_long_text_goes_through(server: Server) -> None:
    text = "很长的文本。" * 1000
    assert translate(server, text)
    assert server.asked[0][1]["q"] == text


def test_nothing_to_translate(server: Server) -> None:
    assert translate(server, " \n") == " \n" and server.asked == []


def test_half_a_character_is_no_problem(server: Server) -> None:
    assert translate(server, "a\ud800b") and server.asked[0][1]["q"] == "a\ufffdb"


def test_a_busy_service(server: Server) -> None:
    clock = Clock()
    server.queue = [(429, {"retry-after": "4"}, b""), (500, {}, b""), HELLO]
    assert translate(server, clock=clock)
    assert clock.waits[0] == 4 and len(server.asked) == 3


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((429, {}, b""), TranslationQuotaExhausted, "429; tries: 3"),
        ((403, {}, {"error": {"errors": [{"reason": "dailyLimitExceeded"}]}}), TranslationQuotaExhausted, "403 daily"),
        ((403, {}, {"error": {"status": "PERMISSION_DENIED"}}), TranslationError, "Cloud Translation API"),
        ((401, {}, b""), TranslationError, "check GOOGLE_API_KEY"),
        ((400, {}, {"error": {"message": f"API key {KEY} not valid."}}), TranslationError, "check GOOGLE_API_KEY"),
        ((400, {}, {"error": {"message": "Invalid Value"}}), TranslationError, "check the language codes"),
        ((500, {}, b"oops"), TranslationError, "failed .500; tries: 3"),
        ((302, {"location": "https://example.org"}, b""), TranslationError, "moved"),
        ("hang", TranslationTimeout, "0.2 s; tries: 3"),
        ((200, {}, b'{"data": '), TranslationError, "not JSON"),
        ((200, {}, b"\xff\xfe\xfd"), TranslationError, "not a JSON object"),
        ((200, {}, 5), TranslationError, "not a JSON object"),
        ({"data": {}}, TranslationError, "no translation"),
        ({"data": {"translations": [{"translatedText": 5}]}}, TranslationError, "no translation"),
    ],
)
def test_failures(answer: Any, error: type, message: str, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.queue = [answer]
    with pytest.raises(error, match=message) as raised:
        translate(server, timeout=0.2 if answer == "hang" else 30)
    assert type(raised.value) is error
    assert isinstance(raised.value, ToolError) and not isinstance(raised.value, SearchError)
    known: BaseException | None = raised.value
    while known is not None:
        assert KEY not in str(known) and "\n" not in str(known)
        known = known.__cause__ or known.__context__
    assert KEY not in caplog.text and "s3cr3t" not in caplog.text


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name server is asked: whatever is no address is unknown."""

    def unknown(*args: object, **more: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)


def test_nobody_there(nameless: None) -> None:
    broken = GoogleTranslator(KEY, endpoint="http://no.such.host.invalid", calls=Calls(sleep=Clock().sleep))
    with pytest.raises(TranslationError, match="was not found"):
        asyncio.run(broken.translate("a", "zh"))


def test_translations_on_several_loops_at_once(server: Server) -> None:
    shared = translator(server)
    done: list[str] = []

    async def some() -> None:
        done.extend(await asyncio.gather(*(shared.translate(f"t{i}", "en") for i in range(4))))

    threads = [threading.Thread(target=asyncio.run, args=(some(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 16


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> pytest.MonkeyPatch:
    for name in ("GOOGLE_API_KEY", "HALUAGENT_TRANSLATOR", "HALUAGENT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return monkeypatch


def test_the_model_translates_where_there_is_no_key(settings: pytest.MonkeyPatch) -> None:
    assert resolve_translator() is None and resolve_translator("model") is None
    with pytest.raises(ConfigError, match="set GOOGLE_API_KEY"):
        resolve_translator("google")
    with pytest.raises(ConfigError, match="no translator 'deepl': use auto, google or model"):
        resolve_translator("deepl")


def test_google_translates_where_there_is_a_key(settings: pytest.MonkeyPatch) -> None:
    settings.setenv("GOOGLE_API_KEY", KEY)
    assert isinstance(resolve_translator(), GoogleTranslator)
    assert resolve_translator("model") is None
    settings.setenv("HALUAGENT_TRANSLATOR", "model")  # the key is there for something else
    assert resolve_translator() is None
    assert isinstance(resolve_translator("google"), GoogleTranslator)
