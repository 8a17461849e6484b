"""Show progress over items on standard error: a bar with the time left on a terminal, otherwise an occasional line."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 30.0  # seconds between lines

Show = Callable[[int, int, str], None]


@contextmanager
def counting() -> Iterator[Show]:
    """Yield a function to call with the number of items done, the total, and a remark."""
    if sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        lines = _Lines()
        yield lines.show
        lines.end()


@contextmanager
def _bar() -> Iterator[Show]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    remark = TextColumn("{task.description}", markup=False)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        remark,
    )
    # A long period for estimating the speed: items differ a hundredfold.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)


class _Lines:
    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = -EVERY
        self._first: int | None = None
        self._waiting: tuple[int, int, str] | None = None

    def show(self, done: int, total: int, text: str) -> None:
        self._first = done if self._first is None else self._first
        self._waiting = done, total, text
        if time.monotonic() - self._began - self._shown >= EVERY:
            self.end()

    def end(self) -> None:
        """Print the latest progress if it was not printed yet."""
        if self._waiting is None or self._first is None:
            return
        done, total, text = self._waiting
        self._waiting = None
        self._shown = now = time.monotonic() - self._began
        rest = now / (done - self._first) * (total - done) if self._first < done < total else None
        left = "" if rest is None else f", about {duration(rest)} left"
        print(f"{done} of {total} after {duration(now)}{left}; {text}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """Format seconds as `1:02:03` or `2:03`."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
