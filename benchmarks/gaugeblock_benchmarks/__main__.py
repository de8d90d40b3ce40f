"""``python -m gaugeblock_benchmarks [torch]``: the engine beside a peer, one thread each."""

from __future__ import annotations

import argparse
import importlib
import os
import platform

from tabulate import tabulate

from .cases import CASES
from .timing import ROUNDS, Measurement, import_seconds, measure

IMPORT_LIMIT = 0.25


def main(arguments: list[str] | None = None) -> int:
    """Print a table of ratios; the exit status is 1 if one is beyond its limit."""
    parser = argparse.ArgumentParser(prog="gaugeblock_benchmarks", description=__doc__)
    parser.add_argument("peer", nargs="?", default="torch", help="module with torch's API to compare with")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="interleaved rounds per case (default %(default)s)")
    options = parser.parse_args(arguments)
    try:
        peer = importlib.import_module(options.peer)
    except ImportError as error:
        parser.error(f"peer {options.peer!r} cannot be imported: {error}")
    subject = importlib.import_module("gaugeblock")
    for module in (subject, peer):
        module.set_num_threads(1)
    results = [measure(case, subject, peer, options.rounds) for case in CASES]
    seconds = import_seconds("gaugeblock")
    version = getattr(peer, "__version__", "unknown")
    print(f"gaugeblock {subject.__version__} beside {options.peer} {version}, one thread each, {options.rounds} rounds")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    headers = ("case", "gaugeblock", options.peer, "ratio", "95 %", "limit", "")
    print(tabulate([_row(r) for r in results], headers=headers))
    verdict = "ok" if seconds <= IMPORT_LIMIT else "slow"
    print(f"\nimport gaugeblock: {seconds:.3f} s (limit {IMPORT_LIMIT} s) {verdict}")
    return 0 if all(r.within for r in results) and seconds <= IMPORT_LIMIT else 1


def _row(result: Measurement) -> tuple[str, ...]:
    return (
        result.case.name,
        _time(result.subject),
        _time(result.peer),
        f"{result.ratio:.2f}",
        f"{result.low:.2f}-{result.high:.2f}",
        f"{result.case.limit:.2f}",
        "ok" if result.within else "slow",
    )


def _time(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-5 else f"{seconds * 1e6:.1f} us"


if __name__ == "__main__":
    raise SystemExit(main())
