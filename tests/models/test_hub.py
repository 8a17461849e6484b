"""Weights from a hub: the real client of huggingface_hub against a hub on loopback."""

import hashlib
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError
from haluagent.models.weights import catalogue, hub, store

CONTENT = random.Random(2).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "hf:someone/small-GGUF/small-q4.gguf"


class Hub(ThreadingHTTPServer):
    """Serves one file as a model hub does. `states` is the hash it states; after `breaks_at` bytes it hangs up once."""

    def __init__(self) -> None:
        self.states = SHA256
        self.breaks_at: int | None = None
        self.asked: list[tuple[str, str, str | None]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.answer()

            def do_GET(self) -> None:
                self.answer()

            def answer(self) -> None:
                wanted = self.headers["Range"]
                hub.asked.append((self.command, self.path, wanted))
                file = self.path in [f"/someone/small-GGUF/resolve/{r}/small-q4.gguf" for r in ("main", "v2", COMMIT)]
                start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
                data = CONTENT[start:] if file else b""
                self.send_response((206 if start else 200) if file else 404)
                if file:
                    self.send_header("ETag", f'"{hub.states}"')
                    self.send_header("X-Repo-Commit", COMMIT)
                    self.send_header("X-Linked-ETag", f'"{hub.states}"')
                    self.send_header("X-Linked-Size", str(len(CONTENT)))
                    self.send_header("Accept-Ranges", "bytes")
                    if start:
                        self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
                else:
                    self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command == "GET":
                    broken, hub.breaks_at = hub.breaks_at, None
                    self.wfile.write(data[:broken])
                    self.close_connection = broken is not None

            def log_message(self, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
        yield server
        server.shutdown()


def test_a_file_is_fetched_verified_and_there_once(server: Hub, capfd: pytest.CaptureFixture[str]) -> None:
    steps: list[tuple[int, int]] = []
    place = catalogue.pull(NAME, lambda done, total: steps.append((done, total)))
    assert place.read_bytes() == CONTENT and catalogue.path(NAME) == place
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    here = [file.name for file in store.folder().rglob("*") if file.is_file()]
    assert sorted(here) == [".small-q4.gguf.lock", "small-q4.gguf"]
    assert [found.name for found in catalogue.installed()] == [NAME]
    # The version whose hash was read is the version that was fetched.
    assert ("GET", f"/someone/small-GGUF/resolve/{COMMIT}/small-q4.gguf", "bytes=0-") in server.asked
    assert capfd.readouterr().err == ""
    asked = len(server.asked)
    assert catalogue.pull(NAME) == place and len(server.asked) == asked


def test_a_revision_can_be_named(server: Hub) -> None:
    catalogue.pull(NAME, revision="v2", sha256=SHA256.upper())
    assert server.asked[0][1] == "/someone/small-GGUF/resolve/v2/small-q4.gguf"


def test_a_killed_download_goes_on_where_it_stopped(server: Hub) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalogue.pull(NAME, interrupt)
    assert catalogue.path(NAME) is None
    have = sum(file.stat().st_size for file in store.folder().rglob("*.part"))
    assert have > 0
    assert catalogue.pull(NAME).read_bytes() == CONTENT
    assert server.asked[-1][2] == f"bytes={have}-"
    assert [file.name for file in store.folder().rglob("*.part")] == []


def test_a_connection_that_breaks_is_taken_up_again(server: Hub) -> None:
    server.breaks_at = 50_000
    assert catalogue.pull(NAME).read_bytes() == CONTENT
    assert [wanted for command, _, wanted in server.asked if command == "GET"] == ["bytes=0-", "bytes=50000-"]


def test_what_was_fetched_of_another_version_is_not_used(server: Hub) -> None:
    place = store.folder() / "hub/someone/small-GGUF"
    place.mkdir(parents=True)
    (place / ".small-q4.gguf.222222222222.part").write_bytes(b"old")
    assert catalogue.pull(NAME).read_bytes() == CONTENT


@pytest.mark.parametrize("given", [None, "0" * 64])
def test_another_file_than_promised_is_removed(server: Hub, given: str | None) -> None:
    server.states = "1" * 64
    with pytest.raises(ConfigError, match=f"has SHA-256 {SHA256} and not {given or server.states}"):
        catalogue.pull(NAME, sha256=given)
    assert catalogue.path(NAME) is None
    assert not [file for file in store.folder().rglob("*.gguf") if file.is_file()]


def test_a_hub_that_states_no_hash_needs_one_given(server: Hub) -> None:
    server.states = "not-a-hash"
    with pytest.raises(ConfigError, match="--sha256"):
        catalogue.pull(NAME)
    assert catalogue.pull(NAME, sha256=SHA256).read_bytes() == CONTENT


def test_a_file_that_the_hub_does_not_have(server: Hub) -> None:
    with pytest.raises(ConfigError, match=r"other.gguf could not be fetched: ") as raised:
        catalogue.pull("hf:someone/small-GGUF/other.gguf")
    assert "\n" not in str(raised.value)


def test_a_hub_that_is_not_there(server: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ConfigError, match="could not be fetched"):
        catalogue.pull(NAME)


@pytest.mark.parametrize(
    "name", ["hf:a/b", "hf:a/b/c.bin", "hf:a/../x.gguf", "hf:a/b/../../x.gguf", "hf:/b/c.gguf", "hf:a/b/.hidden.gguf"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(ConfigError, match="hf:OWNER/REPO/FILE.gguf"):
        hub.parse(name)
    assert hub.parse("hf:a/b/deep/c.gguf") == ("a", "b", "deep/c.gguf")
