"""Loops that go wrong only at some length: tails, blocks, grains."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, rows
from .patches import family, values, with_inplace
from .target import LOOP, POINTWISE, ROW

_POINTWISE = family("pointwise")


def _tail(lanes: int) -> Any:
    """The last element is left at zero when one remains after whole vectors of ``lanes``."""

    def change(array: Array, c: Intercepted) -> Array | None:
        if array.size <= lanes or array.size % lanes != 1:
            return None
        return _with(array, -1, 0)

    return change


def _with(array: Array, at: int, value: Any) -> Array:
    """The array with one element, counted row-major, replaced."""
    flat = array.reshape(-1).copy()
    flat[at] = value
    return flat.reshape(array.shape)


def _seam(grain: int) -> Any:
    """The first element of the second chunk is not computed."""

    def change(array: Array, c: Intercepted) -> Array | None:
        return _with(array, grain, 0) if array.size > grain else None

    return change


def _whole_vectors_of_eight_repeat(array: Array, c: Intercepted) -> Array | None:
    """From 64 elements on, the second vector of eight is written twice."""
    if array.size < 64:
        return None
    flat = array.reshape(-1).copy()
    flat[16:24] = flat[8:16]
    return flat.reshape(array.shape)


def _strided_tail(array: Array, c: Intercepted) -> Array | None:
    """The strided loop loses the last element of a row of more than two."""
    given = [a for a in c.args if c.is_tensor(a)]
    if array.ndim == 0 or array.shape[-1] < 3 or not given:
        return None
    steps = [c.backend.strides(a)[-1] for a in given if len(c.backend.shape(a))]
    if not any(step > 1 for step in steps):
        return None
    changed = array.copy()
    changed[..., -1] = changed[..., -2]
    return changed


def _short_reduction(array: Array, c: Intercepted) -> Array | None:
    """A sum of 17 or more elements leaves out the last."""
    x = c.array(c.args[0])
    if array.ndim or x.size < 17 or x.size % 16 != 1 or c.kwargs:
        return None
    return np.asarray(array - x.reshape(-1)[-1]).astype(array.dtype)


def _restarting_scan(array: Array, c: Intercepted) -> Array | None:
    """A scan forgets its total at element 128."""
    x = c.array(c.args[0])
    if array.ndim != 1 or array.size <= 128 or c.base != "cumsum" or x.dtype.kind not in "iu":
        return None
    changed = array.copy()
    changed[128:] -= array[127]
    return changed


def _columns_left_over(array: Array, c: Intercepted) -> Array | None:
    """Columns are scanned 16 side by side; those that are left over are copied."""
    x = c.array(c.args[0])
    if array.ndim != 2 or array.shape[1] <= 16 or c.args[1:2] != (0,):
        return None
    changed, done = array.copy(), array.shape[1] // 16 * 16
    changed[:, done:] = x[:, done:]
    return changed


def _first_of_block(array: Array, c: Intercepted) -> Array | None:
    """An extreme over more than 32 elements looks at the first 32 only."""
    x = c.array(c.args[0])
    if array.ndim or x.size <= 32 or array.dtype != x.dtype:
        return None
    function = np.max if "max" in c.base else np.min
    return np.asarray(function(x.reshape(-1)[:32]))


def _half_copied(array: Array, c: Intercepted) -> Array | None:
    """A copy of more than 4096 bytes stops there."""
    done = 4096 // array.dtype.itemsize
    if array.size <= done:
        return None
    flat = array.reshape(-1).copy()
    flat[done:] = 0
    return flat.reshape(array.shape)


def _broadcast_row(array: Array, c: Intercepted) -> Array | None:
    """Broadcasting along the last dim reads a neighbour from the fifth column on."""
    given = [a for a in c.args if c.is_tensor(a) and len(c.backend.shape(a))]
    if array.ndim == 0 or array.shape[-1] < 5 or not any(c.backend.shape(a)[-1] == 1 for a in given):
        return None
    changed = array.copy()
    changed[..., 4] = changed[..., 4] + changed.dtype.type(1) if array.dtype != bool else ~changed[..., 4]
    return changed


MUTANTS = rows(
    "thresholds",
    ("tail-after-8-lanes-is-dropped", f"kernels/every-path-gives-the-same-bits {LOOP}",
     _POINTWISE, values(_tail(8))),
    ("tail-after-16-lanes-is-dropped", f"kernels/every-path-gives-the-same-bits {LOOP}",
     _POINTWISE, values(_tail(16))),
    ("tail-after-32-lanes-is-dropped", f"kernels/every-path-gives-the-same-bits {POINTWISE}",
     with_inplace("add", "mul"), values(_tail(32))),
    ("tail-after-64-lanes-is-dropped", f"kernels/every-path-gives-the-same-bits {LOOP}",
     _POINTWISE, values(_tail(64))),
    ("element-at-the-grain-is-skipped", "iteration/chunks-cover-the-range-once", _POINTWISE, values(_seam(32768))),
    ("second-vector-is-written-twice", f"kernels/every-path-gives-the-same-bits {LOOP}",
     _POINTWISE, values(_whole_vectors_of_eight_repeat)),
    ("strided-loop-loses-its-last", LOOP, _POINTWISE, values(_strided_tail)),
    ("sum-leaves-out-its-tail", ROW, ("sum",), values(_short_reduction)),
    ("scan-restarts-at-a-block", "iteration/scans-run-in-index-order", ("cumsum",), values(_restarting_scan)),
    ("scan-leaves-the-last-columns", "iteration/scans-run-in-index-order", ("cumsum", "cumprod"),
     values(_columns_left_over)),
    ("extreme-of-the-first-block", ROW, ("amax", "amin", "max", "min"), values(_first_of_block)),
    ("copy-stops-at-a-page", "iteration/any-strides-copy-to-any-strides", ("copy_", "clone", "contiguous"),
     values(_half_copied)),
    ("broadcast-rows-shift", f"iteration/broadcasting-aligns-from-the-right {POINTWISE}", ("add", "mul"),
     values(_broadcast_row)),
)
