"""Inverses, equations, norms and functions of matrices, computed in long double.

The matrices drawn are far from singular, so that errors are a few epsilons of the largest element of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backend import Array
from .decompositions import equal, one_triangle, sizes_of
from .factorizations import exchanged, triangles
from .matrices import adjoint, exponential, eye, frobenius, inverse, norms, power, singular_values, turned
from .moves import Oracle
from .near import Claim, Near, Refused, Such, Undefined, exactly
from .totals import axes, norm

_APART = 200


def near(value: Array, rows: int, *factors: Array) -> Near:
    """A matrix whose elements are as far off as its norm, or the product of ``factors``, makes them."""
    scale: Any = 1.0
    for factor in factors or (value,):
        scale = scale * frobenius(factor)
    return Near(value, scale, 32 * max(rows, 1))


def inverted(x: Array) -> Near:
    return near(inverse(x), x.shape[-1])


def no_error(x: Array) -> Near:
    """The place of the first singular pivot: none."""
    return exactly(np.zeros(x.shape[:-2], np.int32), "int32")


def is_vector(x: Array, b: Array) -> bool:
    """Return whether the right side is a stack of vectors, one for each matrix."""
    return b.ndim == 1 or (x.ndim - 1 == b.ndim and b.shape == x.shape[:-1])


def solved(x: Array, b: Array, left: bool = True, vectors: bool = False) -> Near:
    """X of A X = B, or of X A = B; B may be of ``vectors``."""
    inner = inverse(x)
    if vectors and is_vector(x, b):
        found = near(inner @ b[..., None], x.shape[-1], inner, b[..., None])
        return Near(found.value[..., 0], np.asarray(found.scale)[..., 0], found.units)
    return near(inner @ b if left else b @ inner, x.shape[-1], inner, b)


def triangle(x: Array, upper: bool, ones: bool) -> Array:
    found = np.triu(x) if upper else np.tril(x)
    return np.asarray(found - eye(x) * found + eye(x) if ones else found)


def of_factor(x: Array, upper: bool) -> Array:
    """The matrix whose Cholesky factor lies in one triangle of ``x``."""
    low = adjoint(np.triu(x)) if upper else np.tril(x)
    return np.asarray(low @ adjoint(low))


def of_lu(x: Array, pivots: Array, adjoined: bool = False) -> Array:
    low, high = triangles(x)
    whole = exchanged(pivots, x.shape[-1]) @ low @ high
    return adjoint(whole) if adjoined else np.asarray(whole)


def triangular_solve(b: Array, x: Array, upper: bool, transpose: bool, ones: bool) -> tuple[Near, Near]:
    whole = triangle(x, upper, ones)
    found = solved(np.swapaxes(whole, -1, -2) if transpose else whole, b)
    return found, exactly(np.broadcast_to(x, (*found.value.shape[:-2], *x.shape[-2:])), "input")


def least_squares(x: Array, b: Array, driver: str | None) -> Such:
    """The solution of full rank with the smallest residual, or of the smallest norm."""
    if b.ndim < x.ndim:
        return _of_vector(least_squares(x, b[..., None], driver))
    rows, columns = x.shape[-2:]
    unknowns = sizes_of(x, columns, b.shape[-1])
    rank = min(rows, columns)
    with_residuals = rows > columns and driver not in (None, "gelsy")
    values = driver in ("gelsd", "gelss")

    def claims(found: Array, residuals: Array, ranks: Array, singular: Array) -> Iterator[Claim]:
        scale = frobenius(x) * frobenius(b)
        if rows >= columns:
            yield Claim("A' (A X - B) is zero", adjoint(x) @ (x @ found - b), np.zeros(found.shape), scale, 64.0 * rows)
        else:
            yield Claim("A X is B", x @ found, b, frobenius(b), 64.0 * columns)
            inner = inverse(x @ adjoint(x)) @ x
            yield Claim("X lies in the rows of A", adjoint(x) @ (inner @ found), found, frobenius(b), 64.0 * columns)
        if with_residuals:
            each = (np.abs(x @ found - b) ** 2).sum(axis=-2)
            yield Claim("residuals", residuals, each, frobenius(b)[..., 0] ** 2, 64.0 * rows)
        if driver != "gels":
            yield equal("rank", ranks, rank)
        if values:
            yield Claim("singular values", singular, singular_values(x), norms(x)[..., None], 16.0 * (rows + columns))

    sizes = (
        unknowns, (*x.shape[:-2], b.shape[-1]) if with_residuals else (0,), (0,) if driver == "gels" else x.shape[:-2],
        sizes_of(x, rank) if values else (0,),
    )  # fmt: skip
    return Such(sizes, ("input", "real", "int64", "real"), claims)


def _of_vector(found: Such) -> Such:
    """The same solution for a right side of one column, without it."""
    (*unknowns, _), *others = found.sizes

    def claims(solution: Array, *rest: Array) -> Iterator[Claim]:
        yield from found.claims(solution[..., None], *rest)

    return Such((tuple(unknowns), *others), found.kinds, claims)


def _hermitian(x: Array) -> Array:
    """The matrix that is read in its lower triangle."""
    assert x.shape[-1] == x.shape[-2], x.shape
    return one_triangle(x, "L")


def pseudo_inverse(x: Array, atol: Any, rtol: Any, hermitian: bool) -> Near:
    """Of what is left of the matrix when singular values up to the tolerance count as zero.

    Errors grow with the condition, and as the gap narrows between values that count and those that do not.
    """
    x = _hermitian(x) if hermitian else x
    wide = x.shape[-2] < x.shape[-1]
    columns, vectors = turned(adjoint(x) if wide else x)
    squares = (np.abs(columns) ** 2).sum(axis=-2)
    values = np.sqrt(squares)
    largest = values.max(axis=-1, keepdims=True, initial=0)
    limit, close = _limit(values, largest, atol, rtol)
    kept = values > limit
    least = np.where(kept, values, np.inf).min(axis=-1, initial=np.inf)
    gap = least - np.where(kept, 0, values).max(axis=-1, initial=0)
    some = kept.any(axis=-1)
    spread = np.where(some, largest[..., 0] / np.where(some, least, 1), 0)
    apart = np.where(some & ~kept.all(axis=-1), largest[..., 0] / np.where(gap > 0, gap, 1), 0)
    close = close | (apart > _APART) | (some & (spread > _APART))
    shares = np.where(kept, 1 / np.where(squares > 0, squares, 1), 0)
    found = (vectors * shares[..., None, :]) @ adjoint(columns)
    growth = np.maximum(np.maximum(spread / 10, apart), 1)[..., None, None]
    inverted = adjoint(found) if wide else found
    open_ = {"at_the_tolerance": np.broadcast_to(close[..., None, None], inverted.shape)}
    return Near(inverted, frobenius(found) * growth, 32 * max(*x.shape[-2:], 1), open=open_)


def _limit(values: Array, largest: Array, atol: Any, rtol: Any) -> tuple[Array, Array]:
    """The tolerance of each matrix, and whether a singular value is close to it."""
    relative = (0.0 if atol is not None else 1e-6) if rtol is None else rtol
    limit = np.maximum(_columns(0.0 if atol is None else atol), _columns(relative) * largest)
    itself = (values == largest) & (limit == largest)
    close = (np.abs(values - limit) <= 1e-5 * largest) & ~itself & values.any(axis=-1, keepdims=True)
    return np.asarray(limit), np.asarray(close.any(axis=-1))


def rank(x: Array, atol: Any, rtol: Any, hermitian: bool) -> Near:
    """How many singular values lie above the tolerance."""
    values = singular_values(_hermitian(x) if hermitian else x)
    largest = values[..., :1] if values.size else np.zeros((*x.shape[:-2], 1))
    limit, close = _limit(values, largest, atol, rtol)
    return Near(np.asarray((values > limit).sum(axis=-1)), kind="int64", open={"at_the_tolerance": close})


def _columns(tolerance: Any) -> Any:
    return np.asarray(tolerance)[..., None]


def _dims_last(x: Array, dims: Any) -> Array:
    return np.moveaxis(x, [int(d) for d in dims], [-2, -1])


def matrix_norm(x: Array, ord: Any, dims: Any, keepdim: bool) -> Near:
    rows = _dims_last(x, dims)
    if 0 in rows.shape[-2:] and ord not in ("fro", "nuc"):
        raise Undefined("empty_matrix")
    if ord in ("fro", "nuc", 2, -2):
        if ord == "fro":
            found = norms(rows)
        else:
            values = singular_values(rows)
            found = values.sum(axis=-1) if ord == "nuc" else values.max(-1) if ord == 2 else values.min(-1)
        units = 16 * sum(rows.shape[-2:])
    else:
        sums = np.abs(rows).sum(axis=-1 if abs(ord) == np.inf else -2)
        found = sums.max(axis=-1) if ord > 0 else sums.min(axis=-1)
        units = 2 * sum(rows.shape[-2:])
    scale = norms(rows) * rows.shape[-1]
    if keepdim:
        places = tuple(sorted(d % x.ndim for d in dims))
        found, scale = (np.expand_dims(v, places) for v in (found, scale))
    return Near(np.asarray(found), scale, units, "real")


def any_norm(x: Array, ord: Any, dims: Any, keepdim: bool) -> Near:
    """The vector norm of all elements or along one dim; the matrix norm over two, where an order is given."""
    if ord is None or (dims is not None and np.size(dims) == 1) or (dims is None and x.ndim == 1):
        found = norm(x, ord, dims, keepdim)
        total = np.abs(x).sum(axis=axes(x, dims), keepdims=keepdim)
        return Near(found, np.maximum(total, found), 8, "real")
    return matrix_norm(x, ord, (-2, -1) if dims is None else dims, keepdim)


def frobenius_norm(x: Array, dims: Any, keepdim: bool) -> Near:
    return Near(norm(x, 2, dims, keepdim), np.abs(x).sum(axis=axes(x, dims), keepdims=keepdim), 8, "real")


def nuclear_norm(x: Array, dims: Any, keepdim: bool) -> Near:
    return matrix_norm(x, "nuc", dims, keepdim)


def condition(x: Array, p: Any) -> Near:
    if 0 in x.shape[-2:]:
        raise Undefined("empty_matrix")
    if p in (None, 2, -2):
        values = singular_values(x)
        low, high = values[..., -1], values[..., 0]
        found = low / high if p == -2 else high / low
    else:
        a, b = (matrix_norm(v, p, (-2, -1), False).value for v in (x, inverse(x)))
        found = a * b
    return Near(found, found, 128 * x.shape[-1], "real")


def exponentiated(x: Array) -> Near:
    found = exponential(x)
    with np.errstate(over="ignore"):
        return Near(found, np.exp(frobenius(x)), 32 * max(x.shape[-1], 1))


def powered(x: Array, n: int) -> Near | Array:
    """Integers wrap; their negative powers are not defined."""
    if x.dtype.kind in "iub":
        if n < 0:
            raise Refused("a negative power of integers")
        return power(x, n)
    factor = inverse(x) if n < 0 else x
    return Near(power(x, n), frobenius(factor) ** abs(n), 32 * max(x.shape[-1] * abs(n), 1))


def _regular(square: Array) -> Array:
    values = singular_values(square)
    if values[-1] < values[0] / 1000 or not values[-1]:
        raise Undefined("nearly_singular")
    return square


def tensor_inverse(x: Array, ind: int) -> Near:
    first, rest = x.shape[:ind], x.shape[ind:]
    square = _regular(x.reshape(math.prod(first), -1))
    found = near(inverse(square), len(square))
    return Near(found.value.reshape(*rest, *first), float(np.max(found.scale)), found.units)


def tensor_solve(x: Array, b: Array, dims: Any) -> Near:
    if dims is not None:
        kept = [k for k in range(x.ndim) if k not in [d % x.ndim for d in dims]]
        x = np.transpose(x, (*kept, *[d % x.ndim for d in dims]))
    found = solved(_regular(x.reshape(b.size, -1)), b.reshape(-1), vectors=True)
    return Near(found.value.reshape(x.shape[b.ndim :]), float(np.max(found.scale)), found.units)


EQUATIONS: dict[str, Oracle] = {
    "linalg_inv": inverted,
    "inverse": inverted,
    "linalg_inv_ex": lambda x, check: (inverted(x), no_error(x)),
    "linalg_solve": lambda x, b, left: solved(x, b, left, True),
    "linalg_solve_ex": lambda x, b, left, check: (solved(x, b, left, True), no_error(x)),
    "linalg_solve_triangular": lambda x, b, upper, left, ones: solved(triangle(x, upper, ones), b, left),
    "triangular_solve": triangular_solve,
    "cholesky_inverse": lambda x, upper: inverted(of_factor(x, upper)),
    "cholesky_solve": lambda b, x, upper: solved(of_factor(x, upper), b),
    "linalg_lu_solve": lambda x, pivots, b, left, adjoined: solved(of_lu(x, pivots, adjoined), b, left),
    "lu_solve": lambda b, x, pivots: solved(of_lu(x, pivots), b),
    "linalg_lstsq": lambda x, b, rcond, driver: least_squares(x, b, driver),
    "linalg_pinv": lambda x, rcond, hermitian: pseudo_inverse(x, None, rcond, hermitian),
    "linalg_pinv.atol_rtol_tensor": pseudo_inverse,
    "linalg_pinv.atol_rtol_float": pseudo_inverse,
    "pinverse": lambda x, rcond: pseudo_inverse(x, None, rcond, False),
    "linalg_matrix_rank": lambda x, tol, hermitian: rank(x, tol, None, hermitian),
    "linalg_matrix_rank.atol_rtol_tensor": rank,
    "linalg_matrix_rank.atol_rtol_float": rank,
    "linalg_matrix_power": powered,
    "matrix_power": powered,
    "linalg_matrix_exp": exponentiated,
    "matrix_exp": exponentiated,
    "linalg_norm": lambda x, ord, dims, keepdim, dtype: any_norm(x, ord, dims, keepdim),
    "linalg_matrix_norm": lambda x, ord, dims, keepdim, dtype: matrix_norm(x, ord, dims, keepdim),
    "linalg_cond": condition,
    "nuclear_norm": lambda x, keepdim: nuclear_norm(x, (-2, -1), keepdim),
    "nuclear_norm.dim": nuclear_norm,
    "frobenius_norm.dim": frobenius_norm,
    "linalg_tensorinv": tensor_inverse,
    "linalg_tensorsolve": tensor_solve,
}
