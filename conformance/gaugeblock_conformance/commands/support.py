"""``gaugeblock support BACKEND...``: the table operator x dtype x backend."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import discovery
from ..journal import write_atomically
from ..problem import UsageProblem, unknown
from .arguments import backend_help, megabytes, positive, words

if TYPE_CHECKING:
    from ..support.table import Column


class Support:
    """The subcommand."""

    help = "print which operators backends have for which dtypes and layouts, and whether they are right"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("backends", nargs="+", metavar="BACKEND", help=backend_help())
        add("--op", nargs="+", action="extend", default=[], metavar="NAME", help="only these: add.Tensor, or all add")
        add("--family", nargs="+", action="extend", default=[], metavar="F", help="only these, such as pointwise")
        add("--format", default="terminal", metavar="F", help="terminal, markdown, csv or json (terminal)")
        add("--out", type=Path, metavar="FILE", help="where the table goes (standard output)")
        add("--seed", type=int, default=0, metavar="N", help="seed of the calls (0)")
        add("--jobs", type=positive, metavar="N", help="worker processes (the number of CPUs)")
        add("--memory", type=megabytes, default=0, metavar="MIB", help="memory for one worker; 0 for no limit (0)")

    def run(self, args: argparse.Namespace) -> int:
        from ..support.table import chosen
        from ..support.text import FORMATS

        if args.format not in FORMATS:
            raise unknown("format", args.format, FORMATS)
        if args.out is not None and not args.out.parent.is_dir():
            raise UsageProblem(f"--out {args.out}: no folder {args.out.parent}")
        for backend in args.backends:
            discovery.resolve(backend)
        cells = chosen(words(args.op), words(args.family))
        columns = [told(backend, cells, args.jobs, args.seed, args.memory) for backend in args.backends]
        text = FORMATS[args.format](columns)
        if args.out is None:
            sys.stdout.write(text)
        else:
            write_atomically(args.out, text)
            print(f"written: {args.out}", file=sys.stderr)
        return 0


def told(backend: str, cells: Sequence[tuple[str, str]], jobs: int | None, seed: int, memory: int) -> Column:
    """The column of one backend, with progress on a terminal."""
    from ..support.table import column

    shown = sys.stderr.isatty()

    def progress(done: int, total: int) -> None:
        if shown and (done % 50 == 0 or done == total):
            end = "\n" if done == total else ""
            print(f"\r{backend}: {done} of {total} cells", end=end, file=sys.stderr, flush=True)

    def note(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    return column(backend, cells, jobs, seed, memory, progress, note)


command = Support()
