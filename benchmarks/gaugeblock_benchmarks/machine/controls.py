"""Controls: what does not depend on any backend, timed in every pass of a run.

Those of the roof say how fast the machine can be. All of them together say how much the machine itself changed from one
run to another, which is what a comparison of runs has to allow for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from ..timing import Timed, calls_per_round, timed_steps
from .roof import COPY_BYTES, PRODUCTS, TRIAD_BYTES, copies, products, triads

Clock = Callable[[], float]
ROUNDS = 7


@dataclass(frozen=True)
class Control:
    """Something timed; `kind` is ``copy``, ``triad``, ``product`` or ``calls``, the rest says what one call does."""

    name: str
    kind: str
    make: Callable[[], Timed]
    moved_bytes: int = 0
    operations: int = 0
    dtype: str = "float64"

    def pass_over(self, clock: Clock = perf_counter) -> list[float]:
        """Seconds per call, of one pass."""
        timed = self.make()
        count = calls_per_round(timed, clock)
        return [float(f"{timed.seconds(count, clock) / count:.5g}") for _ in range(ROUNDS)]


def controls(threads: int, most_bytes: int) -> list[Control]:
    """All of them; copies of at most so many bytes."""
    found = [Control("calls of a Python function", "calls", _calls), Control("small NumPy sums", "calls", _small)]
    found += [
        Control(f"copy of {_size(nbytes)}", "copy", partial(copies, nbytes, threads), 2 * nbytes)
        for nbytes in COPY_BYTES
        if nbytes <= most_bytes
    ]
    found += [
        Control(f"triad of {_size(nbytes)}", "triad", partial(triads, nbytes, threads), 3 * nbytes)
        for nbytes in TRIAD_BYTES
        if nbytes <= most_bytes
    ]
    return found + [
        Control(f"product of {size} x {size} {dtype}", "product", partial(products, dtype, size), 0, 2 * size**3, dtype)
        for dtype, size in PRODUCTS
    ]  # fmt: skip


def roof(measured: list[tuple[Control, float]]) -> dict[str, list[dict[str, Any]]]:
    """Rates from controls with their median seconds: copies and triads in bytes a second, products in operations."""
    rows: dict[str, list[dict[str, Any]]] = {"copy": [], "triad": [], "product": []}
    for control, seconds in measured:
        if control.kind in ("copy", "triad"):
            rate = control.moved_bytes / seconds
            rows[control.kind].append(
                {"moved_bytes": control.moved_bytes, "seconds": seconds, "bytes_per_second": rate}
            )
        elif control.kind == "product":
            rows["product"].append({"dtype": control.dtype, "operations": control.operations, "seconds": seconds,
                                    "operations_per_second": control.operations / seconds})  # fmt: skip
    return rows


def _calls() -> Timed:
    def step() -> int:
        return sum(number & 3 for number in range(100))

    return timed_steps([step])


def _small() -> Timed:
    values = np.ones(16)
    return timed_steps([lambda: np.add(values, values)])


def _size(nbytes: int) -> str:
    return f"{nbytes >> 20} MiB" if nbytes >= 1 << 20 else f"{nbytes >> 10} KiB"
