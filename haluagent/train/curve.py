"""The loss curve of a training: one line per step in `loss.jsonl`, a plot in `loss.svg`, and progress lines."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from haluagent.batch.journal import read_lines

Say = Callable[[str], None]
WIDTH, HEIGHT, EDGE = 640, 240, 40
SMOOTHED = 10  # steps


class LossCurve:
    """The record of a training in a directory. Resuming from `step` drops later entries, because those steps are
    repeated. Of several processes, one `writes`."""

    def __init__(self, directory: Path, step: int, *, writes: bool = True) -> None:
        self._path, self._writes = directory / "loss.jsonl", writes
        before = read_lines(self._path) if self._path.exists() else []
        self.rows = [row for row in before if row["step"] <= step]
        if writes:
            self._path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        self._tokens: int = self.rows[-1]["tokens"] if self.rows else 0
        self._seconds: float = self.rows[-1]["seconds"] if self.rows else 0.0
        self._began = time.monotonic()

    def add(self, step: int, loss: float, rate: float, tokens: int, **more: float) -> dict[str, Any]:
        """Append a step and return its row. `tokens` counts those of this process; the file adds up the tokens and
        seconds of all processes."""
        seconds = round(self._seconds + time.monotonic() - self._began, 1)
        row = {
            "step": step,
            "loss": round(loss, 5),
            "lr": rate,
            "tokens": self._tokens + tokens,
            "seconds": seconds,
            **more,
        }
        self.rows.append(row)
        if self._writes:
            with self._path.open("a") as file:
                file.write(json.dumps(row) + "\n")
        return row

    def elapsed(self) -> float:
        """Return the seconds since this process began."""
        return time.monotonic() - self._began

    def progress(self, steps: int, tokens: int) -> str:
        """Describe the progress on one line."""
        last = self.rows[-1]
        done = sum(1 for row in self.rows if row["seconds"] > self._seconds)
        left = self.elapsed() / max(done, 1) * (steps - last["step"])
        mean = average([row["loss"] for row in self.rows])[-1]
        return (
            f"step {last['step']}/{steps}  loss {last['loss']:.4f} (mean {mean:.4f})  lr {last['lr']:.2e}  "
            f"{tokens / self.elapsed():.0f} tokens/s  {left / 60:.0f} min left"
        )

    def draw(self) -> None:
        """Write `loss.svg`."""
        if self.rows and self._writes:
            self._path.with_suffix(".svg").write_text(
                svg([row["step"] for row in self.rows], [row["loss"] for row in self.rows])
            )


def average(values: Sequence[float]) -> list[float]:
    """Return the running mean over the last SMOOTHED values."""
    return [
        sum(values[max(0, i - SMOOTHED + 1) : i + 1]) / len(values[max(0, i - SMOOTHED + 1) : i + 1])
        for i in range(len(values))
    ]


def svg(steps: Sequence[int], losses: Sequence[float]) -> str:
    """Plot the losses of the steps, pale, with their running mean, dark, on an axis from 0."""
    top = max(losses) or 1.0
    first, last = steps[0], max(steps[-1], steps[0] + 1)

    def line(values: Sequence[float], colour: str) -> str:
        points = " ".join(
            f"{EDGE + (WIDTH - 2 * EDGE) * (step - first) / (last - first):.1f},{HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * value / top:.1f}"
            for step, value in zip(steps, values, strict=True)
        )
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'

    bottom = HEIGHT - EDGE
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>
<path d="M{EDGE},{EDGE} V{bottom} H{WIDTH - EDGE}" fill="none" stroke="#888"/>
{line(losses, "#bcd")}
{line(average(losses), "#036")}
<text x="{EDGE - 6}" y="{EDGE + 4}" text-anchor="end">{top:.2f}</text>
<text x="{EDGE - 6}" y="{bottom + 4}" text-anchor="end">0</text>
<text x="{EDGE}" y="{bottom + 18}">{first}</text>
<text x="{WIDTH - EDGE}" y="{bottom + 18}" text-anchor="end">step {last}</text>
<text x="{EDGE}" y="{EDGE - 14}">loss per learned token, and its mean over {SMOOTHED} steps</text>
</svg>
"""
