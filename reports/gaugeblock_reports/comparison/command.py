"""``gaugeblock compare A B``: what changed from one run to another."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..command import write
from ..record import RecordError, load, printable
from .changes import compare
from .formats import FORMATS


class Compare:
    """The subcommand."""

    help = "tell what changed from run A to run B; exit status 1 if a MUST that held in A is broken in B"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("first", type=Path, metavar="A", help="a run record, the folder it is in, or a journal")
        parser.add_argument("second", type=Path, metavar="B", help="another, of a later version or another backend")
        parser.add_argument("--format", default="terminal", metavar="F", help=f"{', '.join(FORMATS)} (terminal)")
        parser.add_argument("--out", type=Path, metavar="FILE", help="write to a file instead of printing")

    def run(self, args: argparse.Namespace) -> int:
        if args.format not in FORMATS:
            raise RecordError(f"unknown format {args.format!r}; known: {', '.join(FORMATS)}")
        found = compare(printable(load(args.first)), printable(load(args.second)))
        write(FORMATS[args.format](found), args.out)
        return 1 if found.regressions else 0


command = Compare()
