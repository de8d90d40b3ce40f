"""``gaugeblock validate BACKEND``: run the suite, write the run record, print its report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from gaugeblock_spec.requirements import AREAS, LEVELS

from .. import discovery
from ..budget import BUDGETS
from ..expectations import writing
from ..journal import unwritable, write_atomically
from ..problem import unknown
from ..runner import suite as suites
from ..runner.progress import reporter
from ..runner.run import RECORD, Options, Record, exit_status, validate
from ..runner.selection import Selection
from .arguments import backend_help, megabytes, positive, seconds, total, words
from .support import told

SUITE = suites.STANDARD
SUPPORT = "support.csv"
FORMATS_GROUP = "gaugeblock.reports"
PRINTED = ("terminal", "github")
FILES = {"markdown": "report.md", "junit": "junit.xml", "html": "report.html"}

Render = Callable[..., str]


class Validate:
    """The subcommand."""

    help = "check a backend against the spec"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("backend", metavar="BACKEND", help=backend_help())
        add("--area", nargs="+", action="extend", default=[], metavar="A", help=f"only these: {', '.join(AREAS)}")
        add("--level", default="may", metavar="L", help=f"down to this level: {', '.join(LEVELS).lower()} (may)")
        add("--requirement", nargs="+", action="extend", default=[], metavar="ID", help="only these requirements")
        add("--op", nargs="+", action="extend", default=[], metavar="OP", help="only verdicts on these operators")
        add("--budget", default="standard", metavar="B", help=f"{', '.join(BUDGETS)} (standard)")
        add("--seed", type=int, default=0, metavar="N", help="seed of all drawn examples (0)")
        add("--jobs", type=positive, metavar="N", help="worker processes (the number of CPUs)")
        add("--expect", metavar="FILE", help="expected failures; 'none' for none (the shipped file, if there is one)")
        add("--write-expect", type=Path, metavar="FILE", help="add what failed to this file, to say why in it")
        add("--resume", action="store_true", help="continue the interrupted run in DIR")
        add("--out", type=Path, metavar="DIR", help="where journal, record and reports go (runs/BACKEND)")
        add("--format", nargs="+", action="extend", default=[], metavar="F", help=_formats_help())
        add("--timeout", type=seconds, metavar="S", help="seconds for one requirement or operator (by budget)")
        add("--total", type=total, metavar="S", help="seconds for the run, or none; the rest is skipped (quick: 300)")
        add("--fail-fast", action="store_true", help="end with the first failure that was not expected; skip the rest")
        add("--memory", type=megabytes, metavar="MIB", help="memory for one worker; 0 for no limit (by machine)")
        add("--support", action="store_true", help="print the table operator x dtype instead, also as DIR/support.csv")
        add("--verbose", action="store_true", help="list all that was skipped or not offered")
        add("--no-snippet-check", action="store_true", help="do not execute the snippets of failures")

    def run(self, args: argparse.Namespace) -> int:
        formats = words(args.format) or ["terminal"]
        known = {**_formats(), "json": None}
        formats = [name for name in known if name != "github"] if "all" in formats else formats
        for name in formats:
            if name not in known:
                raise unknown("format", name, known, "or all")
        out = args.out or Path("runs") / discovery.resolve(args.backend).slug
        if args.support:
            return _support(args, out)
        expect = args.expect
        if args.write_expect is not None:
            writing.check_path(args.write_expect)
            expect = expect or (str(args.write_expect) if args.write_expect.exists() else "none")
        options = Options(
            backend=args.backend,
            out=out,
            selection=Selection(
                tuple(words(args.area)), args.level.lower(), tuple(words(args.requirement)), tuple(words(args.op))
            ),
            budget=args.budget,
            seed=args.seed,
            jobs=args.jobs,
            expect=expect,
            resume=args.resume,
            timeout=args.timeout,
            memory=args.memory,
            check_snippets=not args.no_snippet_check,
            suite=SUITE,
            fail_fast=args.fail_fast,
            total=args.total,
        )
        # A backend may remove the current folder.
        here = Path.cwd()
        record = validate(options, reporter())
        written = [out / RECORD]
        if args.write_expect is not None:
            written.append(args.write_expect)
            done = writing.write(here / args.write_expect, record, suites.load(SUITE).requirements)
            for remark in done.remarks:
                print(f"{args.write_expect}: {remark}", file=sys.stderr)
            added = f"{done.added} entr{'y' if done.added == 1 else 'ies'} added; say in each why it fails"
            print(f"{args.write_expect}: {added}", file=sys.stderr)
        for name in formats:
            render = known[name]
            if render is None:
                continue
            if name in PRINTED:
                more = {"verbose": True} if args.verbose and name == "terminal" else {}
                sys.stdout.write(render([record], use_colour(sys.stdout), **more))
                continue
            path = out / FILES.get(name, f"report.{name}")
            write_atomically(here / path, render([record], False))
            written.append(path)
        print("written: " + ", ".join(map(str, written)), file=sys.stderr)
        return exit_status(record)


def _support(args: argparse.Namespace, out: Path) -> int:
    """What ``gaugeblock support`` prints for one backend, which is also written to ``out``."""
    from ..support.table import chosen
    from ..support.text import FORMATS

    table = told(args.backend, chosen([], []), args.jobs, args.seed, args.memory or 0)
    sys.stdout.write(FORMATS["terminal"]([table]))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, error) from error
    write_atomically(out / SUPPORT, FORMATS["csv"]([table]))
    print(f"written: {out / SUPPORT}", file=sys.stderr)
    return 0


def use_colour(stream: Any) -> bool:
    """Return whether ``stream`` is a terminal whose user has not asked for plain text."""
    return bool(stream.isatty()) and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _formats() -> dict[str, Render]:
    return {point.name: _lazily(point) for point in entry_points(group=FORMATS_GROUP)}


def _lazily(point: Any) -> Render:
    def render(records: Sequence[Record], colour: bool, **options: bool) -> str:
        text: str = point.load()(records, colour, **options)
        return text

    return render


def _formats_help() -> str:
    names = sorted({"json", *(point.name for point in entry_points(group=FORMATS_GROUP))})
    printed = " and ".join(PRINTED)
    return f"{', '.join(names)} or all; {printed} are printed, the others written to DIR (terminal; json always)"


command = Validate()
