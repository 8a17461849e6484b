"""The progress of a download on standard error: a bar on a terminal, otherwise a line for every tenth."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from haluagent.models.weights.store import Progress, megabytes


@contextmanager
def download_progress(title: str) -> Iterator[Progress]:
    """Yield a callback for `pull()`. Nothing is shown until something has to be downloaded."""
    if sys.stderr.isatty():
        with _bar(title) as progress:
            yield progress
    else:
        yield _lines(title)


@contextmanager
def _bar(title: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(title, total=None, visible=False)
        yield lambda done, total: bars.update(task, completed=done, total=total, visible=True)


def _lines(title: str) -> Progress:
    shown = -1

    def progress(done: int, total: int) -> None:
        nonlocal shown
        tenth = 10 * done // max(total, 1)
        if tenth > shown:
            shown = tenth
            print(f"{title}: {megabytes(done)} of {megabytes(total)}", file=sys.stderr, flush=True)

    return progress
