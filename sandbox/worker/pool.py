"""A pool of sandboxes that are started before they are needed. Each is used once."""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from haluagent.errors import SandboxError
from haluagent.sandbox.worker.exchange import SandboxWorker

logger = logging.getLogger(__name__)

# The number of used workers that may wait for removal. Their programs have ended.
_UNCLEAN = 16


class Pool:
    """A pool that hands out workers made by `start`, and starts others in the background. Safe to use from many
    threads.

    Nothing is started before the first worker is taken; each worker that comes back adds one spare, up to `spare`.
    `start` returns a worker that is ready, or raises; it runs in at most `starters` threads at a time.
    """

    def __init__(self, start: Callable[[], SandboxWorker], *, spare: int, starters: int) -> None:
        self._start = start
        self._spare = spare
        self._starters = ThreadPoolExecutor(starters, thread_name_prefix="haluagent-sandbox-start")
        self._cleaner = ThreadPoolExecutor(1, thread_name_prefix="haluagent-sandbox-clean")
        self._changed = threading.Condition()
        self._ready: deque[SandboxWorker] = deque()
        self._taken: set[SandboxWorker] = set()
        self._used: deque[SandboxWorker] = deque()
        self._errors: deque[BaseException] = deque()
        self._starting = 0
        self._waiting = 0
        self._target = 0
        self.closed = False

    def take(self) -> SandboxWorker:
        """Return a worker that is ready. Raise what `start` raised, or `SandboxError` if the pool is closed."""
        with self._changed:
            self._waiting += 1
            try:
                self._order()
                self._changed.wait_for(lambda: self._ready or self._errors or self.closed)
                if self.closed:
                    raise SandboxError("the sandbox was closed")
                if not self._ready:
                    raise self._errors.popleft()
                worker = self._ready.popleft()
                self._taken.add(worker)
                return worker
            finally:
                self._waiting -= 1
                if not self._waiting:
                    self._errors.clear()

    def give_back(self, worker: SandboxWorker) -> None:
        """Remove a worker that was taken, and make sure that others are ready for the next time."""
        with self._changed:
            self._taken.discard(worker)
            self._target = min(self._spare, self._target + 1)
            self._order()
        self._discard([worker])

    def renew(self) -> None:
        """Remove the waiting workers, because one of them turned out to be dead."""
        with self._changed:
            waiting = [*self._ready]
            self._ready.clear()
        self._discard(waiting)

    def close(self) -> None:
        """Remove the waiting workers and kill those in use, which are removed when they are given back."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
            waiting, taken = [*self._ready, *self._used], [*self._taken]
            self._ready.clear()
            self._used.clear()
        for worker in taken:
            with contextlib.suppress(SandboxError):
                worker.kill()
        for worker in waiting:
            try:
                self._starters.submit(worker.discard)
            except RuntimeError:  # the interpreter is on its way out
                worker.discard()
        self._starters.shutdown()
        self._cleaner.shutdown()

    def _order(self) -> None:
        """Start the missing workers. The caller holds the lock."""
        missing = self._waiting + self._target - len(self._ready) - self._starting
        for _ in range(0 if self.closed else missing):
            try:
                self._starters.submit(self._add)
            except RuntimeError:  # the interpreter is on its way out
                self.closed = True
                return
            self._starting += 1

    def _add(self) -> None:
        worker, problem = None, None
        try:
            worker = None if self.closed else self._start()
        except BaseException as error:
            problem = error
        with self._changed:
            self._starting -= 1
            if worker is not None and not self.closed:
                self._ready.append(worker)
                worker = None
            elif problem is not None:
                self._failed(problem)
            self._changed.notify_all()
        if worker is not None:
            worker.discard()

    def _failed(self, problem: BaseException) -> None:
        """Report a failed start to a waiting caller; if nobody waits, start no more until somebody does."""
        self._target = 0
        if len(self._errors) < self._waiting:
            self._errors.append(problem)
        else:
            logger.info("a sandbox could not be started ahead: %s", problem)

    def _discard(self, workers: list[SandboxWorker]) -> None:
        with self._changed:
            self._used += workers
            self._changed.notify_all()
        for _ in workers:
            try:
                self._cleaner.submit(self._clean)
            except RuntimeError:  # closed meanwhile
                self._clean()

    def _clean(self) -> None:
        """Remove one used worker. Waits while workers are being started, so that they come first."""
        with self._changed:
            self._changed.wait_for(lambda: self.closed or not self._starting or len(self._used) > _UNCLEAN)
            worker = self._used.popleft() if self._used else None
        if worker is not None:
            worker.discard()
