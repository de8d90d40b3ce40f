"""``python -m gaugeblock_conformance.mutants``: exit status 0 if the suite catches every mutant, 1 if not."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tabulate import tabulate

from ..problem import UsageProblem, unknown
from ..runner.environment import cores
from .mutant import CLASSES, Mutant
from .run import Trials, run_all
from .table import named, table
from .trial import CAUGHT, Result


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        chosen = _chosen(options.classes, options.only)
        if options.list:
            rows = [(m.name, m.kind, m.area, " ".join(m.operators)) for m in chosen]
            print(tabulate(rows, ("mutant", "class", "area", "operators")))
            return 0
        trials = Trials(options.base, options.budget, options.seed)
        started = time.perf_counter()
        results = _run(chosen, trials, options.jobs or cores())
    except UsageProblem as problem:
        print(f"mutants: {problem}", file=sys.stderr)
        return problem.exit_status
    print(_report(chosen, results, options.base))
    missed = [m.name for m in chosen if results[m.name].status != CAUGHT]
    caught = len(chosen) - len(missed)
    print(f"\n{caught} of {len(chosen)} mutants caught in {time.perf_counter() - started:.0f} s")
    for name in missed:
        result = results[name]
        print(f"{result.status}: {name} {result.requirement} {result.test} {result.text}".rstrip())
    return 1 if missed else 0


def _chosen(classes: list[str], only: list[str]) -> list[Mutant]:
    for kind in classes:
        if kind not in CLASSES:
            raise unknown("class", kind, CLASSES)
    if only:
        return [named(name) for name in only]
    return [m for m in table().values() if not classes or m.kind in classes]


def _run(chosen: list[Mutant], trials: Trials, jobs: int) -> dict[str, Result]:
    results: dict[str, Result] = {}
    for result in run_all(chosen, trials, jobs):
        results[result.name] = result
        done = f"{len(results)}/{len(chosen)}"
        print(f"{done:>8} {result.status:8} {result.name} ({result.seconds:.1f} s)", file=sys.stderr, flush=True)
    return results


def _report(chosen: list[Mutant], results: dict[str, Result], base: str) -> str:
    rows = []
    for mutant in chosen:
        result = results[mutant.name]
        by = result.requirement if result.status == CAUGHT else result.status.upper()
        rows.append((mutant.name, mutant.kind, by, result.examples, result.seconds))
    totals = []
    for kind in CLASSES:
        of_kind = [results[m.name] for m in chosen if m.kind == kind]
        if of_kind:
            totals.append((kind, len(of_kind), sum(r.status == CAUGHT for r in of_kind)))
    head = f"Mutants of {base}\n\n"
    listed = tabulate(rows, ("mutant", "class", "caught by", "examples", "seconds"))
    return head + listed + "\n\n" + tabulate(totals, ("class", "mutants", "caught"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gaugeblock_conformance.mutants",
        description="Run the suite against deliberately broken backends; every one must be caught.",
    )
    parser.add_argument("--class", dest="classes", action="append", default=[], help="only mutants of this class")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="only this mutant")
    parser.add_argument("--base", default="reference", help="the right backend that is broken (default: reference)")
    parser.add_argument("--budget", default="standard", help="quick, standard (default) or thorough")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=0, help="processes (default: one per core)")
    parser.add_argument("--list", action="store_true", help="print the mutants and run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
