"""Elements whose value the spec leaves open, operator by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..backend import Array, dtype_name
from ..values import COMPLEX

HALF = ("float16", "bfloat16")

Rule = Callable[..., Any]


def judged(operator: str, arrays: Sequence[Array | None], want: Array) -> Array:
    """True where a result is judged by value (broadcast to the shape of ``want``).

    Not judged: complex numbers with parts that are not finite or of extreme size, since no standard fixes the way a
    formula of several steps takes there; and the cases of ``_OPEN``.
    """
    given = [a for a in arrays if a is not None]
    mask = np.ones(want.shape, dtype=bool)
    with np.errstate(all="ignore"):
        if dtype_name(want.dtype) in COMPLEX or any(dtype_name(a.dtype) in COMPLEX for a in given):
            for array in (*given, want):
                mask = mask & _moderate(np.asarray(array))
        rule = _OPEN.get(operator.split(".")[0])
        if rule is not None:
            mask = mask & rule(*given)
    return np.asarray(np.broadcast_to(mask, want.shape))


def _moderate(array: Array) -> Array:
    mask = np.ones(array.shape, dtype=bool)
    if array.dtype.kind != "c":
        return mask
    for part in (array.real, array.imag):
        size = np.abs(part)
        mask &= (size == 0) | ((size >= 1e-3) & (size <= 100))
    return mask


def _divisor_fits(a: Array, b: Array) -> Array:
    """The absolute value of the smallest integer is not representable, nor is every common multiple."""
    mask = np.ones(np.broadcast(a, b).shape, dtype=bool)
    for v in (a, b):
        mask = mask & ~((v < 0) & (v == -v))
    return mask


def _multiple_fits(a: Array, b: Array) -> Array:
    exact = np.abs(a.astype(np.longdouble)) * np.abs(b.astype(np.longdouble)) / np.maximum(np.gcd(a, b), 1)
    return _divisor_fits(a, b) & (exact <= np.iinfo(a.dtype).max)


def _whole(z: Array) -> Any:
    """A zero of the sine, where nothing of the result is left but the rounding of π."""
    return (z == 0) | ~((z.imag == 0) & (z.real == np.round(z.real))) if z.dtype.kind == "c" else np.True_


def _quotient_fits(a: Array, b: Array) -> Any:
    """A quotient beyond the float32 range is the matter of ``dtypes/half-remainder-of-tiny-divisor``."""
    if dtype_name(a.dtype) not in HALF and dtype_name(b.dtype) not in HALF:
        return np.True_
    quotient = np.abs(a.astype(np.float64) / b.astype(np.float64))
    return ~((quotient > np.finfo(np.float32).max) & (b != 0))


_OPEN: dict[str, Rule] = {
    "gcd": _divisor_fits,
    "lcm": _multiple_fits,
    "sinc": _whole,
    "remainder": _quotient_fits,
    "floor_divide": _quotient_fits,
}
