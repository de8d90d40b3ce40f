"""Comparing arrays: bit for bit, or in units in the last place of the expected value's dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from .backend import Array, dtype_name
from .values import COMPLEX, FLOATS

_QUIET = {"float16": 0x0200, "bfloat16": 0x0040}
_WIDTH = {"float16": np.int16, "bfloat16": np.int16, "float32": np.int32, "float64": np.int64}


def ulp_distance(got: Array, want: Array) -> Array:
    """How many representable values lie between ``got`` and ``want`` (same floating dtype), as float64.

    NaN against NaN is 0, NaN against a number is inf; -0.0 and 0.0 are 0 apart.
    """
    kind = _WIDTH[dtype_name(want.dtype)]
    distance = np.abs(_ordered(got, kind) - _ordered(want, kind))
    nan_got, nan_want = np.isnan(got), np.isnan(want)
    distance = np.where(nan_got != nan_want, np.inf, distance)
    return np.asarray(np.where(nan_got & nan_want, 0.0, distance))


def _ordered(array: Array, kind: Any) -> Array:
    """Bits of floats as a monotone scale (float64 in long double, which holds 64 bits)."""
    wide = np.longdouble if kind is np.int64 else np.float64
    bits = np.ascontiguousarray(array).reshape(array.shape).view(kind).astype(wide)
    lowest = float(np.iinfo(kind).min)
    return np.asarray(np.where(bits < 0, lowest - bits, bits))


def differing_bits(got: Array, want: Array) -> Array:
    """Which elements of two arrays of one shape and dtype differ in their bits.

    A signalling NaN of a half format may have become quiet, as it does by every conversion through float32.
    """
    flat = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (got, want)]
    one, two = (part.reshape(*want.shape, want.itemsize) for part in flat)
    differing = np.asarray((one != two).any(axis=-1))
    quiet = _QUIET.get(dtype_name(want.dtype))
    if quiet is not None:
        patterns = [np.ascontiguousarray(a).reshape(want.shape).view(np.uint16) for a in (got, want)]
        differing &= ~(np.isnan(want.astype(np.float32)) & (patterns[0] == patterns[1] | quiet))
    return differing


def first_mismatch(got: Array, want: Array, ulp: float = 0, signed_zero: bool = True) -> tuple[int, ...] | None:
    """Index of the first element of ``got`` that is not ``want``'s, by the rules of :func:`mismatches`, or None."""
    return first_of(mismatches(got, want, ulp, signed_zero))


def first_of(bad: Array) -> tuple[int, ...] | None:
    """Index of the first element of ``bad`` that is true, or None."""
    if not bad.any():
        return None
    return tuple(int(i) for i in np.argwhere(np.atleast_1d(bad))[0][: bad.ndim])


def mismatches(got: Array, want: Array, ulp: float = 0, signed_zero: bool = True) -> Array:
    """Which elements of ``got`` are not ``want``'s.

    Shapes and dtypes are equal already. ``ulp`` 0 means the same value (NaN equals NaN, and -0.0 differs from 0.0
    unless ``signed_zero`` is false); otherwise the distance in units in the last place may be up to ``ulp``
    (complex numbers: each part, measured against the larger part of the expected number).
    """
    if got.tobytes() == want.tobytes():
        return np.zeros(want.shape, dtype=bool)
    name = dtype_name(want.dtype)
    if name in COMPLEX:
        return _complex_mismatch(got, want, ulp, signed_zero)
    if name in FLOATS:
        return _float_mismatch(got, want, ulp, signed_zero)
    return np.asarray(got != want)


def _float_mismatch(got: Array, want: Array, ulp: float, signed_zero: bool) -> Array:
    bad = np.asarray(ulp_distance(got, want) > ulp)
    if signed_zero and ulp == 0:
        zero = (got == 0) & (want == 0)
        bad = bad | (zero & (np.signbit(got) != np.signbit(want)))
    return np.asarray(bad)


def _complex_mismatch(got: Array, want: Array, ulp: float, signed_zero: bool) -> Array:
    if ulp == 0:
        parts = ((got.real, want.real), (got.imag, want.imag))
        return np.asarray(np.any([_float_mismatch(g, w, 0, signed_zero) for g, w in parts], axis=0))
    scale = np.maximum(np.abs(want.real), np.abs(want.imag))
    bad = np.zeros(want.shape, dtype=bool)
    with np.errstate(all="ignore"):
        for g, w in ((got.real, want.real), (got.imag, want.imag)):
            near = np.abs(g - w) <= ulp * np.spacing(scale)
            bad |= ~(near | (ulp_distance(g, w) <= ulp))
    return np.asarray(bad)
