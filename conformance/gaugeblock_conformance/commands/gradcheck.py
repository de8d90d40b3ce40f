"""``gaugeblock gradcheck BACKEND``: the derivatives of every operator against finite differences."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gaugeblock_spec import operators

from .. import discovery
from ..gradcheck.operators import FIRST, FORWARD, SECOND
from ..gradcheck.recorded import VJP
from ..gradcheck.rows import differentiable
from ..gradcheck.suite import FAST, SLOW, operator_of
from ..gradcheck.table import markdown, terminal
from ..journal import write_atomically
from ..problem import UsageProblem, unknown
from ..runner.progress import reporter
from ..runner.run import RECORD, Options, exit_status, validate
from ..runner.selection import Selection
from .arguments import backend_help, positive, seconds, words

TABLE = "gradcheck.md"


class Gradcheck:
    """The subcommand."""

    help = "check the derivatives of a backend's operators against finite differences"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("backend", metavar="BACKEND", help=backend_help())
        add("--op", nargs="+", action="extend", default=[], metavar="NAME", help="only these: add.Tensor, or all add")
        add("--fast", action="store_true", help="random projections instead of full Jacobians")
        add("--second-order", action="store_true", help="gradients of gradients, too")
        add("--forward", action="store_true", help="forward mode, too")
        add("--seed", type=int, default=0, metavar="N", help="seed of all drawn calls (0)")
        add("--out", type=Path, metavar="DIR", help="where journal, record and table go (runs/BACKEND-gradcheck)")
        add("--expect", metavar="FILE", help="expected failures; 'none' for none (the shipped file, if there is one)")
        add("--resume", action="store_true", help="continue the interrupted run in DIR")
        add("--jobs", type=positive, metavar="N", help="worker processes (the number of CPUs)")
        add("--no-snippet-check", action="store_true", help="do not execute the snippets of failures")
        add("--timeout", type=seconds, default=120.0, metavar="S", help="seconds for one operator and order (120)")

    def run(self, args: argparse.Namespace) -> int:
        areas = [FIRST, *([SECOND] if args.second_order else []), *([FORWARD] if args.forward else [])]
        chosen = _chosen(words(args.op))
        out = args.out or Path("runs") / f"{discovery.resolve(args.backend).slug}-gradcheck"
        options = Options(
            backend=args.backend,
            out=out,
            selection=Selection(tuple(areas), requirements=chosen),
            seed=args.seed,
            jobs=args.jobs,
            expect=args.expect,
            resume=args.resume,
            timeout=args.timeout,
            check_snippets=not args.no_snippet_check,
            suite=FAST if args.fast else SLOW,
            shipped="gradcheck-",
            needs=("autograd", VJP),
        )
        record = validate(options, reporter())
        write_atomically(out / TABLE, markdown(record))
        sys.stdout.write(terminal(record))
        print(f"written: {out / RECORD}, {out / TABLE}", file=sys.stderr)
        return exit_status(record)


def _chosen(asked: Sequence[str]) -> tuple[str, ...]:
    """The requirements of the operators asked for, by full name or by name without the overload; none for all.

    Raises:
        UsageProblem: an operator that the table does not have, or that has no derivative.
    """
    rows, checked = operators.load(), set(differentiable())
    wanted: set[str] = set()
    for name in asked:
        found = {full for full, row in rows.items() if name in (full, row.base_name)}
        if not found:
            raise unknown("operator", name, rows)
        if not found & checked:
            raise UsageProblem(f"operator {name!r} has no derivative: the spec declares none for it")
        wanted |= found & checked
    return tuple(identifier for identifier, operator in operator_of().items() if operator in wanted)


command = Gradcheck()
