"""Which model is used: flag, then environment, then config file, then the embedded default."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError, ModelError
from haluagent.models import adapters
from haluagent.models.client import OpenAIModel
from haluagent.models.engines.embedded import EmbeddedModel
from haluagent.models.resolution import resolve
from haluagent.models.weights import catalogue
from haluagent.settings import cache_dir, config_path


class Listing(ThreadingHTTPServer):
    """A server that lists one model, `only`, and remembers which keys it was shown."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []
        keys = self.keys

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                keys.append(self.headers["Authorization"])
                data = json.dumps({"data": [{"id": "only", "owned_by": "vllm", "max_model_len": 1000}]}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@pytest.fixture
def server() -> Iterator[Listing]:
    with Listing() as server:
        yield server
        server.shutdown()


@pytest.fixture
def other() -> Iterator[Listing]:
    with Listing() as server:
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without settings."""
    for name in ("BASE_URL", "MODEL", "API_KEY", "ADAPTER", "CONFIG", "CACHE", "OFFLINE"):
        monkeypatch.delenv(f"HALUAGENT_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(adapters, "FOLDER", tmp_path / "no-adapters")
    return tmp_path


def write_config(text: str) -> None:
    config_path().parent.mkdir(parents=True)
    config_path().write_text(text, encoding="utf-8")


def test_the_default_is_embedded_and_loads_nothing() -> None:
    model = resolve()
    assert isinstance(model, EmbeddedModel)
    assert (model.name, model.context) == (catalogue.DEFAULT, 8192)


def test_an_endpoint_is_asked_for_its_only_model(server: Listing) -> None:
    model = resolve(base_url=server.url)
    assert isinstance(model, OpenAIModel)
    assert (model.name, model.context, model.dialect) == ("only", 1000, "vllm")


def test_a_flag_comes_before_the_environment(server: Listing, other: Listing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALUAGENT_BASE_URL", other.url)
    monkeypatch.setenv("HALUAGENT_MODEL", "from-environment")
    monkeypatch.setenv("HALUAGENT_API_KEY", "environment-key")
    assert resolve().name == "from-environment" and other.keys == ["Bearer environment-key"]
    assert resolve(model="m", base_url=server.url, api_key="k").name == "m"
    assert server.keys == ["Bearer k"] and len(other.keys) == 1


def test_the_environment_comes_before_the_file(
    server: Listing, other: Listing, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(f'base_url = "{other.url}"\nmodel = "from-file"\napi_key = "file-key"\ncontext = 77\n')
    model = resolve()
    assert (model.name, model.context, other.keys) == ("from-file", 77, ["Bearer file-key"])
    monkeypatch.setenv("HALUAGENT_BASE_URL", server.url)
    # Another endpoint gets neither the name nor the key that the file keeps for its own.
    assert (resolve().name, resolve().context, server.keys) == ("only", 1000, [None, None])


def test_the_file_can_name_embedded_weights_and_their_context() -> None:
    write_config('model = "smollm2-135m-instruct-q4_1"\ncontext = 2048\n')
    model = resolve()
    assert isinstance(model, EmbeddedModel)
    assert (model.name, model.context) == ("smollm2-135m-instruct-q4_1", 2048)


def test_a_path_to_a_gguf_file_is_embedded(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF")
    assert isinstance(resolve(str(file)), EmbeddedModel)


@pytest.mark.parametrize("name", ["gpt-4o", "missing.gguf"])
def test_a_name_that_nothing_has_needs_a_base_url(name: str) -> None:
    with pytest.raises(ConfigError, match="--base-url"):
        resolve(name)


def test_an_endpoint_that_is_not_there() -> None:
    with pytest.raises(ModelError, match="is the server running"):
        resolve(base_url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('base_ulr = "http://x"', "key 'base_ulr'.*known keys are base_url"),
        ('context = "many"', "key 'context'"),
        ('dialect = "ollama"', "key 'dialect'"),
        ("base_url = ", "is not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_named(text: str, complaint: str) -> None:
    write_config(text)
    with pytest.raises(ConfigError, match=complaint) as raised:
        resolve()
    assert str(config_path()) in str(raised.value) and "\n" not in str(raised.value)


def test_a_config_file_that_was_asked_for_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALUAGENT_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(ConfigError, match="none.toml does not exist"):
        resolve()


def test_the_cache_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_dir() == tmp_path / "cache" / "haluagent"
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "elsewhere"))
    assert cache_dir() == tmp_path / "elsewhere"


def test_offline_forbids_the_download(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALUAGENT_OFFLINE", "1")
    with pytest.raises(ConfigError, match="haluagent model pull qwen"):
        EmbeddedModel().path()
