"""The roof of the machine: how fast it copies, adds and multiplies when nothing stands in the way.

Measured in the run that it is compared with, by the same rounds as the cases: copies and triads (``a = b + s * c``, the
fourth kernel of STREAM) at several sizes, and products of square matrices by NumPy's BLAS. Operands larger than a
core's own cache are rotated as those of cases are, so that a share of the roof compares like with like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..operands import rotations
from ..timing import Timed, timed_steps

Array = NDArray[Any]
Row = dict[str, Any]

COPY_BYTES = tuple(1 << power for power in (15, 17, 19, 21, 22, 23, 24, 25, 27, 29))
"""Sizes of the copied array: 32 KiB to 512 MiB; a quick run stops at 32 MiB."""
TRIAD_BYTES = (1 << 19, 1 << 23, 1 << 25)
PRODUCTS = (("float32", 512), ("float64", 512), ("float32", 1024), ("float64", 1024))
LEAST_BYTES = 1 << 16
"""Moves of fewer bytes have no share: the copy beside them is mostly the call."""
_BLOCK = 1 << 14


def copies(nbytes: int, threads: int) -> Timed:
    """A copy of so many bytes."""
    return _rotated(nbytes, 2, threads, lambda source, target: np.copyto(target, source))


def triads(nbytes: int, threads: int) -> Timed:
    """``a = b + 3 * c`` over arrays of so many bytes, in blocks that stay in a core's cache."""

    def triad(a: Array, b: Array, c: Array) -> None:
        for start in range(0, a.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            np.multiply(c[part], 3.0, out=a[part])
            np.add(a[part], b[part], out=a[part])

    return _rotated(nbytes, 3, threads, triad)


def products(dtype: str, size: int) -> Timed:
    """A product of square matrices."""
    one, other, out = (np.ones((size, size), dtype) for _ in range(3))
    return timed_steps([lambda: np.matmul(one, other, out=out)])


def _rotated(nbytes: int, operands: int, threads: int, act: Callable[..., object]) -> Timed:
    turns = [[np.ones(nbytes // 8) for _ in range(operands)] for _ in range(rotations(operands * nbytes))]
    if threads == 1:
        return timed_steps([partial(act, *arrays) for arrays in turns])
    parts = [list(zip(*(np.array_split(array, threads) for array in arrays), strict=True)) for arrays in turns]
    return timed_steps([partial(_at_once, act, part) for part in parts])


def _at_once(act: Callable[..., object], parts: Sequence[Sequence[Array]]) -> None:
    for done in [_pool(len(parts)).submit(act, *part) for part in parts]:
        done.result()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def end_threads(threads: int) -> None:
    """End the threads that copied: calls of some libraries cost more while other Python threads exist."""
    _pool(threads).shutdown()
    _pool.cache_clear()


def bandwidth_at(copied: Sequence[Row], moved: int) -> float | None:
    """Bytes a second of a copy that moves so many bytes: between two sizes measured, on the log scale."""
    if moved < LEAST_BYTES or not copied:
        return None
    rows = sorted(copied, key=lambda row: int(row["moved_bytes"]))
    places = [log(row["moved_bytes"]) for row in rows]
    rates = [log(row["bytes_per_second"]) for row in rows]
    return exp(float(np.interp(log(moved), places, rates)))


def flops_at(multiplied: Sequence[Row], dtype: str) -> float | None:
    """The highest rate of products of a dtype."""
    rates = [float(row["operations_per_second"]) for row in multiplied if row["dtype"] == dtype]
    return max(rates, default=None)
