"""Draw a detection as it looks on a terminal, as SVG.

    haluagent detect --input examples/invoice.en.json --json | python docs/pictures/terminal.py \
        "haluagent detect --input examples/invoice.en.json" docs/pictures/terminal.svg

The report is read from standard input; the command is what the picture shows after the prompt.
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console

from haluagent import Detection
from haluagent.report.lines import report_lines

WIDTH = 110


def draw(detection: Detection, command: str) -> str:
    """Return the SVG of `command` and of the report that it prints."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print("$ " + command, markup=False, highlight=False, style="bold")
    for line in report_lines(detection):
        for piece in line.styled().wrap(console, WIDTH - line.indent):
            console.print(" " * line.indent, piece, sep="", highlight=False)
    svg = console.export_svg(title="haluagent", unique_id="haluagent")
    # The letters of the reader's own machine: nothing is fetched to show the picture.
    return re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    drawn = draw(Detection.model_validate_json(sys.stdin.buffer.read()), sys.argv[1])
    Path(sys.argv[2]).write_text("\n".join(line.rstrip() for line in drawn.splitlines()) + "\n", encoding="utf-8")
