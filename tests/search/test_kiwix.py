"""Downloads from Kiwix's library, which is a server on loopback here."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from waiting import until

from haluagent.errors import ConfigError
from haluagent.search.knowledge import kiwix

CONTENT = random.Random(3).randbytes(600_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILES = (
    "wikipedia_zh_all_nopic_2025-01.zim",
    "wikipedia_zh_all_nopic_2025-09.zim",
    "wikipedia_zh_all_mini_2025-09.zim",
)


class Library(ThreadingHTTPServer):
    """Serves a catalogue and its files. While `holds` is not set, it stops in the middle of a file."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.states = f"{SHA256}  file.zim\n"
        self.goes_on = threading.Event()
        self.goes_on.set()
        library = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                self.send(200, CONTENT, body=False)

            def do_GET(self) -> None:
                path, wanted = urlsplit(self.path).path, self.headers["Range"]
                library.asked.append((self.path, wanted))
                start = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
                if path == "/catalogue":
                    self.send(200, library.feed().encode())
                elif path.endswith(".sha256"):
                    self.send(200 if library.states else 404, library.states.encode())
                else:
                    self.send(206 if start else 200, CONTENT[start:])

            def send(self, status: int, data: bytes, body: bool = True) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if body:
                    half = len(data) // 2
                    self.wfile.write(data[:half])
                    library.goes_on.wait()
                    self.wfile.write(data[half:])

            def log_message(self, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"

    def feed(self) -> str:
        links = "".join(
            f'<entry><link rel="http://opds-spec.org/acquisition/open-access" href="{self.url(f)}.meta4"/></entry>'
            for f in FILES
        )
        return f'<feed xmlns="http://www.w3.org/2005/Atom">{links}</feed>'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    with Library() as library:
        monkeypatch.setenv("HALUAGENT_KIWIX", library.url("catalogue"))
        monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
        yield library
        library.goes_on.set()
        library.shutdown()


def pull(name: str, sha256: str | None = None) -> Path:
    return kiwix.pull(name, lambda done, total: None, sha256=sha256)


def test_the_newest_file_of_a_name_is_fetched_once(library: Library) -> None:
    place = pull("wikipedia_zh_all_nopic")
    assert place.name == FILES[1] and place.read_bytes() == CONTENT
    asked = len(library.asked)
    assert pull(library.url(FILES[1])) == place and len(library.asked) == asked


def test_a_killed_download_is_continued(library: Library, tmp_path: Path) -> None:
    library.goes_on.clear()
    library.states = ""
    code = "import sys; from haluagent.search.knowledge.kiwix import pull; pull(sys.argv[1], print, sha256=sys.argv[2])"
    url = library.url("a.zim")
    child = subprocess.Popen([sys.executable, "-c", code, url, SHA256], stdout=subprocess.DEVNULL, env=os.environ)
    have: list[Path] = []
    until(lambda: have.extend((tmp_path / "cache").rglob("*.part")) or (have and have[0].stat().st_size >= 300_000))
    child.send_signal(signal.SIGKILL)
    child.wait()
    size = have[0].stat().st_size
    library.goes_on.set()
    assert pull(url, SHA256).read_bytes() == CONTENT
    assert library.asked[-1] == ("/a.zim", f"bytes={size}-") and not have[0].exists()


@pytest.mark.parametrize(
    ("name", "states", "sha256", "problem"),
    [
        (
            "wikipedia_zh_all",
            None,
            None,
            "no single file wikipedia_zh_all .it has: wikipedia_zh_all_mini, wikipedia_zh_all_nopic",
        ),
        ("wikipedia_xx_all", None, None, "no single file wikipedia_xx_all"),
        ("a b", None, None, "'a b' is no name"),
        ("file:///etc/passwd.zim", None, None, "no address"),
        ("{}/..%2f..%2fx.zim", None, None, "no address"),
        ("{}/a.txt", None, None, "no encyclopaedia"),
        (
            "{}/a.zim",
            "",
            None,
            "needs a SHA-256 to be checked against .there is none in .*a.zim.sha256.: give it with --sha256",
        ),
        ("{}/a.zim", None, "12", "no SHA-256 is 64 hexadecimal digits"),
        ("{}/a.zim", None, "0" * 64, "has SHA-256 .* and not 0000.*: it was removed"),
        ("http://127.0.0.1:1/a.zim", None, None, "could not be fetched"),
    ],
)
def test_what_cannot_be_fetched_is_one_line(
    library: Library, tmp_path: Path, name: str, states: str | None, sha256: str | None, problem: str
) -> None:
    library.states = library.states if states is None else states
    with pytest.raises(ConfigError, match=problem) as caught:
        pull(name.format(library.url("")[:-1]), sha256)
    assert "\n" not in str(caught.value)
    assert not [file for file in tmp_path.rglob("*") if file.suffix in (".zim", ".part")]


def test_a_disk_that_is_too_small_is_said_first(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda where: type("Usage", (), {"free": 1000}))
    with pytest.raises(ConfigError, match="1 MB are needed in"):
        pull(library.url("a.zim"))
