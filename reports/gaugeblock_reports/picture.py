"""A report's terminal text as an SVG picture: ``python -m gaugeblock_reports.picture RECORD OUT [LINES]``."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from . import terminal
from .record import load


def picture(text: str, title: str) -> str:
    """``text`` (with ANSI colours) in a drawn terminal window."""
    console = Console(record=True, width=terminal.WIDEST + 2, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text), soft_wrap=False)
    svg = console.export_svg(title=title, unique_id="gaugeblock")
    # rich's style sheet fetches its font from the net; the reader's own monospaced font does as well.
    return re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    """Draw the first ``LINES`` (60) lines of the report of ``RECORD`` into ``OUT``."""
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    record = load(Path(arguments[0]))
    lines = terminal.render([record], colour=True).splitlines()[: int(arguments[2]) if len(arguments) == 3 else 60]
    title = f"gaugeblock validate {record['environment']['backend']}"
    Path(arguments[1]).write_text(picture("\n".join(lines), title), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
