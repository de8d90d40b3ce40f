"""Operators that add up or multiply many elements: matrix products, reductions, scans, writes that accumulate.

Each oracle takes the arguments of the row in schema order, with floats widened to long double and complex numbers to
its complex counterpart; integers stay in their dtype and wrap. The result is exact but for the rounding of that width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle, along, scattered


def _joined(reduce: str) -> Callable[[Any, Any], Any]:
    return {"add": np.add, "sum": np.add, "multiply": np.multiply, "prod": np.multiply,
            "amax": np.maximum, "amin": np.minimum}[reduce]  # fmt: skip


def index_add(x: Array, dim: int, index: Array, source: Array, alpha: Any) -> Array:
    y = np.atleast_1d(x).copy()
    scaled = source * np.asarray(alpha).astype(x.dtype)
    if x.dtype == np.bool_:
        np.logical_or.at(y, along(y, dim, index), np.atleast_1d(scaled))
    else:
        np.add.at(y, along(y, dim, index), np.atleast_1d(scaled))
    return y.reshape(x.shape)


SUMS: dict[str, Oracle] = {
    "mm": lambda a, b: a @ b,
    "bmm": lambda a, b: a @ b,
    "mv": lambda a, b: a @ b,
    "dot": lambda a, b: (a * b).sum(dtype=a.dtype),
    "vdot": lambda a, b: (a.conj() * b).sum(dtype=a.dtype),
    "inner": lambda a, b: np.inner(a, b),
    "outer": lambda a, b: np.multiply.outer(a, b),
    "matmul": lambda a, b: a @ b,
    "addmm": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b),
    "addmv": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b),
    "baddbmm": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b),
    "scatter_add": lambda x, dim, index, src: scattered(x, dim, index, src, np.add),
    "scatter.reduce": lambda x, dim, index, src, reduce: scattered(x, dim, index, src, _joined(reduce)),
    "scatter.value_reduce": lambda x, dim, index, value, reduce: scattered(
        x, dim, index, np.asarray(value).astype(x.dtype), _joined(reduce)
    ),
    "index_add": index_add,
}
