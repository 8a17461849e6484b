"""The Docker backend: each program gets its own container, started before it is needed and removed afterwards."""

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any

from haluagent.errors import ConfigError, SandboxError
from haluagent.sandbox import owner, seccomp
from haluagent.sandbox.docker.container import Container
from haluagent.sandbox.docker.engine import LABEL, connect, explained, image_name, remove, remove_orphans
from haluagent.sandbox.limits import SandboxLimits
from haluagent.sandbox.worker.exchange import ENVIRONMENT, SandboxWorker, command, wait_until_ready
from haluagent.sandbox.worker.pooled import SPARE, PooledSandbox

if TYPE_CHECKING:
    from docker import APIClient

NOBODY = "65534:65534"
# The engine's names for architectures, and Python's.
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class DockerSandbox(PooledSandbox):
    """A sandbox that runs each program in a container without network or capabilities and with a read-only root.

    `image` must have Python 3.10 or newer as `python3`; it is never pulled. `runtime` (or HALUAGENT_SANDBOX_RUNTIME)
    names another OCI runtime known to the engine, such as gVisor's `runsc`. DOCKER_HOST says which engine to use.
    """

    name = "docker"

    def __init__(
        self,
        *,
        image: str | None = None,
        runtime: str | None = None,
        limits: SandboxLimits | None = None,
        spare: int = SPARE,
    ) -> None:
        super().__init__(limits=limits, spare=spare)
        self.image = image or image_name()
        self.runtime = runtime or os.environ.get("HALUAGENT_SANDBOX_RUNTIME")
        self._connecting = threading.Lock()
        self._connection: tuple[int, APIClient, dict[str, Any]] | None = None

    def check(self) -> str:
        """Return a line about the engine and the image, and remove containers that crashed processes left behind.

        Raise a `ConfigError` with advice if programs cannot be run.
        """
        try:
            with explained(), contextlib.closing(connect()) as client:
                info = client.info()
                self._examine(client)
                removed = remove_orphans(client)
            self._examine_engine(info)
        except SandboxError as error:
            raise ConfigError(str(error)) from error
        runtime = self.runtime or info["DefaultRuntime"]
        left_over = f", {removed} left-over containers removed" if removed else ""
        return f"Docker {info['ServerVersion']}, image {self.image}, runtime {runtime}{left_over}"

    def _start(self) -> SandboxWorker:
        with explained():
            client, options = self._connected()
            container = client.create_container(**options)["Id"]
            worker = None
            try:
                worker = Container(client, container)
                client.start(container)
                wait_until_ready(worker)
                return worker
            except BaseException:
                worker.discard() if worker else remove(client, container)
                raise

    def _connected(self) -> "tuple[APIClient, dict[str, Any]]":
        """Return this process's client, and the options for a container."""
        with self._connecting:
            if self._connection is None or self._connection[0] != os.getpid():
                client = connect()
                filter_code = self._examine(client)
                remove_orphans(client)
                self._connection = os.getpid(), client, self._options(client, filter_code)
            return self._connection[1:]

    def _examine_engine(self, info: dict[str, Any]) -> None:
        if not (info.get("MemoryLimit") and info.get("PidsLimit", True)):
            raise SandboxError("this Docker engine cannot limit memory and processes: give it those control groups")
        if self.runtime and self.runtime not in info.get("Runtimes", {}):
            raise SandboxError(f"this Docker engine has no runtime {self.runtime}: install it, or choose another")

    def _examine(self, client: "APIClient") -> bytes:
        """Check the image, and return the system call filter for its architecture."""
        from docker.errors import ImageNotFound

        try:
            image = client.inspect_image(self.image)
        except ImageNotFound:
            raise SandboxError(f"there is no image {self.image}: run `haluagent sandbox build`") from None
        if image["Config"].get("Volumes"):
            raise SandboxError(f"the image {self.image} has volumes, which programs could fill: use one without")
        machine = _MACHINES.get(image["Architecture"], "")
        return seccomp.program(machine) if seccomp.machine_supported(machine) else b""

    def _options(self, client: "APIClient", filter_code: bytes) -> dict[str, Any]:
        limits = self.limits
        writable = f"rw,noexec,nosuid,nodev,size={limits.disk},mode=1777"
        host = client.create_host_config(
            network_mode="none",
            mem_limit=limits.total_memory,
            memswap_limit=limits.total_memory,
            pids_limit=limits.processes,
            nano_cpus=limits.cpus * 10**9,
            read_only=True,
            tmpfs={"/tmp": writable},
            shm_size=limits.disk,
            ipc_mode="private",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            log_config={"Type": "none"},  # output is read from the socket; a log on disk would grow without bound
            runtime=self.runtime,
        )
        return {
            "image": self.image,
            # This filter adds to the engine's own, which in older versions leaves some ways out open: sockets to
            # the host of a virtual machine, io_uring.
            "entrypoint": command("python3", filter_code),
            "user": NOBODY,
            "working_dir": "/tmp",
            "hostname": "sandbox",
            "environment": ENVIRONMENT,
            "stdin_open": True,
            # Even for "none" the engine otherwise sets up a network, which takes half of the start-up time.
            "network_disabled": True,
            "healthcheck": {"test": ["NONE"]},
            "use_config_proxy": False,  # it may hold a password
            "labels": {LABEL: owner.this_process()},
            "host_config": host,
        }
