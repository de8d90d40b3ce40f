"""``gaugeblock report RUN...``: run records as text for a terminal, Markdown or JUnit XML."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path

from .record import Record, RecordError, load

GROUP = "gaugeblock.reports"


class Report:
    """The subcommand."""

    help = "print run records that validate has written"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        names = ", ".join(sorted(point.name for point in entry_points(group=GROUP)))
        parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a record file, or the folder it is in")
        parser.add_argument("--format", default="terminal", metavar="F", help=f"{names} (terminal)")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of printing")

    def run(self, args: argparse.Namespace) -> int:
        points = {point.name: point for point in entry_points(group=GROUP)}
        if args.format not in points:
            raise RecordError(f"unknown format {args.format!r}; known: {', '.join(sorted(points))}")
        records = [load(run) for run in args.runs]
        render: Callable[[Sequence[Record], bool], str] = points[args.format].load()
        if args.out is None:
            plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
            sys.stdout.write(render(records, not plain))
            return 0
        try:
            args.out.write_text(render(records, False), encoding="utf-8")
        except OSError as error:
            raise RecordError(f"--out {args.out}: cannot write there: {error.strerror}") from error
        return 0


command = Report()
