"""``python -m gaugeblock_benchmarks.accuracy``: unary float32 functions over all 2**32 bit patterns, in ULP.

The oracle is NumPy (SciPy for the special functions) in float64: its own error, a few units of float64, moves an error
by less than 2**-25 ULP of float32; only the verdict "correctly rounded" can be wrong by it, for results that close to
the middle of two floats. A block of patterns is a task; finished tasks are kept in a journal, so that a run that was
stopped goes on.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import multiprocessing
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gaugeblock_conformance.backend import Backend, Unsupported
from gaugeblock_conformance.discovery import load, resolve
from numpy.typing import NDArray
from tabulate import tabulate

Array = NDArray[Any]
BLOCK = 1 << 26
CHUNK = 1 << 14
SAMPLED = 16
BLOCKS = (1 << 32) // BLOCK
ORACLES: dict[str, str] = {
    name: f"numpy:{oracle}"
    for name, oracle in zip(
        "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt "
        "reciprocal".split(),
        "exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
        "sqrt reciprocal".split(),
        strict=True,
    )
} | {
    "sigmoid": "scipy.special:expit", "rsqrt": "gaugeblock_benchmarks.accuracy:reciprocal_root",
    "erf": "scipy.special:erf", "erfc": "scipy.special:erfc", "lgamma": "gaugeblock_benchmarks.accuracy:log_gamma",
    "digamma": "scipy.special:digamma", "erfinv": "gaugeblock_benchmarks.accuracy:inverse_error",
}  # fmt: skip
"""Where the float64 function of each operator is found."""
MIRRORED = dict.fromkeys("sin tan asin atan sinh tanh asinh atanh erf erfinv reciprocal".split(), -1) | {
    "cos": 1, "cosh": 1
}  # fmt: skip
"""Odd (-1) and even (1) functions: their negative patterns need no oracle where they mirror the positive ones."""


@dataclass(frozen=True)
class Outcome:
    """Errors of one backend in one block and in the mirrored one.

    `largest` and where it is; `right` of `count` results are correctly rounded; `total` is the sum of the errors of
    `sampled` results, those of one chunk in SAMPLED.
    """

    function: str
    block: int
    step: int
    backend: str
    largest: float
    at: float
    total: float
    sampled: int
    right: int
    count: int


@dataclass
class Tally:
    """A running :class:`Outcome`."""

    largest: float = 0.0
    at: float = 0.0
    total: float = 0.0
    sampled: int = 0
    right: int = 0
    count: int = 0

    def add(self, x: Array, got: Array, exact: Array, others: int, times: int) -> Array:
        """Enter results, and `others` that are correctly rounded, so many times; the errors of the results."""
        distance, right = errors(got, exact)
        if distance.size and distance.max() > self.largest:
            where = int(np.argmax(distance))
            self.largest, self.at = float(distance[where]), float(x[where])
        self.right += (int(np.count_nonzero(right)) + others) * times
        self.count += (x.size + others) * times
        return distance

    def enter(self, x: Array, got: Array, exact: Array, rounded: Array, times: int, sampled: bool) -> None:
        """Enter results; if they are sampled, all of them count for the mean."""
        if sampled:
            distance = self.add(x, got, exact, 0, times)
            self.total += float(np.sum(np.where(np.isfinite(distance), distance, 0.0))) * times
            self.sampled += x.size * times
        else:
            differ = np.flatnonzero(got.view(np.uint32) != rounded)
            self.add(x[differ], got[differ], exact[differ], x.size - differ.size, times)


def reciprocal_root(x: Array) -> Array:
    """1 / sqrt(x)."""
    result: Array = 1.0 / np.sqrt(x)
    return result


def log_gamma(x: Array) -> Array:
    """log |gamma(x)|, infinite at both infinities as C says."""
    result: Array = importlib.import_module("scipy.special").gammaln(x)
    return np.where(np.isinf(x), np.inf, result)


def inverse_error(x: Array) -> Array:
    """The y with erf(y) = x; NaN beyond 1, which SciPy says a thousand times more slowly than it computes."""
    function = importlib.import_module("scipy.special").erfinv
    result: Array = np.full(x.shape, np.nan)
    inside = np.abs(x) <= 1.0
    result[inside] = function(x[inside])
    return result


def errors(got: Array, exact: Array) -> tuple[Array, Array]:
    """Distance in units in the last place of the float32 next to `exact` (float64), and where it is correctly rounded.

    An infinity stands for 2**128; NaN against a number is infinitely wrong.
    """
    rounded = exact.astype(np.float32)
    limit = 2.0**128
    wide = np.clip(exact, -limit, limit)
    field = np.abs(wide).view(np.int64) & np.int64(0x7FF << 52)
    field = np.clip(field, (1023 - 126) << 52, (1023 + 127) << 52)
    per_unit = (((1023 + 23) << 52) - (field - (1023 << 52))).view(np.float64)
    distance = np.abs(np.clip(got.astype(np.float64), -limit, limit) - wide) * per_unit
    right = (got == rounded) & (np.signbit(got) == np.signbit(rounded))
    undefined = np.isnan(exact)
    right |= undefined & np.isnan(got)
    distance[right & ~np.isfinite(distance)] = 0.0
    distance[np.isnan(distance)] = np.inf
    distance[undefined & np.isnan(got)] = 0.0
    return distance, right


@functools.cache
def _oracle(function: str) -> Callable[[Array], Array]:
    module, _, name = ORACLES[function].partition(":")
    found: Callable[[Array], Array] = getattr(importlib.import_module(module), name)
    return found


@functools.cache
def _backend(name: str) -> Backend:
    backend: Backend = load(resolve(name))
    module = getattr(backend, "module", None)
    if module is not None and hasattr(module, "set_num_threads"):
        module.set_num_threads(1)
    return backend


def blocks(function: str) -> range:
    """The blocks to be measured: of odd and even functions those without a sign."""
    return range(BLOCKS // 2 if function in MIRRORED else BLOCKS)


def measure_block(task: tuple[str, int, int, tuple[str, ...]]) -> list[Outcome]:
    """Outcomes of every backend over the patterns of a block that are multiples of a step, and over their mirror."""
    function, block, step, names = task
    tally = {name: Tally() for name in names}
    mirror = MIRRORED.get(function)
    with np.errstate(all="ignore"):
        for number, start in enumerate(range(block * BLOCK, (block + 1) * BLOCK, CHUNK * step)):
            stop = min(start + CHUNK * step, (block + 1) * BLOCK)
            x = np.arange(start, stop, step, dtype=np.int64).astype(np.uint32).view(np.float32)
            exact = _oracle(function)(x.astype(np.float64))
            rounded = exact.astype(np.float32).view(np.uint32)
            sampled = number % SAMPLED == 0
            for name in names:
                got = _results(name, function, x)
                mirrored = None if mirror is None else _results(name, function, -x)
                alike = mirrored is not None and _same(got, mirrored if mirror == 1 else -mirrored)
                tally[name].enter(x, got, exact, rounded, 2 if alike else 1, sampled)
                if mirrored is not None and mirror is not None and not alike:
                    tally[name].enter(-x, mirrored, mirror * exact, (mirror * exact).astype(np.float32).view(np.uint32),
                                      1, sampled)  # fmt: skip
    return [Outcome(function, block, step, name, **asdict(entry)) for name, entry in tally.items()]


def _results(name: str, function: str, x: Array) -> Array:
    backend = _backend(name)
    return backend.to_numpy(backend.call(function, backend.from_numpy(x)))


def _same(a: Array, b: Array) -> bool:
    different = a.view(np.uint32) != b.view(np.uint32)
    return not different.any() or bool(np.isnan(a[different]).all() and np.isnan(b[different]).all())


def _supported(function: str, names: Iterable[str]) -> tuple[str, ...]:
    found = []
    for name in names:
        backend = _backend(name)
        try:
            backend.call(function, backend.from_numpy(np.ones(1, np.float32)))
        except Unsupported:
            continue
        found.append(name)
    return tuple(found)


def _journalled(path: Path, step: int) -> Iterator[Outcome]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            outcome = Outcome(**json.loads(line))
            if outcome.step == step:
                yield outcome


def report(outcomes: Iterable[Outcome], names: tuple[str, ...]) -> str:
    """The Markdown table of all functions whose blocks are complete, errors of the first backend before the others'."""
    by_function: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        by_function.setdefault((outcome.function, outcome.backend), []).append(outcome)
    rows = []
    for function in ORACLES:
        own = by_function.get((function, names[0]), [])
        if not {outcome.block for outcome in own}.issuperset(blocks(function)):
            continue
        worst = max(own, key=lambda outcome: outcome.largest)
        count = sum(outcome.count for outcome in own)
        mean = sum(o.total for o in own) / sum(o.sampled for o in own)
        row = [function, f"{worst.largest:.3f}", f"{worst.at:.9g}", f"{mean:.4f}"]
        row.append(f"{sum(o.right for o in own) / count:.3%}")
        for name in names[1:]:
            others = by_function.get((function, name), [])
            row.append(f"{max(o.largest for o in others):.3f}" if others else "")
        rows.append(row)
    headers = ["function", "largest error", "at", "mean error", "correctly rounded"]
    return tabulate(rows, [*headers, *(f"largest, {name}" for name in names[1:])], "github", disable_numparse=True)


def main(arguments: list[str] | None = None) -> int:
    """Measure what the journal lacks, print the table and write it; the exit status is 1 for an error above 1 ULP."""
    parser = argparse.ArgumentParser(prog="gaugeblock_benchmarks.accuracy", description=__doc__)
    parser.add_argument("--backends", default="reference", help="names, separated by commas (default %(default)s)")
    parser.add_argument("--functions", default=",".join(ORACLES), help="names, separated by commas (default: all)")
    parser.add_argument("--step", type=int, default=1, help="measure every step-th pattern (default %(default)s)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--journal", type=Path, default=Path("runs/accuracy.jsonl"))
    parser.add_argument("--out", type=Path, help="Markdown file for the table")
    options = parser.parse_args(arguments)
    names = tuple(options.backends.split(","))
    functions = options.functions.split(",")
    if unknown := set(functions) - set(ORACLES):
        parser.error(f"no oracle for {', '.join(sorted(unknown))}; there is one for {', '.join(ORACLES)}")
    outcomes = list(_journalled(options.journal, options.step))
    done = {(outcome.function, outcome.block) for outcome in outcomes}
    tasks = [
        (function, block, options.step, supported)
        for function in functions
        if (supported := _supported(function, names))
        for block in blocks(function)
        if (function, block) not in done
    ]
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.processes) as pool, options.journal.open("a", encoding="utf-8") as journal:
        for found in pool.imap_unordered(measure_block, tasks):
            outcomes += found
            journal.writelines(json.dumps(asdict(outcome)) + "\n" for outcome in found)
            journal.flush()
    table = report(outcomes, names)
    print(table)
    if options.out:
        patterns = "all 2^32 bit patterns" if options.step == 1 else f"every {options.step}th of the 2^32 bit patterns"
        versions = ", ".join(f"{name} {_backend(name).version}" for name in names)
        about = f"{patterns}, {platform.machine()}, {versions}, NumPy {np.__version__}"
        options.out.write_text(f"# Errors of the float32 functions, in ULP\n\n{about}\n\n{table}\n", encoding="utf-8")
    return int(any(outcome.largest > 1.0 for outcome in outcomes if outcome.backend == names[0]))


if __name__ == "__main__":
    raise SystemExit(main())
