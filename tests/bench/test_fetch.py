"""Fetching the published files of a set from a server on loopback that answers as GitHub and the hub do."""

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from haluagent.bench.datasets.catalogue import DATASETS
from haluagent.bench.datasets.fetch import CHECKSUMS, FileSource, Hosts, fetch, git_blob
from haluagent.bench.datasets.loading import load
from haluagent.errors import ConfigError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ONE = FileSource(file="one.jsonl", host="github", repository="some/set", revision=COMMIT, path="data/a&b one.json")
TWO = FileSource(file="two.csv", host="github", repository="some/set", revision=COMMIT, path="two.csv")
HUB = FileSource(
    file="three.parquet", host="huggingface", repository="some/set", revision=COMMIT, path="data/three.parquet"
)
CONTENT = "苹果\n".encode() * 50_000
QUOTED = "data/a%26b%20one.json"


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Origin(ThreadingHTTPServer):
    """Serves `files` by path, and what `states` it about them. `cut` bytes before the end it hangs up."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.states: dict[str, str] = {}
        self.status: int | None = None
        self.cut = 0
        self.asked: list[str] = []
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self) -> None:
                origin.asked.append(f"HEAD {self.path}")
                found = self.path in origin.files
                self.send_response(302 if found else 404)
                if found:
                    content = origin.files[self.path]
                    self.send_header("Location", f"/storage{self.path}")
                    self.send_header("X-Linked-ETag", f'"{hashlib.sha256(content).hexdigest()}"')
                    self.send_header("X-Linked-Size", str(len(content)))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                origin.asked.append(f"GET {self.path}")
                content = (
                    origin.states[self.path].encode() if self.path in origin.states else origin.files.get(self.path)
                )
                self.send_response(origin.status or (404 if content is None else 200))
                content = content or b"Not Found"
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                cut = 0 if self.path in origin.states else origin.cut
                self.wfile.write(content[: len(content) - cut])
                self.close_connection = bool(cut)

            def log_message(self, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def hosts(self) -> Hosts:
        base = f"http://127.0.0.1:{self.server_address[1]}"
        return Hosts(raw=f"{base}/raw", api=f"{base}/api", hub=f"{base}/hub")

    def publish(self, source: FileSource, quoted: str, content: bytes, sha: str | None = None) -> None:
        """Put a file on the server, and its hash into the listing of its folder."""
        if source.host == "huggingface":
            self.files[f"/hub/datasets/{source.repository}/resolve/{source.revision}/{quoted}"] = content
            return
        self.files[f"/raw/{source.repository}/{source.revision}/{quoted}"] = content
        folder = quoted.rpartition("/")[0]
        listing = f"/api/repos/{source.repository}/contents{'/' * bool(folder)}{folder}?ref={source.revision}"
        entries = json.loads(self.states.get(listing, "[]"))
        entries.append({"path": source.path, "sha": sha or blob(content), "size": len(content)})
        self.states[listing] = json.dumps(entries)


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    monkeypatch.setenv("HALUAGENT_CACHE", str(tmp_path / "cache"))
    with Origin() as origin:
        origin.publish(ONE, QUOTED, CONTENT)
        yield origin
        origin.shutdown()


def left(tmp_path: Path) -> set[str]:
    return {path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()} - {f".{CHECKSUMS}.lock"}


def test_git_names_content_as_git_does(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"hello world\n")
    assert git_blob(tmp_path / "file") == "3b18e512dba79e4c8300dd08aeb37f8e728b8dad"  # `git hash-object`


def test_files_are_fetched_verified_and_there_once(
    origin: Origin, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    origin.publish(TWO, "two.csv", b"a,b\n")
    folder = fetch("set", (ONE, TWO), origin.hosts)
    assert folder == tmp_path / "cache" / "datasets" / "set" / COMMIT[:12]
    assert (folder / "one.jsonl").read_bytes() == CONTENT and (folder / "two.csv").read_bytes() == b"a,b\n"
    recorded = (folder / CHECKSUMS).read_text()
    assert recorded.splitlines()[0] == f"{hashlib.sha256(CONTENT).hexdigest()}  one.jsonl"
    assert left(tmp_path) == {"one.jsonl", "two.csv", CHECKSUMS}
    out, err = capfd.readouterr()
    assert not out and "set: two.csv" in err and "MB" in err
    asked = len(origin.asked)
    assert fetch("set", (ONE, TWO), origin.hosts) == folder and len(origin.asked) == asked


def test_what_was_fetched_needs_no_network(origin: Origin) -> None:
    hosts = origin.hosts
    folder = fetch("set", (ONE,), hosts)
    origin.shutdown()
    origin.server_close()
    assert fetch("set", (ONE,), hosts) == folder
    with pytest.raises(ConfigError, match="cannot be fetched .*: check the network and try again, or give --data DIR"):
        fetch("another", (ONE,), hosts)


def test_the_hub_states_a_sha256(origin: Origin) -> None:
    origin.publish(HUB, "data/three.parquet", CONTENT)
    folder = fetch("set", (HUB,), origin.hosts)
    assert (folder / "three.parquet").read_bytes() == CONTENT
    assert [line.split(" ")[0] for line in origin.asked] == ["HEAD", "GET"]


@pytest.mark.parametrize("source", [HUB, TWO], ids=["hub", "github"])
def test_a_file_that_is_not_there(source: FileSource, origin: Origin, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"answers 404 \(it is not there\): .*or give --data DIR"):
        fetch("set", (source,), origin.hosts)
    assert left(tmp_path) == set()


def test_a_file_that_its_folder_does_not_list(origin: Origin) -> None:
    missing = ONE.model_copy(update={"path": "data/missing.json"})
    with pytest.raises(ConfigError, match=r"says nothing of data/missing.json: .*or give --data DIR"):
        fetch("set", (missing,), origin.hosts)


def test_a_server_that_has_had_enough(origin: Origin) -> None:
    origin.status = 429
    with pytest.raises(ConfigError, match=r"answers 429 \(too many requests\): try again later, or give --data DIR"):
        fetch("set", (ONE,), origin.hosts)


def test_half_a_file_is_no_file(origin: Origin, tmp_path: Path) -> None:
    origin.cut = 1000
    with pytest.raises(ConfigError, match="cannot be fetched .*try again"):
        fetch("set", (ONE,), origin.hosts)
    assert left(tmp_path) == set()
    origin.cut = 0
    assert (fetch("set", (ONE,), origin.hosts) / "one.jsonl").read_bytes() == CONTENT


def test_the_files_before_a_failure_are_kept(origin: Origin, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="answers 404"):
        fetch("set", (ONE, TWO), origin.hosts)
    assert left(tmp_path) == {"one.jsonl", CHECKSUMS}
    origin.publish(TWO, "two.csv", b"a,b\n")
    origin.asked.clear()
    fetch("set", (ONE, TWO), origin.hosts)
    assert not [path for path in origin.asked if "one" in path]


def test_another_content_than_stated_is_removed(origin: Origin, tmp_path: Path) -> None:
    origin.publish(ONE, QUOTED, CONTENT, sha=blob(b"something else"))
    with pytest.raises(
        ConfigError, match=f"git blob SHA-1 {blob(CONTENT)}, and its source states {blob(b'something else')}"
    ):
        fetch("set", (ONE,), origin.hosts)
    assert left(tmp_path) == set()


def test_a_later_change_of_a_file_is_noticed(origin: Origin) -> None:
    folder = fetch("set", (ONE,), origin.hosts)
    (folder / "one.jsonl").write_bytes(CONTENT[:-3])
    with pytest.raises(ConfigError, match=f"one.jsonl has changed since it was fetched: delete {folder}"):
        fetch("set", (ONE,), origin.hosts)


def test_a_later_change_at_the_source_is_noticed(origin: Origin, tmp_path: Path) -> None:
    folder = fetch("set", (ONE,), origin.hosts)
    (folder / "one.jsonl").unlink()
    origin.publish(ONE, QUOTED, b"another\n")
    with pytest.raises(ConfigError, match="is another file than when it was fetched before"):
        fetch("set", (ONE,), origin.hosts)
    assert left(tmp_path) == {CHECKSUMS}


def test_a_set_is_loaded_from_what_was_fetched(origin: Origin) -> None:
    (source,) = DATASETS["webqa"].sources
    row = {"question": "什么?", "answer": "苹果。", "judge": 1, "id": 4, "output": "梨"}
    origin.publish(source, source.path, json.dumps([row]).encode())
    (item,) = load("webqa", hosts=origin.hosts)
    assert (item.id, item.response, item.wrong) == ("1:4", "苹果。", True)


@pytest.mark.parametrize("name", DATASETS)
def test_every_file_of_a_set_is_looked_for_under_its_name(name: str, origin: Origin) -> None:
    """What is fetched is what the reader opens: an empty array is found, and found to be empty."""
    for source in DATASETS[name].sources:
        content = (
            b"PAR1" if source.file.endswith(".parquet") else b"source\n" if source.file.endswith(".csv") else b"[]"
        )
        origin.publish(source, quote(source.path), content)
    with pytest.raises(ConfigError, match="is empty|Parquet|holds no item"):
        load(name, hosts=origin.hosts)
