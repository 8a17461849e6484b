"""What Docker's engine says when something is wrong, from an engine that says it: a small one, on a real socket."""

import asyncio
import contextlib
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from haluagent.errors import ConfigError, SandboxError
from haluagent.sandbox import choose, owner
from haluagent.sandbox.docker.backend import DockerSandbox
from haluagent.sandbox.docker.engine import connect, remove

INFO = {
    "ServerVersion": "20.10",
    "DefaultRuntime": "runc",
    "Runtimes": {"runc": {}},
    "MemoryLimit": True,
    "PidsLimit": True,
}
IMAGE = {"Id": "sha256:1", "Architecture": "amd64", "Config": {}}


class Engine(socketserver.ThreadingUnixStreamServer):
    """Answers each path as it is told to: `(status, body)`; 404 elsewhere."""

    daemon_threads = True

    def __init__(self, path: Path) -> None:
        self.answers: dict[str, tuple[int, Any]] = {
            "/version": (200, {"ApiVersion": "1.41"}),
            "/info": (200, INFO),
            "/images/haluagent-sandbox/json": (200, IMAGE),
            "/containers/json": (200, []),
        }
        self.asked: list[str] = []
        super().__init__(str(path), Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Engine

    def address_string(self) -> str:
        return "local"

    def log_message(self, format: str, *args: object) -> None: ...

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0].removeprefix("/v1.41")
        self.server.asked.append(f"{self.command} {path}")
        status, body = self.server.answers.get(path, (404, {"message": f"no such thing: {path}"}))
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_DELETE = do_GET


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    path = tmp_path / "d.sock"
    server = Engine(path)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    monkeypatch.delenv("HALUAGENT_SANDBOX_IMAGE", raising=False)
    monkeypatch.delenv("HALUAGENT_SANDBOX_RUNTIME", raising=False)
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def failure(engine: Engine) -> Callable[[], str]:
    """The line of the error that a run ends with."""

    def run() -> str:
        sandbox = DockerSandbox()
        with pytest.raises(SandboxError) as caught:
            asyncio.run(sandbox.run("print(1)"))
        sandbox.close()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return run


def test_a_full_disk_is_an_error_of_the_sandbox(engine: Engine, failure: Callable[[], str]) -> None:
    full = "error creating overlay mount to /var/lib/docker/overlay2/x: no space left on device"
    engine.answers["/containers/create"] = (500, {"message": full})
    assert failure() == f"the Docker engine says: {full}"


def test_a_container_that_does_not_start_is_removed(engine: Engine, failure: Callable[[], str]) -> None:
    engine.answers["/containers/create"] = (201, {"Id": "c1", "Warnings": []})
    engine.answers["/containers/c1/attach"] = (500, {"message": "cannot\nattach"})
    assert failure() == "the Docker engine says: cannot attach"
    assert "DELETE /containers/c1" in engine.asked


def test_what_cannot_be_removed_yet_is_tried_again(engine: Engine) -> None:
    with contextlib.closing(connect()) as client:
        engine.answers["/containers/c1"] = (500, {"message": "unlinkat: directory not empty"})
        assert remove(client, "c1") is False
        assert engine.asked.count("DELETE /containers/c1") == 3
        engine.answers["/containers/c1"] = (404, {"message": "No such container"})
        assert remove(client, "c1") is False
        assert engine.asked.count("DELETE /containers/c1") == 4


def test_a_missing_image_is_not_pulled(engine: Engine, failure: Callable[[], str]) -> None:
    engine.answers["/images/haluagent-sandbox/json"] = (404, {"message": "No such image"})
    assert failure() == "there is no image haluagent-sandbox: run `haluagent sandbox build`"
    assert not any("create" in asked for asked in engine.asked)


def test_an_image_with_volumes_is_not_used(engine: Engine, failure: Callable[[], str]) -> None:
    engine.answers["/images/haluagent-sandbox/json"] = (200, IMAGE | {"Config": {"Volumes": {"/data": {}}}})
    assert "has volumes" in failure()


def test_a_dead_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(SandboxError, match=r"does not answer at unix://.*none.sock: start it"):
        asyncio.run(DockerSandbox().run("print(1)"))


def test_an_engine_that_may_not_be_used(engine: Engine, failure: Callable[[], str]) -> None:
    engine.answers["/version"] = (403, {"message": "Permission denied"})
    assert failure().startswith("you may not use the Docker engine")


def test_check_names_what_is_missing(engine: Engine) -> None:
    assert DockerSandbox().check() == "Docker 20.10, image haluagent-sandbox, runtime runc"
    with pytest.raises(ConfigError, match="no runtime runsc"):
        DockerSandbox(runtime="runsc").check()
    for name in ("MemoryLimit", "PidsLimit"):
        engine.answers["/info"] = (200, INFO | {name: False})
        with pytest.raises(ConfigError, match="cannot limit memory and processes"):
            DockerSandbox().check()


def test_only_containers_of_ended_processes_are_removed(engine: Engine) -> None:
    mine = owner.this_process()
    machine, pid, start = mine.rsplit("/", 2)
    names = {"mine": mine, "gone": f"{machine}/{pid}/{int(start) - 1}", "new": "another/1/1", "old": "another/1/1"}
    created = {"new": 2**40, "old": 0}
    listed = [
        {"Id": key, "Labels": {"haluagent.sandbox.owner": name}, "Created": created.get(key, 0)}
        for key, name in names.items()
    ]
    engine.answers["/containers/json"] = (200, listed)
    engine.answers |= {"/containers/gone": (200, ""), "/containers/old": (200, "")}
    assert DockerSandbox().check().endswith(", 2 left-over containers removed")
    assert [asked for asked in engine.asked if asked.startswith("DELETE")] == [
        "DELETE /containers/gone",
        "DELETE /containers/old",
    ]


def test_auto_takes_docker_where_it_works_and_nothing_is_started(engine: Engine) -> None:
    sandbox = choose.resolve("auto")
    assert isinstance(sandbox, DockerSandbox)
    assert not any("create" in asked for asked in engine.asked)


def test_the_options_of_a_container(engine: Engine) -> None:
    with contextlib.closing(connect()) as client:
        options = DockerSandbox(runtime="runsc")._options(client, b"\x01\x02")
    host = options["host_config"]
    assert host["NetworkMode"] == "none" and options["network_disabled"] is True
    assert host["Memory"] == host["MemorySwap"] == 576 * 2**20
    assert host["PidsLimit"] == 64 and host["NanoCpus"] == 10**9
    assert host["ReadonlyRootfs"] is True and host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert host["Tmpfs"] == {"/tmp": "rw,noexec,nosuid,nodev,size=16777216,mode=1777"}
    assert host["LogConfig"]["Type"] == "none" and host["Runtime"] == "runsc"
    assert options["user"] == "65534:65534" and options["entrypoint"][-1] == "0102"
    assert not {"binds", "volumes", "ports"} & set(options) and not host.get("Binds") and not host.get("Privileged")
