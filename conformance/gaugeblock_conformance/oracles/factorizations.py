"""Cholesky and LU factorizations, judged by what defines them, and determinants, by their sum over permutations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..backend import Array
from .decompositions import equal, one_triangle, same_product, sizes_of
from .matrices import adjoint, determinant, eye
from .moves import Oracle
from .near import Claim, Near, Such, exactly


def cholesky(x: Array, upper: bool) -> Such:
    whole = one_triangle(x, "U" if upper else "L")

    def claims(factor: Array, *info: Array) -> Iterator[Claim]:
        low = adjoint(factor) if upper else factor
        yield equal("the factor is triangular", low, np.tril(low))
        yield equal("the diagonal is positive", factor * eye(factor), np.abs(factor.real) * eye(factor))
        yield same_product("L L' is A", low @ adjoint(low), whole)
        for number in info:
            yield equal("info", number, 0)

    return Such((x.shape,), ("input",), claims)


def cholesky_ex(x: Array, upper: bool, check_errors: bool) -> Such:
    found = cholesky(x, upper)
    return Such((*found.sizes, x.shape[:-2]), ("input", "int32"), found.claims)


def exchanged(pivots: Array, rows: int) -> Array:
    """The permutation matrices P of exchanges, one row with another from the first on: P L U is the matrix."""
    found = np.zeros((*pivots.shape[:-1], rows, rows))
    for at in np.ndindex(*pivots.shape[:-1]):
        order = np.arange(rows)
        for k, other in enumerate(pivots[at].astype(np.int64) - 1):
            order[[k, other]] = order[[other, k]]
        found[(*at, order, np.arange(rows))] = 1
    return found


def triangles(x: Array) -> tuple[Array, Array]:
    """L with ones on its diagonal and U, packed in one matrix."""
    least = min(x.shape[-2:])
    low = np.tril(x[..., :least], -1)
    return low + np.eye(x.shape[-2], least, dtype=x.dtype), np.triu(x[..., :least, :])


def _pivoted(low: Array) -> Claim:
    """Partial pivoting leaves no multiplier above 1 (for complex numbers above √2)."""
    most = 1 if low.dtype.kind != "c" else 2**0.5
    return equal("no multiplier is above 1", np.abs(low) <= most * 1.001, True)


def lu_factor(x: Array, pivot: bool, *check_errors: bool) -> Such:
    rows, columns = x.shape[-2:]

    def claims(packed: Array, pivots: Array, *info: Array) -> Iterator[Claim]:
        low, high = triangles(packed)
        yield _pivoted(low)
        inside = (pivots > np.arange(pivots.shape[-1])) & (pivots <= rows)
        yield equal("pivots name rows below", inside, True)
        if inside.all():
            yield same_product("P L U is A", exchanged(pivots, rows) @ low @ high, x)
        for number in info:
            yield equal("info", number, 0)

    sizes: tuple[tuple[int, ...], ...] = (x.shape, (*x.shape[:-2], min(rows, columns)))
    info = (x.shape[:-2],) if check_errors else ()
    return Such((*sizes, *info), ("input", "int32", "int32")[: 2 + len(info)], claims)


def lu(x: Array, pivot: bool) -> Such:
    rows, columns = x.shape[-2:]
    least = min(rows, columns)

    def claims(p: Array, low: Array, high: Array) -> Iterator[Claim]:
        ones = (p == 1).sum(axis=-1) * (p == 1).sum(axis=-2) * (np.abs(p).sum(axis=-1) == 1)
        yield equal("P is a permutation", ones, 1)
        yield equal("L is lower triangular with ones", low, triangles(low)[0])
        yield equal("U is upper triangular", high, np.triu(high))
        yield _pivoted(low)
        yield same_product("P L U is A", p @ low @ high, x)

    sizes = (sizes_of(x, rows, rows), sizes_of(x, rows, least), sizes_of(x, least, columns))
    return Such(sizes, ("input",) * 3, claims)


def lu_unpack(x: Array, pivots: Array, data: bool, permutation: bool) -> tuple[Near, ...]:
    nothing = np.zeros(0)
    low, high = triangles(x) if data else (nothing, nothing)
    found = exchanged(pivots, x.shape[-2]) if permutation else nothing
    return tuple(exactly(part, "input") for part in (found, low, high))


def det(x: Array) -> Near:
    """Relative to the value: matrices far from singular are drawn."""
    value = determinant(x)
    return Near(value, np.abs(value), 16 * x.shape[-1])


def slogdet(x: Array) -> tuple[Near, Near]:
    value = determinant(x)
    size = np.abs(value)
    return Near(value / size, 1.0, 16 * x.shape[-1]), Near(np.log(size), 1.0, 64 * x.shape[-1], "real")


# More than pi rounded to any floating dtype.
_BEYOND_PI = 3.1416


def logdet(x: Array) -> Near | Such:
    """The principal logarithm; NaN for negative determinants of real matrices.

    Beside the negative numbers rounding decides whether the imaginary part is near pi or near -pi.
    """
    value, units = determinant(x), 64 * x.shape[-1]
    if value.dtype.kind != "c":
        return Near(np.log(value), 1.0, units)
    size = np.abs(value)

    def claims(found: Array) -> Iterator[Claim]:
        yield Claim("the real part is the logarithm of the modulus", found.real, np.log(size), 1.0, units)
        yield Claim("the imaginary part is the angle", np.exp(1j * found.imag), value / size, 1.0, units)
        yield equal("the imaginary part is between -pi and pi", np.abs(found.imag) < _BEYOND_PI, True)

    return Such((value.shape,), ("input",), claims)


FACTORIZATIONS: dict[str, Oracle] = {
    "linalg_cholesky": cholesky,
    "cholesky": cholesky,
    "linalg_cholesky_ex": cholesky_ex,
    "linalg_lu_factor": lambda x, pivot: lu_factor(x, pivot),
    "linalg_lu_factor_ex": lu_factor,
    "linalg_lu": lu,
    "lu_unpack": lu_unpack,
    "linalg_det": det,
    "det": det,
    "linalg_slogdet": slogdet,
    "slogdet": slogdet,
    "logdet": logdet,
}
