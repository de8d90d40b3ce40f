"""Sums and products of one array: floats exactly, integers modulo a power of two."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..backend import Array
from .integers import wrap


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
