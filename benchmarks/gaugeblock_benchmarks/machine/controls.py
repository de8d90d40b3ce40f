"""Controls: what does not depend on any backend, timed in every pass of a run.

Those of the roof say how fast the machine can be. All of them together say how much the machine itself changed from one
run to another, which is what a comparison of runs has to allow for. The :class:`Yardstick` is a fixed piece of work,
timed in turn with every case and control: what slows it slows them, within the same milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..timing import Timed, calls_per_round, timed_steps
from .roof import COPY_BYTES, PRODUCTS, TRIAD_BYTES, copies, products, triads

Clock = Callable[[], float]
ROUNDS = 15
ROUND_SECONDS = 0.001
YARDSTICK_SECONDS = 0.0002
VECTOR_BYTES = 1 << 16


class Yardstick:
    """Work of NumPy that is the same in every run: small calls beside what moves few bytes, long ones beside what moves
    VECTOR_BYTES or more, since what slows the one need not slow the other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._timed = (_calls(), _vectors(32_768))
        self._counts = [calls_per_round(timed, clock, YARDSTICK_SECONDS) for timed in self._timed]

    def seconds(self, moved_bytes: int) -> float:
        """Of one call, over one round."""
        which = moved_bytes >= VECTOR_BYTES
        return rounded(self._timed[which].seconds(self._counts[which], self._clock) / self._counts[which])


def rounded(seconds: float) -> float:
    """A sample as it is recorded."""
    return float(f"{seconds:.5g}")


@dataclass(frozen=True)
class Control:
    """Something timed; `kind` is ``copy``, ``triad``, ``product`` or ``calls``, the rest says what one call does."""

    name: str
    kind: str
    make: Callable[[], Timed]
    moved_bytes: int = 0
    operations: int = 0
    dtype: str = "float64"

    def pass_over(self, clock: Clock, yardstick: Yardstick) -> tuple[list[float], list[float]]:
        """Seconds per call of the rounds of one pass, and those of the yardstick."""
        timed = self.make()
        count = calls_per_round(timed, clock, ROUND_SECONDS)
        own, other = [], []
        for _ in range(ROUNDS):
            own.append(rounded(timed.seconds(count, clock) / count))
            other.append(yardstick.seconds(self.moved_bytes))
        return own, other


def controls(threads: int, most_bytes: int) -> list[Control]:
    """All of them whose operands have at most so many bytes."""
    found = [
        Control("attributes of Python objects", "calls", _attributes), Control("Python lists", "calls", _lists),
        Control("small NumPy sums", "calls", _small),
        Control("logarithms in cache", "calls", partial(_logarithms, 8192), 1 << 17),
        Control("tangents in cache", "calls", partial(_tangents, 65_536), 1 << 19),
    ]  # fmt: skip
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
        Control(f"product of {size} x {size} {dtype}", "product", partial(products, dtype, size),
                3 * size**2 * np.dtype(dtype).itemsize, 2 * size**3, dtype)
        for dtype, size in PRODUCTS
        if 8 * size**2 <= most_bytes
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
    values = np.ones(16)

    def step() -> None:
        for number in range(8):
            np.add(values, values)
            str(number)

    return timed_steps([step])


def _attributes() -> Timed:
    control = Control("", "calls", _small)

    def step() -> int:
        total = 0
        for _ in range(50):
            total += control.moved_bytes + control.operations
        return total

    return timed_steps([step])


def _lists() -> Timed:
    return timed_steps([lambda: sorted([-number for number in range(50)])])


def _small() -> Timed:
    values = np.ones(16)
    return timed_steps([lambda: np.add(values, values)])


def _vectors(size: int) -> Timed:
    values, out = np.linspace(0, 1, size), np.ones(size)
    return timed_steps([lambda: np.exp(values, out=out)])


def _logarithms(size: int) -> Timed:
    values, out = np.linspace(1, 2, size), np.ones(size)
    return timed_steps([lambda: np.log(values, out=out)])


def _tangents(size: int) -> Timed:
    values, out = np.linspace(0, 1, size, dtype=np.float32), np.ones(size, np.float32)
    return timed_steps([lambda: np.tanh(values, out=out)])


def _size(nbytes: int) -> str:
    return f"{nbytes >> 20} MiB" if nbytes >= 1 << 20 else f"{nbytes >> 10} KiB"
