"""``python -m gaugeblock_conformance.soak [BACKEND...]``: right backends under many seeds; none may be accused.

Exit status 0 if no requirement failed other than as the backend's expectation file says, 1 if one did. Each run is
journalled, so that ``--resume`` goes on where a soak was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gaugeblock_spec.temporary_folder import TemporaryFolder
from tabulate import tabulate

from . import discovery
from .budget import named
from .commands.arguments import positive, seconds
from .journal import Journal, write_atomically
from .oracles.near import SUITE
from .problem import UsageProblem
from .runner.environment import suite_version
from .runner.rows import Row
from .runner.run import Interrupted, Options, validate
from .runner.selection import Selection

ACCUSED = ("failed", "crashed", "timeout", "xpassed")
RIGHT = ("numpy", "reference")
SCHEMA = "gaugeblock-soak/1"
OUT = Path("runs") / "soak"
# More than the quick budget's: a busy machine is no fault of a backend.
PATIENCE = 600.0
Run = dict[str, Any]


class _Silent:
    """A reporter that says nothing."""

    def note(self, text: str) -> None: ...

    def start(self, total: int, done: int) -> None: ...

    def decided(self, row: Row) -> None: ...

    def finish(self) -> None: ...


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        runs = _soak(options)
    except UsageProblem as problem:
        print(f"soak: {problem}", file=sys.stderr)
        return problem.exit_status
    except (KeyboardInterrupt, Interrupted):
        print(f"soak: interrupted; --resume --out {options.out} continues", file=sys.stderr)
        return 1
    heads = ("backend", "seed", "examples", "seconds", "accusations")
    print(tabulate([(*(run[head] for head in heads[:-1]), len(run["accusations"])) for run in runs], heads))
    accused = sum(len(run["accusations"]) for run in runs)
    print(f"\n{accused} accusations in {len(runs)} runs")
    return 1 if accused else 0


def _soak(options: argparse.Namespace) -> list[Run]:
    """Every run of the soak, those of an earlier one that is resumed included."""
    budget = named(options.budget)
    backends = options.backends or list(RIGHT)
    for backend in backends:
        discovery.resolve(backend)
    configuration = {"budget": budget.name, "areas": options.area, "suite version": suite_version()}
    started = datetime.now(UTC).isoformat(timespec="seconds")
    out, seeds = options.out, range(options.first_seed, options.first_seed + options.seeds)
    with Journal.resume(out, configuration) if options.resume else Journal.create(
        out, configuration, started
    ) as journal:
        done = {(run["backend"], run["seed"]): run for run in journal.rows}
        # Seeds outside: a soak that is stopped has tried every backend.
        for seed in seeds:
            for backend in backends:
                if (backend, seed) not in done:
                    done[backend, seed] = run = _run(backend, seed, options)
                    journal.append(run)
                    print(f"{backend} seed {seed}: {len(run['accusations'])} accusations", file=sys.stderr, flush=True)
                    for accusation in run["accusations"]:
                        print(accusation, flush=True)
        record = {"schema": SCHEMA, **configuration, "started": journal.started, "runs": journal.rows}
        write_atomically(out / "record.json", json.dumps(record, indent=1) + "\n")
    return [done[backend, seed] for backend in backends for seed in seeds]


def _run(backend: str, seed: int, options: argparse.Namespace) -> Run:
    with TemporaryFolder("gaugeblock-soak-") as folder:
        settings = Options(
            backend,
            Path(folder),
            Selection(areas=tuple(options.area)),
            budget=options.budget,
            seed=seed,
            jobs=options.jobs,
            timeout=options.timeout,
            check_snippets=False,
        )
        record = validate(settings, _Silent())
    facts = record["environment"]
    return {
        "backend": backend,
        "version": facts["version"],
        "seed": seed,
        "examples": facts["examples"],
        "seconds": facts["seconds"],
        "accusations": [
            *[_accusation(backend, seed, row) for row in record["requirements"] if row["status"] in ACCUSED],
            *[f"{backend} seed {seed}: {row['id']}: {error}" for row in record["requirements"] for error in _own(row)],
        ],
    }


def _own(row: Row) -> list[str]:
    """Return the errors of the suite that a row tells of."""
    return [f"{operator}: {why}" for operator, why in row["unsupported"].items() if why.startswith(SUITE)]


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
    add = parser.add_argument
    add("backends", nargs="*", metavar="BACKEND", help=f"as for gaugeblock validate ({' '.join(RIGHT)})")
    add("--seeds", type=positive, default=50, metavar="N", help="number of seeds (50)")
    add("--first-seed", type=int, default=0, metavar="N", help="the first of them (0)")
    add("--budget", default="quick", metavar="B", help="quick (default), standard or thorough")
    add("--area", action="append", default=[], metavar="A", help="only this area")
    add("--jobs", type=positive, metavar="N", help="worker processes (one per core)")
    add("--timeout", type=seconds, default=PATIENCE, metavar="S", help=f"seconds for one requirement ({PATIENCE:g})")
    add("--out", type=Path, default=OUT, metavar="DIR", help=f"where journal and record go ({OUT})")
    add("--resume", action="store_true", help="continue the soak in DIR")
    return parser


if __name__ == "__main__":
    sys.exit(main())
