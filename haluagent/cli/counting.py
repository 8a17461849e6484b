"""How far many items are, on standard error: a bar with the time left on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 30.0  # seconds between lines

Show = Callable[[int, int, str], None]


@contextmanager
def counting() -> Iterator[Show]:
    """What to call with the number that is done, the number of all, and a remark."""
    if sys.stderr.isatty():
        with _bar() as show:
            yield show
    else:
        yield _lines()


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
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), remark)
    # The speed of the last few items, or of all since the start: items differ a hundredfold.
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=600) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, text: bar.update(task, completed=done, total=total, description=text)


def _lines() -> Show:
    began = time.monotonic()
    first: int | None = None
    shown = -EVERY

    def show(done: int, total: int, text: str) -> None:
        nonlocal first, shown
        now = time.monotonic() - began
        first = done if first is None else first
        if now - shown < EVERY and done < total:
            return
        shown = now
        rest = now / (done - first) * (total - done) if done > first else None
        left = "" if rest is None else f", about {duration(rest)} left"
        print(f"{done} of {total} after {duration(now)}{left}; {text}", file=sys.stderr, flush=True)

    return show


def duration(seconds: float) -> str:
    """`1:02:03`, `2:03`."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
