"""Print lines: coloured and wrapped on a terminal, plain everywhere else."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from haluagent.report.lines import Line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

NARROWEST = 20


class Screen:
    """An output stream. Colour is used on a terminal only, and not if `NO_COLOR` is set (https://no-color.org)."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.console = _console(self.stream) if self.stream.isatty() else None
        self._progress: Progress | None = None

    def show(self, lines: Line | Iterable[Line]) -> None:
        """Print lines, wrapped with their indent on a terminal."""
        for line in [lines] if isinstance(lines, Line) else lines:
            if self.console is None:
                print(line, file=self.stream, flush=True)
                continue
            room = max(NARROWEST, self.console.width - line.indent)
            for piece in line.styled().wrap(self.console, room):
                self.console.print(" " * line.indent, piece, sep="", end="\n", highlight=False, soft_wrap=True)

    @contextmanager
    def live(self) -> Iterator[None]:
        """Let `status()` keep one line below the others, with the elapsed time, while the block runs."""
        try:
            yield
        finally:
            if self._progress is not None:
                self._progress.stop()
                self._progress = None

    def status(self, text: str) -> None:
        """Update the progress line; without a terminal, do nothing."""
        if self.console is None:
            return
        if self._progress is None:
            self._progress = _progress(self.console)
            self._progress.add_task("")
            self._progress.start()
        self._progress.update(self._progress.task_ids[0], description=str(Line(("", text))))


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    # An empty NO_COLOR counts as unset.
    return Console(file=stream, color_system=None if os.environ.get("NO_COLOR") else "auto", highlight=False)


def _progress(console: "Console") -> "Progress":
    """Return a progress line that redraws itself and disappears afterwards."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, refresh_per_second=4)


@contextmanager
def closed_pipe_ignored() -> Iterator[None]:
    """Ignore a reader that closes the pipe early (`haluagent detect … | head`): the exit code still gives the
    verdict."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output again at exit, which would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_or_dump(what: object | Iterator[Line]) -> None:
    """Show lines on standard output, or print data as one line of JSON, in UTF-8 whatever the terminal's encoding."""
    with closed_pipe_ignored():
        if isinstance(what, Iterator):
            Screen(sys.stdout).show(what)
        else:
            sys.stdout.buffer.write(json.dumps(what, ensure_ascii=False).encode() + b"\n")
            sys.stdout.buffer.flush()
