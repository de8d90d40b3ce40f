"""``python -m gaugeblock_benchmarks [torch]``: the engine beside a peer, interleaved, as ratios of times."""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from gaugeblock_conformance.backend import Backend
from gaugeblock_conformance.discovery import load, resolve
from tabulate import tabulate

from .allocator import EVENTS_LIMIT, FEW, GROWTH_LIMIT, MANY, PAIR_LIMIT, measure_allocator
from .allocator_walk import walk
from .cases import SMALL, SMALL_SETUP, cases
from .costs import (
    COLD_LIMIT,
    DISK_LIMIT,
    IMPORT_LIMIT,
    MEMORY_LIMIT,
    first_calls,
    import_seconds,
    specialisation_memory,
)
from .explanations import explain
from .grid import Cell, run_grid, set_threads
from .products import LIMIT, Product, measure_products
from .record import environment, record, write
from .subject import statement_loop
from .summary import GOAL, SLOW, duration, geometric_mean, means, ratio, slow_cells, table
from .timing import Timed, measure
from .training import CHAIN, LINEAR, chain_seconds, measure_training
from .training import LIMIT as TRAINING_LIMIT

PARTS = ("grid", "small", "products", "training", "costs", "allocator")


def main(arguments: list[str] | None = None) -> int:
    """Print ratios; the exit status is 1 if a goal is missed."""
    options = _parser().parse_args(arguments)
    subject, peer = load(resolve(options.subject)), load(resolve(options.peer))
    where = environment(subject, peer)
    print(f"{subject.name} {subject.version} beside {peer.name} {peer.version}")
    print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}\n")
    verdicts: list[bool] = []
    cells: list[Cell] = []
    products: list[Product] = []
    costs: dict[str, Any] = {}
    if "grid" in options.parts:
        cells = _grid(options, (subject, peer))
        verdicts.append(_goal_reached(cells))
    if "small" in options.parts:
        verdicts.append(_small(subject, peer))
    if "products" in options.parts:
        set_threads(subject, 1)
        products = measure_products(getattr(subject, "module"))  # noqa: B009
        verdicts.append(_show_products(products))
    if "training" in options.parts:
        verdicts.append(_training(subject, peer))
    if "costs" in options.parts:
        costs = _costs()
        verdicts.append(_show_costs(costs))
    if "allocator" in options.parts:
        verdicts.append(_allocator(getattr(subject, "module")))  # noqa: B009
    if options.out:
        write(options.out, record(where, cells, products, costs))
    return 0 if all(verdicts) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gaugeblock_benchmarks", description=__doc__)
    parser.add_argument("peer", nargs="?", default="torch", help="backend to compare with (default %(default)s)")
    parser.add_argument("--subject", default="reference", help="backend that is judged (default %(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what to run (default all)")
    parser.add_argument("--ops", nargs="+", default=(), help="operators of the grid (default all)")
    parser.add_argument("--layouts", nargs="+", default=(), help="layouts of the grid (default all)")
    parser.add_argument("--sizes", nargs="+", type=lambda text: int(float(text)), default=(), help="elements")
    parser.add_argument("--threads", nargs="+", type=int, default=(1, 2), help="thread counts (default 1 2)")
    parser.add_argument("--time-budget", type=float, default=600.0, help="seconds for the grid (default %(default)s)")
    parser.add_argument("--out", type=Path, help="write a JSON record here")
    parser.add_argument("--all", action="store_true", help="print every cell, not only the slow ones")
    return parser


def _grid(options: argparse.Namespace, backends: tuple[Backend, Backend]) -> list[Cell]:
    try:
        chosen = cases(tuple(options.ops), tuple(options.layouts), tuple(options.sizes))
    except ValueError as error:
        _parser().error(str(error))
    share = options.time_budget / max(1, len(chosen) * len(options.threads))

    def progress(cell: Cell) -> None:
        if sys.stderr.isatty():
            print(f"\r{cell.case.name:60}", end="", file=sys.stderr)

    cells = list(run_grid(chosen, backends, options.threads, share, progress))
    slow = slow_cells(cells)
    print(table(cells if options.all else slow or cells[:0]))
    unexplained = [cell for cell in slow if not explain(cell.case)]
    print(f"\n{len(slow)} of {len(cells)} cells above {SLOW}, {len(unexplained)} unexplained\n\n{means(cells)}\n")
    for reason in dict.fromkeys(cell.absent for cell in cells if cell.absent):
        print(f"not measured: {reason}")
    return cells


def _goal_reached(cells: list[Cell]) -> bool:
    measured = [ratio(cell) for cell in cells if cell.measurement is not None]
    unexplained = [cell for cell in slow_cells(cells) if not explain(cell.case)]
    return bool(measured) and geometric_mean(measured) <= GOAL and not unexplained


def _small(subject: Backend, peer: Backend) -> bool:
    rows, good = [], True
    for backend in (subject, peer):
        set_threads(backend, 1)
    for case in SMALL:
        timed = []
        for backend in (subject, peer):
            scope: dict[str, Any] = {"xp": getattr(backend, "module", None)}
            exec(SMALL_SETUP, scope)
            names = [name for name in ("a", "b", "m", "r") if name in scope]
            loop = statement_loop(case.statement, names, scope["xp"])
            timed.append(Timed(loop, [tuple(scope[name] for name in names)]))
        found = measure(timed[0], timed[1])
        within = found.within(case.limit)
        good &= within
        rows.append((case.name, duration(found.subject), duration(found.peer), f"{found.ratio:.2f}",
                     f"{found.low:.2f}-{found.high:.2f}", "ok" if within else "slow"))  # fmt: skip
    print(tabulate(rows, headers=("small call", "subject", "peer", "ratio", "95 %", ""), disable_numparse=True) + "\n")
    return good


def _show_products(products: list[Product]) -> bool:
    rows = [
        (f"{p.size} x {p.size} {p.dtype}", duration(p.measurement.subject), duration(p.measurement.peer),
         f"{p.measurement.ratio:.2f}", "ok" if p.measurement.within(LIMIT) else "slow")
        for p in products
    ]  # fmt: skip
    print(tabulate(rows, headers=("matrix product", "subject", "NumPy", "ratio", ""), disable_numparse=True) + "\n")
    return all(p.measurement.within(LIMIT) for p in products)


def _training(subject: Backend, peer: Backend) -> bool:
    for backend in (subject, peer):
        set_threads(backend, 1)
    modules = [getattr(backend, "module") for backend in (subject, peer)]  # noqa: B009
    found = measure_training(*modules)
    rows = [
        (case.name, duration(one.subject), duration(one.peer), f"{one.ratio:.2f}", f"{one.low:.2f}-{one.high:.2f}",
         "ok" if one.within(TRAINING_LIMIT) else "slow")
        for case, one in found
    ]  # fmt: skip
    print(tabulate(rows, headers=("training", "subject", "peer", "ratio", "95 %", ""), disable_numparse=True))
    short, long = chain_seconds(modules[0])
    growth = long / short * CHAIN[0] / CHAIN[1]
    print(f"\nbackward of {CHAIN[1]} nodes in a chain: {duration(long)}, {growth:.2f} of linear growth\n")
    return all(one.within(TRAINING_LIMIT) for _, one in found) and growth <= LINEAR


def _allocator(module: Any) -> bool:
    found = measure_allocator(module)
    pair, events = found.pair[FEW], found.events
    rows = [(f"cached malloc + free, {FEW} blocks", duration(pair.median), duration(pair.best), duration(PAIR_LIMIT),
             pair.median <= PAIR_LIMIT),
            (f"longer with {MANY} blocks, times", f"{found.growth:.2f}", "", f"{GROWTH_LIMIT:.2f}",
             found.growth <= GROWTH_LIMIT),
            ("events replayed in a second", f"{events.median:,.0f}", f"{events.best:,.0f}", f"{EVENTS_LIMIT:,}",
             events.median >= EVENTS_LIMIT)]  # fmt: skip
    rows += [
        (f"free of any + malloc, {live} blocks", duration(paces.median), duration(paces.best), "", True)
        for live, paces in found.churn.items()
    ]
    way = walk(module)
    rows.append(("random events without a broken invariant", f"{way.events:,}", "", "", not way.broken))
    shown = [(*row[:4], "ok" if row[4] else "beyond") for row in rows]
    print(tabulate(shown, headers=("allocator", "median", "best", "limit", ""), disable_numparse=True))
    print(f"\n{way.out_of_memory} of the random events ran out of memory. {way.broken}\n")
    return all(row[4] for row in rows)


def _costs() -> dict[str, Any]:
    cold, disk = first_calls()
    memory, specialisations = specialisation_memory()
    return {
        "import_seconds": import_seconds(),
        "first_call_seconds": {"cold": cold.kernels, "disk": disk.kernels},
        "first_of_family_seconds": {"cold": cold.families, "disk": disk.families},
        "specialisation_bytes": memory,
        "specialisation_calls": specialisations,
    }


def _show_costs(costs: dict[str, Any]) -> bool:
    rows: list[tuple[str, str, str, bool]] = []
    seconds = costs["import_seconds"]
    rows.append(("import gaugeblock", duration(seconds), duration(IMPORT_LIMIT), seconds <= IMPORT_LIMIT))
    for kind, limit in (("cold", COLD_LIMIT), ("disk", DISK_LIMIT)):
        times = costs["first_call_seconds"][kind]
        worst = max(times, key=times.get)
        middle = statistics.median(times.values())
        rows.append((f"first call, {kind}, median of {len(times)}", duration(middle), duration(limit), middle <= limit))
        rows.append((f"first call, {kind}, worst ({worst})", duration(times[worst]), duration(limit),
                     times[worst] <= limit))  # fmt: skip
    families = {kind: max(times.values()) for kind, times in costs["first_of_family_seconds"].items()}
    shown_families = ", ".join(f"{kind} {duration(seconds)}" for kind, seconds in families.items())
    memory = costs["specialisation_bytes"]
    rows.append((f"memory of {costs['specialisation_calls']} specialised calls", f"{memory / 2**20:.0f} MiB",
                 f"{MEMORY_LIMIT / 2**20:.0f} MiB", memory <= MEMORY_LIMIT))  # fmt: skip
    shown = [(*row[:3], "ok" if row[3] else "beyond") for row in rows]
    print(tabulate(shown, headers=("cost", "measured", "limit", ""), disable_numparse=True))
    print(f"\nworst first call of a family of kernels, entry points included: {shown_families}")
    return all(row[3] for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())
