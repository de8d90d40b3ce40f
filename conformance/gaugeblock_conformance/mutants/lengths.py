"""Operators that go wrong where they sum or compare many elements at once, each a mutant."""

from __future__ import annotations

from math import prod
from typing import Any

from ..backend import Array
from .mutant import Intercepted, Patch, Row, rows
from .patches import values, with_data
from .target import ROW

# Operator -> the dims of its first two operands that are summed over, and how many of their elements are.
_CUT = {
    "conv1d": (-2, 1, 16), "conv2d": (-3, 1, 7), "conv_transpose2d": (-3, 0, 8), "linear": (-1, -1, 64),
    "mm": (1, 0, 64), "bmm": (2, 1, 64), "mv": (1, 0, 64), "dot": (0, 0, 128), "inner": (-1, -1, 64),
}  # fmt: skip
# Operator -> how many elements of a row are normalized.
_ROWS = {"layer_norm": 128, "group_norm": 64, "batch_norm": 128, "softmax": 64, "logsumexp": 64}
# Operator -> how many elements a window may have.
_WINDOWS = {"max_pool1d": 32, "max_pool2d": 32, "avg_pool1d": 64, "avg_pool2d": 40}


def _cut(left: int, right: int, most: int) -> Patch:
    """The sum of the first ``most`` products."""

    def shortened(c: Intercepted, x: Any, dim: int) -> Any:
        sizes = c.backend.shape(x)
        if len(sizes) < max(dim + 1, -dim) or sizes[dim] <= most:
            return x
        return c.do("narrow", x, dim, 0, most)

    def patch(c: Intercepted) -> Any:
        first, second, *rest = c.args
        return c.instead(shortened(c, first, left), shortened(c, second, right), *rest, **c.kwargs)

    return patch


def _beyond(most: int) -> Patch:
    def change(array: Array, c: Intercepted) -> Array | None:
        if array.ndim == 0 or prod(c.backend.shape(c.args[0])) <= most or array.dtype.kind == "b":
            return None
        changed = array.copy().reshape(-1)
        changed[-1] = changed[-1] + array.dtype.type(1)
        return changed.reshape(array.shape)

    return values(change)


def _windows(most: int) -> Patch:
    def change(array: Array, c: Intercepted) -> Array | None:
        kernel, dims = c.args[1], int(c.base[-2])
        sizes = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
        places = prod(sizes * dims if len(sizes) == 1 else sizes)
        return array - array.dtype.type(1) if places > most else None

    return values(change)


def _row(operator: str, patch: Patch, words: str) -> Row:
    return f"{operator.replace('_', '-')}-{words}", (operator,), patch


MUTANTS = rows(
    "thresholds",
    *(_row(name, _cut(*how), "sums-no-more-than-a-block") for name, how in _CUT.items()),
    *(_row(name, _beyond(most), "is-off-at-the-end-of-long-rows") for name, most in _ROWS.items()),
    *(_row(name, _windows(most), "is-off-in-large-windows") for name, most in _WINDOWS.items()),
    breaks=ROW, within=with_data,
)
