"""Tables of hard values, one per dtype, and the seeded choice that fills a storage with them.

Hypothesis draws only the seed: bulk data is cheap, replays exactly and can be written out in one line of a snippet.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from .backend import Array, numpy_dtype

FLOATS = ("float16", "bfloat16", "float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")

_INF, _NAN = float("inf"), float("nan")
_ORDINARY = (0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.0, -7.0, 0.1, -0.3, 10.0, 100.0, 7.25)
CHEAP = 4096
_ROW = (1 << 20) + 2 * CHEAP
KINDS = ("hard", "finite", "small", "positive", "unit", "special", "distinct")


def _limits(dtype: str) -> tuple[float, float, float, float]:
    """Largest, smallest normal, smallest subnormal and machine epsilon of a floating dtype."""
    finfo: Any = ml_dtypes.finfo
    info = finfo(numpy_dtype(dtype))
    return float(info.max), float(info.smallest_normal), float(info.smallest_subnormal), float(info.eps)


LARGEST = {name: _limits(name)[0] for name in FLOATS}
"""The largest finite number of each real floating dtype."""


def _float_table(dtype: str, kind: str) -> tuple[float, ...]:
    largest, tiny, subnormal, eps = _limits(dtype)
    if kind == "small":
        return (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, 5.0, -6.0, 7.0, 8.0)
    if kind == "positive":
        return (1.0, 2.0, 0.5, 3.0, 0.1, 1.0 + eps, 1.0 - eps / 2, 10.0, 100.0, tiny, 7.25, 0.7)
    if kind == "special":
        return (0.0, _INF, 1.0, -_INF, -0.0, _NAN, -1.0, 2.0)
    if kind == "unit":
        return (0.0, -0.0, 0.5, -0.5, 0.25, -0.9, 0.9, 1.0, -1.0, 0.1, -0.1, tiny, -tiny, 1.0 - eps / 2)
    finite = (*_ORDINARY, -0.0, 1.0 + eps, 1.0 - eps / 2, tiny, -tiny, subnormal, -subnormal, 2.0**-10, 1000.0)
    if kind == "finite":
        return finite
    return (*finite, largest, -largest, _INF, -_INF, _NAN)


def _int_table(dtype: str, kind: str) -> tuple[int, ...]:
    info = np.iinfo(numpy_dtype(dtype))
    small = (0, 1, 2, 3, 4, 5, 6, 7) if info.min == 0 else (0, 1, -1, 2, -2, 3, -3, 5, -6, 7)
    if kind in ("small", "unit"):
        return small
    if kind == "positive":
        return (1, 2, 3, 4, 5, 7, 10, 100)
    if kind == "special":
        return (0, 1, info.max, info.min, 2, 0)
    return tuple(dict.fromkeys((*small, 10, 100, info.max, info.max - 1, info.min, info.min + 1, info.max // 2)))


@cache
def table(dtype: str, kind: str = "hard") -> Array:
    """The values that a ``kind`` of data is chosen from, in ``dtype``.

    Kinds: ``hard`` (all there is), ``finite`` (no NaN or infinity, no overflow bait), ``small`` (small integers:
    sums and products stay exact), ``positive``, ``unit`` (within [-1, 1]), ``special`` (few, the ones that questions
    and comparisons are about).
    """
    if kind not in KINDS:
        raise ValueError(f"values: kind must be one of {', '.join(KINDS)}, not {kind!r}")
    target = numpy_dtype(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if dtype in COMPLEX:
        part = "float32" if dtype == "complex64" else "float64"
        reals = np.asarray(_float_table(part, kind), dtype=part)
        pairs = np.stack([reals, np.roll(reals, 5)], axis=-1)
        return np.ascontiguousarray(pairs).view(target)[:, 0]
    with np.errstate(over="ignore"):
        if dtype in FLOATS:
            return np.array(_float_table(dtype, kind), dtype=np.float64).astype(target)
    return np.array(_int_table(dtype, kind), dtype=target)


def fill(dtype: str, count: int, seed: int, kind: str = "hard") -> Array:
    """``count`` elements of ``dtype``: a seeded choice from :func:`table`, or 0, 1, 2, … for kind ``distinct``."""
    if kind == "distinct":
        with np.errstate(over="ignore"):
            return np.arange(count).astype(numpy_dtype(dtype))
    choices = table(dtype, kind)
    if seed == 0:
        return np.asarray(choices[_ramp(count) % len(choices)])
    if count <= CHEAP:
        return choices.take(_cheap_choices(seed, count, len(choices)))
    return np.asarray(choices[np.random.default_rng(seed).integers(0, len(choices), count)])


@cache
def _ramp(count: int) -> Array:
    return np.arange(count, dtype=np.uint64)


def _cheap_choices(seed: int, count: int, options: int) -> Array:
    """``count`` choices of ``options`` from ``seed`` on: a part of one long row of them, for a Generator, or arithmetic
    on arrays, would cost small tensors too much."""
    if seed + count > _ROW or options > 256:
        return _hashed(seed, count) % np.uint64(options)
    return _row(options)[seed : seed + count]


@cache
def _row(options: int) -> Array:
    return (_hashes() % np.uint64(options)).astype(np.uint8)


@cache
def _hashes() -> Array:
    return _hashed(0, _ROW)


def _hashed(start: int, count: int) -> Array:
    """An integer hash of ``start`` and the numbers behind it."""
    mixed = (np.arange(count, dtype=np.uint64) + np.uint64(start)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(29))) >> np.uint64(7)


@cache
def poison(dtype: str) -> Any:
    """The element that fills storage which no element of a tensor covers: NaN, or a bit pattern, or True."""
    if dtype == "bool":
        return np.True_
    if dtype in FLOATS or dtype in COMPLEX:
        return numpy_dtype(dtype).type(complex(_NAN, _NAN) if dtype in COMPLEX else _NAN)
    width = numpy_dtype(dtype).itemsize
    return np.frombuffer(b"\xa5" * width, dtype=numpy_dtype(dtype))[0]
