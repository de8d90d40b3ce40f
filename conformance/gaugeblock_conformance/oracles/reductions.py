"""Reductions of one array: exact sums of floats, integers modulo a power of two, NaN where one is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..backend import Array
from .integers import wrap

# The unit in the last place of 1.0.
EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def exact_sum(values: Array) -> float:
    """The sum of reals, rounded once to double; inf - inf and NaN give NaN."""
    items = [float(v) for v in np.asarray(values, dtype=np.float64).reshape(-1)]
    special = [v for v in items if not math.isfinite(v)]
    if special:
        return math.nan if any(math.isnan(v) for v in special) or len(set(special)) > 1 else special[0]
    return math.fsum(items) + 0.0


def absolute_sum(values: Array) -> float:
    return math.fsum(abs(float(v)) for v in np.asarray(values, dtype=np.float64).reshape(-1))


def integer_sum(values: Iterable[int], dtype: str = "int64") -> int:
    return wrap(sum(int(v) for v in values), np.dtype(dtype))


def integer_product(values: Iterable[int], dtype: str = "int64") -> int:
    return wrap(math.prod(int(v) for v in values), np.dtype(dtype))


def largest(values: Array) -> float:
    """The maximum, NaN if there is one."""
    return math.nan if np.isnan(values).any() else float(np.max(values))


def smallest(values: Array) -> float:
    return math.nan if np.isnan(values).any() else float(np.min(values))


def lower_median(values: Array) -> float:
    """The middle element of the sorted values, the lower one of two; NaN if there is one."""
    if np.isnan(values).any():
        return math.nan
    ordered = sorted(float(v) for v in values.reshape(-1))
    return ordered[(len(ordered) - 1) // 2]


def first_nan(values: Sequence[float]) -> int:
    """Index of the first NaN, or -1."""
    return next((k for k, v in enumerate(values) if v != v), -1)
