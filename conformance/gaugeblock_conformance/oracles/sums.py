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
from .moves import Oracle, along, scattered
from .near import Undefined


def once_rounded(product: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Products of single elements: of long doubles those of the doubles that they hold, for an element that was rounded
    to a long double first may be rounded the wrong way then."""
    if a.dtype != np.longdouble or b.dtype != np.longdouble:
        return product(a, b)
    return product(a.astype(np.float64), b.astype(np.float64)).astype(np.longdouble)


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
    if len(matrices) == 1 and matrices[0].dtype == np.bool_:
        raise Undefined("nothing_computed")
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
    if not r:
        return x[:0]
    places = (combinations_with_replacement if again else combinations)(range(len(x)), r)
    return x[np.array(list(places), dtype=np.int64).reshape(-1, r)]


def contracted(equation: str, tensors: list[Array], path: Any) -> Array:
    """The sum over the letters that the result lacks. Left without "->", the result has what stands before all letters
    that occur once, in their order."""
    given, _, wanted = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    once = [letter for letter in sorted({*given} - {*",."}) if given.count(letter) == 1]
    wanted = wanted if "->" in equation else "..." * ("..." in given) + "".join(once)
    counts = [x.ndim - len(term.replace("...", "")) for term, x in zip(terms, tensors, strict=True) if "..." in term]
    dots = [f".{k}" for k in range(max(counts, default=0))]
    kept = _letters(wanted, dots)
    letters = [*kept, *sorted({letter for term in terms for letter in _letters(term, dots)} - {*kept})]
    product = np.ones((1,) * len(letters), tensors[0].dtype)
    for term, x in zip(terms, tensors, strict=True):
        own = _letters(term, dots[len(dots) - (x.ndim - len(term.replace("...", ""))) :])
        product = product * _spread(x, own, letters)
    return np.asarray(product.sum(axis=tuple(range(len(kept), len(letters))), dtype=product.dtype))


def _letters(term: str, dots: list[str]) -> list[str]:
    before, _, after = term.partition("...")
    return [*before, *(dots if "..." in term else []), *after]


def _spread(x: Array, own: list[str], letters: list[str]) -> Array:
    """``x`` with a dim for each of ``letters``: the diagonal of dims of one letter, one place for others."""
    while len({*own}) < len(own):
        twice = next(letter for letter in own if own.count(letter) > 1)
        first = own.index(twice)
        second = own.index(twice, first + 1)
        x = np.diagonal(x, axis1=first, axis2=second)
        own = [letter for k, letter in enumerate(own) if k not in (first, second)] + [twice]
    x = np.transpose(x, [own.index(letter) for letter in letters if letter in own])
    return x.reshape([x.shape[[v for v in letters if v in own].index(c)] if c in own else 1 for c in letters])


SUMS: dict[str, Oracle] = {
    "mm": lambda a, b: a @ b,
    "bmm": lambda a, b: a @ b,
    "mv": lambda a, b: a @ b,
    "dot": lambda a, b: (a * b).sum(dtype=a.dtype),
    "vdot": lambda a, b: (a.conj() * b).sum(dtype=a.dtype),
    "inner": lambda a, b: np.inner(a, b),
    "outer": lambda a, b: once_rounded(np.multiply.outer, a, b),
    "matmul": lambda a, b: a @ b,
    "addmm": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b),
    "addmv": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b),
    "baddbmm": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b),
    "addbmm": lambda c, a, b, beta, alpha: beta * c + alpha * (a @ b).sum(axis=0),
    "addr": lambda c, a, b, beta, alpha: beta * c + alpha * np.multiply.outer(a, b),
    "linalg_matmul": lambda a, b: a @ b,
    "kron": lambda a, b: once_rounded(np.kron, a, b),
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
