"""Matrices in long double, by textbook steps that no LAPACK takes: NumPy's own routines stop at double.

Every function takes stacks of matrices, and returns what is exact but for a few roundings of long double.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from ..backend import Array

# More than are ever needed: elements off the diagonal become smaller by squaring.
_SWEEPS = 12
# What roundings leave off the diagonal, of what stands on it.
_LEFT = 8 * np.finfo(np.longdouble).eps


def adjoint(x: Array) -> Array:
    """The conjugate transpose of the last two dims."""
    return np.swapaxes(x, -1, -2).conj()


def eye(x: Array, size: int | None = None) -> Array:
    """The identity as large as the rows of ``x``, in its dtype."""
    return np.eye(x.shape[-2] if size is None else size, dtype=x.dtype)


def frobenius(x: Array) -> Array:
    """The root of the sum of squares of each matrix, as an array that broadcasts with matrices."""
    return np.asarray(np.sqrt((np.abs(x) ** 2).sum(axis=(-2, -1), keepdims=True)))


def norms(x: Array) -> Array:
    """As :func:`frobenius`, without the two dims."""
    return np.asarray(frobenius(x)[..., 0, 0])


def _sign(order: tuple[int, ...]) -> int:
    swaps = sum(order[b] > order[a] for a in range(len(order)) for b in range(a))
    return -1 if swaps % 2 else 1


def determinant(x: Array) -> Array:
    """The signed sum over all permutations of products of elements."""
    n = x.shape[-1]
    total = np.zeros(x.shape[:-2], x.dtype)
    for order in permutations(range(n)):
        total = total + _sign(order) * x[..., range(n), order].prod(axis=-1)
    return np.asarray(total)


def inverse(x: Array) -> Array:
    """By Gauss-Jordan elimination with row exchanges, one matrix after the other."""
    n = x.shape[-1]
    found = np.empty_like(x)
    for at in np.ndindex(*x.shape[:-2]):
        rows = np.concatenate([x[at], np.eye(n, dtype=x.dtype)], axis=1)
        for k in range(n):
            pivot = k + int(np.abs(rows[k:, k]).argmax())
            rows[[k, pivot]] = rows[[pivot, k]]
            rows[k] = rows[k] / rows[k, k]
            for other in range(n):
                if other != k:
                    rows[other] = rows[other] - rows[other, k] * rows[k]
        found[at] = rows[:, n:]
    return found


def eigenvalues(x: Array) -> Array:
    """Those of Hermitian matrices, ascending, by Jacobi's rotations."""
    n = x.shape[-1]
    for _ in range(_SWEEPS):
        for p in range(n):
            for q in range(p + 1, n):
                turn = _rotation(x, p, q)
                x = adjoint(turn) @ x @ turn
        if _is_diagonal(x, frobenius(x)):
            break
    return np.sort(np.asarray(x[..., range(n), range(n)].real), axis=-1)


def _rotation(x: Array, p: int, q: int) -> Array:
    """The rotation in the plane of ``p`` and ``q`` that makes their common element zero."""
    common = x[..., p, q]
    size = np.abs(common)
    safe = np.where(size == 0, 1, size)
    theta = (x[..., q, q] - x[..., p, p]).real / (2 * safe)
    tangent = np.where(size == 0, 0, np.where(theta < 0, -1, 1) / (np.abs(theta) + np.sqrt(theta**2 + 1)))
    cosine = 1 / np.sqrt(tangent**2 + 1)
    sine = tangent * cosine * np.where(size == 0, 1, common / safe)
    turn = np.zeros(x.shape, x.dtype)
    turn[..., range(x.shape[-1]), range(x.shape[-1])] = 1
    turn[..., p, p] = turn[..., q, q] = cosine
    turn[..., p, q] = sine
    turn[..., q, p] = -sine.conj()
    return turn


def turned(x: Array) -> tuple[Array, Array]:
    """A product ``x @ v`` whose columns are orthogonal, and the unitary ``v``, by Hestenes' rotations: the lengths of
    the columns are the singular values, in any order."""
    n = x.shape[-1]
    v = np.broadcast_to(eye(x, n), (*x.shape[:-2], n, n))
    for _ in range(_SWEEPS):
        for p in range(n):
            for q in range(p + 1, n):
                turn = _rotation(adjoint(x) @ x, p, q)
                x, v = x @ turn, v @ turn
        products = adjoint(x) @ x
        lengths = np.sqrt(np.diagonal(products, axis1=-2, axis2=-1).real)
        if _is_diagonal(products, lengths[..., None] * lengths[..., None, :]):
            break
    return x, np.asarray(v)


def _is_diagonal(x: Array, scale: Array) -> bool:
    """Return whether nothing stands off the diagonal but roundings, against ``scale``."""
    off = np.abs(x) * (1 - np.eye(x.shape[-1]))
    return bool((off <= _LEFT * scale).all())


def singular_values(x: Array) -> Array:
    """Descending."""
    columns, _ = turned(x if x.shape[-1] <= x.shape[-2] else adjoint(x))
    return np.sort(np.sqrt((np.abs(columns) ** 2).sum(axis=-2)), axis=-1)[..., ::-1]


def exponential(x: Array) -> Array:
    """By its series, of a matrix halved often and squared as often."""
    halvings = 0
    while np.max(norms(x), initial=0) > 0.5:
        x, halvings = x / 2, halvings + 1
    term = total = np.broadcast_to(eye(x), x.shape)
    for k in range(1, 25):
        term = term @ x / np.longdouble(k)
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return np.asarray(total)


def power(x: Array, n: int) -> Array:
    """By multiplying ``n`` times; of the inverse for negative ``n``."""
    factor = inverse(x) if n < 0 else x
    found = np.broadcast_to(eye(x), x.shape)
    for _ in range(abs(n)):
        found = found @ factor
    return np.asarray(found)


def characteristic(x: Array) -> Array:
    """The coefficients of det(λ - x) from the highest on, by Faddeev and LeVerrier."""
    n = x.shape[-1]
    found = [np.ones(x.shape[:-2], x.dtype)]
    inner = np.broadcast_to(eye(x), x.shape)
    for k in range(1, n + 1):
        product = x @ inner
        found.append(-np.trace(product, axis1=-2, axis2=-1) / np.longdouble(k))
        inner = product + found[-1][..., None, None] * eye(x)
    return np.stack(found, -1)


def monic(roots: Array) -> Array:
    """The coefficients of the polynomial with these roots, from the highest on."""
    found = np.ones((*roots.shape[:-1], 1), roots.dtype)
    for k in range(roots.shape[-1]):
        shifted = np.concatenate([found, np.zeros_like(found[..., :1])], -1)
        shifted[..., 1:] -= roots[..., k, None] * found
        found = shifted
    return found
