"""Operators that add up or multiply many elements: matrix products, reductions, scans, writes that accumulate.

Each oracle takes the arguments of the row in schema order, with floats widened to long double and complex numbers to
its complex counterpart; integers stay in their dtype and wrap. The result is exact but for the rounding of that width.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle, Undefined, along, scattered


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


def cross(a: Array, b: Array, dim: int | None) -> Array:
    axis = next(k for k, n in enumerate(a.shape) if n == 3) if dim is None else dim
    parts = [np.moveaxis(v, axis, 0) for v in np.broadcast_arrays(a, b)]
    (x, y, z), (u, v, w) = parts
    return np.moveaxis(np.stack([y * w - z * v, z * u - x * w, x * v - y * u]), 0, axis)


def cross_terms(a: Array, b: Array, dim: int | None) -> Array:
    """The sums of the absolute terms of :func:`cross`, for operands that are absolute values."""
    axis = next(k for k, n in enumerate(a.shape) if n == 3) if dim is None else dim
    (x, y, z), (u, v, w) = (np.moveaxis(part, axis, 0) for part in np.broadcast_arrays(a, b))
    return np.moveaxis(np.stack([y * w + z * v, z * u + x * w, x * v + y * u]), 0, axis)


def chained(matrices: list[Array]) -> Array:
    if len(matrices) < 2:
        raise Undefined("a chain has two links")
    result = matrices[0]
    for matrix in matrices[1:]:
        result = result @ matrix
    return result


def blocks(tensors: list[Array]) -> Array:
    """Matrices along the diagonal; a vector is one row."""
    rows = [np.atleast_2d(t) for t in tensors]
    y = np.zeros((sum(r.shape[0] for r in rows), sum(r.shape[1] for r in rows)), rows[0].dtype)
    row = column = 0
    for part in rows:
        y[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return y


def grid(tensors: list[Array]) -> Array:
    if len(tensors) == 1:
        return tensors[0]
    return np.stack([g.reshape(-1) for g in np.meshgrid(*tensors, indexing="ij")], -1)


def combined(x: Array, r: int, again: bool) -> Array:
    places = (combinations_with_replacement if again else combinations)(range(len(x)), r)
    return x[np.array(list(places), dtype=np.int64).reshape(-1, r)]


def contracted(equation: str, tensors: list[Array], path: Any) -> Array:
    """The sum over the letters that the result lacks."""
    if equation.split("->")[0].count(",") + 1 != len(tensors):
        raise Undefined("another number of tensors")
    kind = tensors[0].dtype
    return np.asarray(np.einsum(equation, *tensors, optimize=False)).astype(kind)


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
    "addbmm": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b).sum(axis=0),
    "addr": lambda c, a, b, beta, alpha: beta * c + alpha * np.multiply.outer(a, b),
    "linalg_matmul": lambda a, b: a @ b,
    "kron": lambda a, b: np.kron(a, b),
    "einsum": contracted,
    "trace": lambda x: np.asarray(np.trace(x.astype(np.int64) if x.dtype.kind in "iub" else x)),
    "linalg_cross": cross,
    "cross": cross,
    "linalg_multi_dot": chained,
    "chain_matmul": chained,
    "linalg_vecdot": lambda a, b, dim: (a.conj() * b).sum(axis=dim),
    "block_diag": blocks,
    "cartesian_prod": grid,
    "combinations": combined,
    "scatter_add": lambda x, dim, index, src: scattered(x, dim, index, src, np.add),
    "scatter.reduce": lambda x, dim, index, src, reduce: scattered(x, dim, index, src, _joined(reduce)),
    "scatter.value_reduce": lambda x, dim, index, value, reduce: scattered(
        x, dim, index, np.asarray(value).astype(x.dtype), _joined(reduce)
    ),
    "index_add": index_add,
}

# Sums of absolute terms where they are not the operator itself on absolute values.
TERMS: dict[str, Oracle] = {"linalg_cross": cross_terms, "cross": cross_terms}
