"""``python -m gaugeblock_conformance.soak BACKEND...``: right backends under many seeds; none may be accused.

Exit status 0 if no requirement failed other than as the backend's expectation file says, 1 if one did.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from .problem import UsageProblem
from .runner.rows import Row
from .runner.run import Options, validate
from .runner.selection import Selection

ACCUSED = ("failed", "crashed", "timeout", "xpassed")


class _Silent:
    """A reporter that says nothing."""

    def note(self, text: str) -> None: ...

    def start(self, total: int, done: int) -> None: ...

    def decided(self, row: Row) -> None: ...

    def finish(self) -> None: ...


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    totals: list[tuple[Any, ...]] = []
    accused = 0
    try:
        for backend in options.backends:
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                record = _run(backend, seed, options)
                rows = [row for row in record["requirements"] if row["status"] in ACCUSED]
                for row in rows:
                    print(_accusation(backend, seed, row), flush=True)
                accused += len(rows)
                facts = record["environment"]
                totals.append(
                    (backend, seed, facts["examples"], facts["seconds"], facts["examples_per_second"], len(rows))
                )
                print(f"{backend} seed {seed}: {len(rows)} accusations", file=sys.stderr, flush=True)
    except UsageProblem as problem:
        print(f"soak: {problem}", file=sys.stderr)
        return problem.exit_status
    print(tabulate(totals, ("backend", "seed", "examples", "seconds", "examples/s", "accusations")))
    print(f"\n{accused} accusations in {len(totals)} runs")
    return 1 if accused else 0


def _run(backend: str, seed: int, options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="gaugeblock-soak-") as folder:
        settings = Options(
            backend,
            Path(folder),
            Selection(areas=tuple(options.area)),
            budget=options.budget,
            seed=seed,
            jobs=options.jobs,
            check_snippets=False,
        )
        return validate(settings, _Silent())


def _accusation(backend: str, seed: int, row: Row) -> str:
    failure = row["failure"]
    text = f"{backend} seed {seed}: {row['status']} {row['id']}"
    if failure is None:
        return f"{text}\n{row['reason'] or ''}\n"
    lines = [text, f"{failure['test']}: {failure['message']}"]
    lines += [f"expected {failure['expected']}, got {failure['got']}"] if failure["expected"] else []
    return "\n".join([*lines, failure["snippet"] or ""]) + "\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gaugeblock_conformance.soak",
        description="Run right backends under many seeds; no requirement may fail unexpectedly.",
    )
    parser.add_argument("backends", nargs="+", metavar="BACKEND", help="as for gaugeblock validate")
    parser.add_argument("--seeds", type=int, default=20, help="number of seeds (default: 20)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--budget", default="quick", help="quick (default), standard or thorough")
    parser.add_argument("--area", action="append", default=[], help="only this area")
    parser.add_argument("--jobs", type=int, default=None, help="worker processes (default: one per core)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
