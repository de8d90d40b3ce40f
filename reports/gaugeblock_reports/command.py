"""``gaugeblock report RUN...``: run records as text for a terminal, Markdown, HTML, JUnit XML or JSON."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from .record import BENCH, RUN, Record, RecordError, load_all

GROUP = "gaugeblock.reports"
ALL_KINDS = ("html", "json")


class Report:
    """The subcommand."""

    help = "print run records that validate has written"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        names = ", ".join(sorted(point.name for point in entry_points(group=GROUP)))
        add = parser.add_argument
        add("runs", nargs="+", type=Path, metavar="RUN", help="a record, the folder it is in, or a journal")
        add("--format", default="terminal", metavar="F", help=f"{names} (terminal)")
        add("--out", type=Path, metavar="FILE", help="write to a file instead of printing")
        add("--verbose", action="store_true", help="terminal: list all that was skipped or not offered")
        add("--chapters", metavar="URL", help="html: where the chapters of the spec lie, for links (AREA.html there)")

    def run(self, args: argparse.Namespace) -> int:
        points = {point.name: point for point in entry_points(group=GROUP)}
        if args.format not in points:
            raise RecordError(f"unknown format {args.format!r}; known: {', '.join(sorted(points))}")
        if args.chapters is not None and args.format != "html":
            raise RecordError(f"--chapters is for --format html, not {args.format}")
        if args.verbose and args.format != "terminal":
            raise RecordError(f"--verbose is for --format terminal, not {args.format}")
        records = [record for run in args.runs for record in load_all(run)]
        if args.format not in ALL_KINDS:
            records = only_runs(records, args.format)
        elif args.format == "html" and not any(record["schema"] == RUN for record in records):
            raise RecordError(f"no run record among {', '.join(map(str, args.runs))}; give one beside the benchmarks")
        options = {} if args.chapters is None else {"chapters": args.chapters}
        options |= {"verbose": True} if args.verbose else {}
        render: Any = points[args.format].load()
        write(render(records, args.out is None and use_colour(), **options), args.out)
        return 0


def only_runs(records: Sequence[Record], wanted: str) -> list[Record]:
    """``records``, if all are of runs of the suite. Raises RecordError naming the format that shows the others."""
    for record in records:
        if record["schema"] == BENCH:
            raise RecordError(f"a benchmark record has no --format {wanted}; --format html draws it beside a run")
    return list(records)


def use_colour() -> bool:
    """Return whether standard output is a terminal whose user has not asked for plain text."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def write(text: str, out: Path | None) -> None:
    """Print ``text``, or write it to the file ``out``. Raises RecordError if that cannot be written."""
    if out is None:
        sys.stdout.write(text)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise RecordError(f"--out {out}: cannot write there: {error.strerror}") from error


command = Report()
