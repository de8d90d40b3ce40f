"""Triangular systems and LU factors of stacks of matrices, by recursion into matrix products."""

from __future__ import annotations

import numpy as np

from ..arrays import Array

SMALL = 16
"""Matrices of up to so many columns are worked on column by column."""


def substitute(matrix: Array, right: Array, *, upper: bool, unit: bool = False) -> Array:
    """The solution of ``triangle @ X = right``, the triangle taken from `matrix`; inf and NaN where it is singular.

    `right` is (..., n, k); leading dims broadcast.
    """
    batch = np.broadcast_shapes(matrix.shape[:-2], right.shape[:-2])
    solution = np.array(np.broadcast_to(right, batch + right.shape[-2:]))
    if solution.size:
        with np.errstate(all="ignore"):
            _substitute(matrix, solution, upper, unit)
    return solution


def _substitute(matrix: Array, x: Array, upper: bool, unit: bool) -> None:
    n = matrix.shape[-1]
    if n > SMALL:
        half = n // 2
        first, last = slice(half), slice(half, n)
        begin, end = (last, first) if upper else (first, last)
        _substitute(matrix[..., begin, begin], x[..., begin, :], upper, unit)
        x[..., end, :] -= np.matmul(matrix[..., end, begin], x[..., begin, :])
        _substitute(matrix[..., end, end], x[..., end, :], upper, unit)
        return
    for k in reversed(range(n)) if upper else range(n):
        if not unit:
            x[..., k, :] /= matrix[..., k, k, None]
        rest = slice(k) if upper else slice(k + 1, n)
        x[..., rest, :] -= matrix[..., rest, k, None] * x[..., None, k, :]


def factor(array: Array, *, pivot: bool = True) -> tuple[Array, Array, Array]:
    """LU factors in one array, pivots and infos of a stack of matrices (..., m, n).

    Row k was swapped with row ``pivots[k]`` (counted from 0); an info is the number, from 1, of the first pivot that
    is 0, or 0.
    """
    batch, (m, n) = array.shape[:-2], array.shape[-2:]
    count = int(np.prod(batch, dtype=np.int64))
    work = np.array(array.reshape(count, m, n))
    pivots = np.tile(np.arange(min(m, n)), (count, 1))
    infos = np.zeros(count, np.int64)
    if work.size:
        with np.errstate(all="ignore"):
            _factor(work, pivots, infos, 0, pivot)
    return work.reshape(array.shape), pivots.reshape(*batch, min(m, n)), infos.reshape(batch)


def _factor(a: Array, pivots: Array, infos: Array, start: int, pivot: bool) -> None:
    """Factor `a` in place; `pivots` are those of its columns, which begin at row `start` of the whole matrix."""
    m, n = a.shape[-2:]
    if min(m, n) <= SMALL:
        _factor_columns(a, pivots, infos, start, pivot)
        return
    half = min(m, n) // 2
    _factor(a[:, :, :half], pivots[:, :half], infos, start, pivot)
    _swap(a[:, :, half:], pivots[:, :half] - start)
    _substitute(a[:, :half, :half], a[:, :half, half:], upper=False, unit=True)
    a[:, half:, half:] -= np.matmul(a[:, half:, :half], a[:, :half, half:])
    _factor(a[:, half:, half:], pivots[:, half:], infos, start + half, pivot)
    _swap(a[:, half:, :half], pivots[:, half:] - start - half)


def _factor_columns(a: Array, pivots: Array, infos: Array, start: int, pivot: bool) -> None:
    m, n = a.shape[-2:]
    rows = np.arange(len(a))
    for k in range(min(m, n)):
        if pivot:
            column = a[:, k:, k]
            size = np.abs(column.real) + np.abs(column.imag) if a.dtype.kind == "c" else np.abs(column)
            place = k + np.argmax(size, axis=-1)
            pivots[:, k] = start + place
            swapped = a[rows, place]
            a[rows, place] = a[:, k]
            a[:, k] = swapped
        divisor = a[:, k, k]
        zero = divisor == 0
        infos[zero & (infos == 0)] = start + k + 1
        a[:, k + 1 :, k] /= np.where(zero, 1, divisor)[:, None]
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, None, k, k + 1 :]


def _swap(a: Array, pivots: Array) -> None:
    rows = np.arange(len(a))
    for k in range(pivots.shape[-1]):
        place = pivots[:, k]
        swapped = a[rows, place]
        a[rows, place] = a[:, k]
        a[:, k] = swapped


def permutation(pivots: Array, rows: int) -> Array:
    """Where each row of the factored matrix was in the given one: ``given[order] == L @ U``."""
    batch, count = pivots.shape[:-1], pivots.shape[-1]
    order = np.tile(np.arange(rows), (int(np.prod(batch, dtype=np.int64)), 1))
    flat = pivots.reshape(len(order), count)
    stack = np.arange(len(order))
    for k in range(count):
        place = flat[:, k]
        order[stack, place], order[:, k] = order[:, k].copy(), order[stack, place]
    return order.reshape(*batch, rows)


def solve_factored(factors: Array, pivots: Array, right: Array, *, turned: bool = False) -> Array:
    """The solution of ``A @ X = right``, or of ``A.mH @ X = right`` if `turned`, from A's factors; dims broadcast."""
    order = permutation(pivots, factors.shape[-1])
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    right = np.broadcast_to(right, batch + right.shape[-2:])
    order = np.broadcast_to(order, (*batch, order.shape[-1]))
    if turned:
        flipped = np.conjugate(np.swapaxes(factors, -2, -1))
        middle = substitute(flipped, right, upper=False)
        return _placed(substitute(flipped, middle, upper=True, unit=True), np.argsort(order, axis=-1))
    return substitute(factors, substitute(factors, _placed(right, order), upper=False, unit=True), upper=True)


def _placed(rows: Array, order: Array) -> Array:
    return np.take_along_axis(rows, order[..., None], axis=-2)
