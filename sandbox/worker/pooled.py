"""The common part of both backends: programs run in single-use workers from a pool, outside the event loop."""

import asyncio
import atexit
import contextlib
import math
import os
import threading
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor

from haluagent.errors import SandboxError
from haluagent.protocols import Execution
from haluagent.sandbox.limits import SandboxLimits
from haluagent.sandbox.worker.exchange import SandboxWorker, execute
from haluagent.sandbox.worker.pool import Pool

MAX_CODE = 2**20
# The number of workers kept ready; each takes about 10 MiB of memory.
SPARE = 4


class PooledSandbox(ABC):
    """A `haluagent.protocols.Sandbox`. Nothing is started before the first run.

    It may be used from several threads and event loops. As many programs run at a time as the machine has processors;
    others wait, and their waiting does not count as run time. `spare` is how many workers are kept ready for the next
    runs.
    """

    name: str

    def __init__(self, *, limits: SandboxLimits | None = None, spare: int = SPARE) -> None:
        self.limits = limits or SandboxLimits()
        self._spare = spare
        self._lock = threading.Lock()
        self._state: _State | None = None

    async def run(self, code: str, *, seconds: float = 10.0) -> Execution:
        """Run a Python program in a sandbox of its own, for at most `seconds` of wall-clock time.

        Raise `SandboxError` if the sandbox failed, which says nothing about the code.
        """
        if len(code) > MAX_CODE:
            raise SandboxError(f"a program of more than {MAX_CODE} characters is not run")
        if not (math.isfinite(seconds) and seconds > 0):
            raise SandboxError(f"a program cannot run for {seconds} seconds")
        job = _Job()
        state = self._running()
        try:
            future = state.executor.submit(self._run, state.pool, code, seconds, job)
        except RuntimeError as error:
            raise SandboxError("the sandbox was closed") from error
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            await asyncio.to_thread(job.cancel)
            raise

    def close(self) -> None:
        """End what is running and remove what is left. A later run starts anew."""
        with self._lock:
            state, self._state = self._state, None
        if state is None or state.process != os.getpid():
            return
        atexit.unregister(self.close)
        state.pool.close()
        state.executor.shutdown()

    async def aclose(self) -> None:
        """Close the sandbox, for use under asyncio; see `close`."""
        await asyncio.to_thread(self.close)

    @abstractmethod
    def _start(self) -> SandboxWorker:
        """Start a worker and return it once its runner is ready. Raise `SandboxError` if that fails."""

    def _resources(self) -> dict[str, int]:
        """Return limits that the runner sets besides the usual ones."""
        return {}

    def _running(self) -> "_State":
        with self._lock:
            # After a fork the workers belong to the parent.
            if self._state is None or self._state.process != os.getpid():
                self._state = _State(Pool(self._start, spare=self._spare, starters=2 * (os.cpu_count() or 1)))
                atexit.register(self.close)
            return self._state

    def _run(self, pool: Pool, code: str, seconds: float, job: "_Job") -> Execution:
        retried = False
        while True:
            worker = pool.take()
            try:
                job.works_with(worker)
                execution = execute(worker, code, seconds, self.limits, self._resources())
                if pool.closed or job.cancelled:
                    raise SandboxError("the sandbox was closed while the program ran")
                return execution.model_copy(update={"backend": self.name})
            except SandboxError:
                if retried or pool.closed or job.cancelled:
                    raise
                # A worker may have died while it waited, as when the engine was restarted: retry with a new one.
                retried = True
                pool.renew()
            finally:
                pool.give_back(worker)


class _State:
    def __init__(self, pool: Pool) -> None:
        self.process = os.getpid()
        self.pool = pool
        self.executor = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="haluagent-sandbox-run")


class _Job:
    """A run that may be cancelled from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: SandboxWorker | None = None
        self.cancelled = False

    def works_with(self, worker: SandboxWorker) -> None:
        """Set the worker that the job runs in. Raise `SandboxError` if the run was cancelled."""
        with self._lock:
            self._worker = worker
            if self.cancelled:
                raise SandboxError("the run was cancelled")

    def cancel(self) -> None:
        with self._lock:
            self.cancelled = True
            worker = self._worker
        if worker is not None:
            with contextlib.suppress(SandboxError):  # a worker that cannot be reached is removed later
                worker.kill()
