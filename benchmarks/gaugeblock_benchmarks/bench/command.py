"""``gaugeblock bench BACKEND [BACKEND ...]``: time backends side by side, and against an earlier record."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from gaugeblock_conformance.commands.arguments import positive, words
from gaugeblock_conformance.discovery import installed, resolve
from gaugeblock_conformance.journal import write_atomically
from gaugeblock_conformance.problem import UsageProblem, unknown

from ..__main__ import main as grid_main
from ..machine.description import processor
from . import baseline, instructions, tables
from .opening import labels, open_seats
from .run import Options, run, tasks_of
from .seat import CLOCKS
from .suites import BUDGETS, DEFAULT, MOST_SIZE, SUITES, known_operators

FORMATS = ("terminal", "markdown", "json")
RECORD = "record.json"
GRID, EVERY = "grid", "operators"
GRID_SECONDS = {"quick": 60, "standard": 600}


class Bench:
    """The subcommand."""

    help = "time backends side by side: overhead, layers, throughput, growth, autograd, training, allocator, memory"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        known = ", ".join(installed()) or "none"
        add = parser.add_argument
        add("backends", nargs="+", metavar="BACKEND", help=f"NAME[:DEVICE] (installed: {known}), package.module:Class "
            "or file.py:Class; ratios are to the first")  # fmt: skip
        add("--suite", nargs="+", action="extend", default=[], metavar="S",
            help=f"{', '.join(SUITES)} (all but the last); or {GRID}, alone")  # fmt: skip
        add("--ops", nargs="+", action="extend", default=[], metavar="OP",
            help=f"only these of {', '.join(known_operators(DEFAULT))}; for {EVERY} any row")  # fmt: skip
        add("--sizes", nargs="+", action="extend", default=[], metavar="N", help="numbers of elements, as 16 or 1e6")
        add("--threads", type=positive, default=1, metavar="N", help="threads that an operator may use (1)")
        add("--budget", default="standard", metavar="B", help=f"{', '.join(BUDGETS)} (standard)")
        add("--against", metavar="BACKEND", help="ratios to this one of the backends (the first)")
        add("--clock", default="wall", metavar="C", help="wall, or cpu: what the process works (wall)")
        add("--instructions", action="store_true", help="count those of the suite layers too, by valgrind (minutes)")
        add("--isolate", action="store_true", help="each backend in a process of its own, timed in turn all the same")
        add("--baseline", type=Path, metavar="FILE", help="compare with this record; exit status 1 if slower")
        add("--brief", action="store_true",
            help="without the time of each round, which --baseline needs: a fifth of the record's size")  # fmt: skip
        add("--out", type=Path, default=Path("runs/bench"), metavar="DIR", help=f"where {RECORD} goes (runs/bench)")
        add("--format", nargs="+", action="extend", default=[], metavar="F",
            help="terminal (printed), markdown (to DIR/report.md), json (always)")  # fmt: skip

    def run(self, args: argparse.Namespace) -> int:
        if GRID in words(args.suite):
            return _grid(args)
        options, formats = _options(args), _known("format", words(args.format), FORMATS) or ("terminal",)
        names = [resolve(text) for text in args.backends]
        earlier = baseline.read(args.baseline) if args.baseline else None
        if earlier is not None:
            baseline.check_comparable(earlier, args.baseline, options, processor())
        if not tasks_of(options):
            raise UsageProblem("no case is left: none of these suites has these operators at these sizes")
        _check_writable(args.out)
        seats = open_seats(names, options.threads, options.clock, args.isolate)
        try:
            record = run(seats, options, _progress)
        finally:
            for seat in seats:
                seat.close()
            _progress("")
        if earlier is not None:
            record["baseline"] = baseline.compare(earlier, record, str(args.baseline))
        if args.brief:
            _drop_rounds(record)
        path = args.out / RECORD
        write_atomically(path, json.dumps(record, separators=(",", ":")) + "\n")
        if "terminal" in formats:
            print(tables.report(record, "simple"))
        written = [path]
        if "markdown" in formats:
            written.append(args.out / "report.md")
            write_atomically(written[-1], tables.report(record, "github") + "\n")
        print("written: " + ", ".join(map(str, written)), file=sys.stderr)
        return 1 if record["baseline"] and record["baseline"]["slower"] else 0


def _drop_rounds(record: dict[str, Any]) -> None:
    """Take the time of each round out of a record; medians and ratios stay."""
    for case in record["cases"]:
        case["yardstick"] = []
        for result in case["results"]:
            result["blocks"] = []


def _grid(args: argparse.Namespace) -> int:
    """The grid of operators, layouts and sizes beside one peer, with an explanation of each slow cell."""
    if set(words(args.suite)) != {GRID}:
        raise UsageProblem(f"suite {GRID!r} runs alone, without {', '.join(sorted(set(words(args.suite)) - {GRID}))}")
    if len(args.backends) != 2:
        raise UsageProblem(f"suite {GRID!r} compares two backends, {len(args.backends)} given")
    subject, peer = args.backends
    given = [peer, "--subject", subject, "--parts", "grid", "--threads", str(args.threads)]
    given += ["--time-budget", str(GRID_SECONDS[_known("budget", [args.budget], BUDGETS)[0]])]
    for option, chosen in (("--ops", words(args.ops)), ("--sizes", words(args.sizes))):
        given += [option, *chosen] if chosen else []
    return grid_main(given)


def _options(args: argparse.Namespace) -> Options:
    resolved = labels([resolve(text) for text in args.backends])
    against = args.against or resolved[0]
    if against not in resolved:
        raise unknown("backend to compare with", against, resolved)
    suites = _known("suite", words(args.suite), SUITES) or DEFAULT
    return Options(
        suites=suites,
        operators=_known("operator", words(args.ops), known_operators(suites)),
        sizes=tuple(sorted({_size(word) for word in words(args.sizes)})),
        threads=args.threads,
        budget=_known("budget", [args.budget], BUDGETS)[0],
        clock=_known("clock", [args.clock], CLOCKS)[0],
        against=resolved.index(against),
        instructions=_countable(args.instructions, suites),
    )


def _countable(wanted: bool, suites: Sequence[str]) -> bool:
    if wanted and "layers" not in suites:
        raise UsageProblem("--instructions counts the steps of the suite layers, which is not among those named")
    if wanted and not instructions.available():
        raise UsageProblem("--instructions needs valgrind with callgrind_control, which are not installed")
    return wanted


def _known(kind: str, given: Sequence[str], allowed: Collection[str]) -> tuple[str, ...]:
    for name in given:
        if name not in allowed:
            raise unknown(kind, name, allowed, "gaugeblock bench --help lists them")
    return tuple(name for name in allowed if name in given)


def _size(text: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= MOST_SIZE or value != int(value):
        raise UsageProblem(f"size {text!r} is not a whole number from 1 to {MOST_SIZE}, as 16 or 1e6")
    return int(value)


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{RECORD}.probe"
        probe.write_text("", encoding="utf-8")
        probe.unlink()
    except OSError as error:
        raise UsageProblem(f"--out {folder}: cannot be written: {error.strerror or error}") from error


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text[:100]:100}", end="" if text else "\r", file=sys.stderr)


command: Any = Bench()
