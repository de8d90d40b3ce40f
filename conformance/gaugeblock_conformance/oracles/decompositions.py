"""Factorizations of matrices, judged by what defines them: the product is the matrix, factors have their form.

Signs and phases of vectors are free. Errors are measured by the norm of the matrix, as backward stable methods have
them; factors that are orthonormal, to a few epsilons for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backend import Array
from .matrices import (
    adjoint,
    characteristic,
    determinant,
    eigenvalues,
    eye,
    frobenius,
    monic,
    norms,
    singular_values,
)  # fmt: skip
from .moves import Oracle
from .near import Claim, Near, Such, exactly


def same_product(what: str, got: Array, want: Array) -> Claim:
    """Two products of factors that must be one matrix."""
    return Claim(what, got, want, frobenius(want) + np.finfo(np.float64).tiny, 16 * sum(want.shape[-2:]))


def orthonormal(name: str, q: Array) -> Claim:
    """The columns of ``q``."""
    size = q.shape[-1]
    want = np.broadcast_to(eye(q, size), (*q.shape[:-2], size, size))
    return Claim(f"columns of {name} are orthonormal", adjoint(q) @ q, want, 1.0, 16 * q.shape[-2])


def equal(what: str, got: Array, want: Any) -> Claim:
    return Claim(what, got, np.broadcast_to(want, got.shape))


def sizes_of(x: Array, *dims: int) -> tuple[int, ...]:
    return (*x.shape[:-2], *dims)


def qr(x: Array, mode: str = "reduced") -> Such:
    rows, columns = x.shape[-2:]
    inner = rows if mode == "complete" else min(rows, columns)

    def claims(q: Array, r: Array) -> Iterator[Claim]:
        yield equal("R is upper triangular", r, np.triu(r))
        if mode == "r":
            yield same_product("R' R is A' A", adjoint(r) @ r, adjoint(x) @ x)
        else:
            yield same_product("Q R is A", q @ r, x)
            yield orthonormal("Q", q)

    first = (0,) if mode == "r" else sizes_of(x, rows, inner)
    return Such((first, sizes_of(x, inner, columns)), ("input", "input"), claims)


def reflected(v: Array, tau: Array) -> Array:
    """The product of the reflections I - τ v v' whose vectors lie below the diagonal, as square matrices."""
    rows = v.shape[-2]
    found = np.broadcast_to(eye(v), sizes_of(v, rows, rows))
    for k in range(tau.shape[-1]):
        vector = v[..., k].copy()
        vector[..., :k], vector[..., k] = 0, 1
        outer = vector[..., :, None] * vector[..., None, :].conj()
        found = found @ (eye(v) - tau[..., k, None, None] * outer)
    return np.asarray(found)


def geqrf(x: Array) -> Such:
    def claims(a: Array, tau: Array) -> Iterator[Claim]:
        yield same_product("the reflections times the triangle are the matrix", reflected(a, tau) @ np.triu(a), x)

    least = min(x.shape[-2:])
    return Such((x.shape, (*x.shape[:-2], least)), ("input", "input"), claims)


def _growth(v: Array, tau: Array) -> Array:
    """By how much the reflections may enlarge a norm."""
    return np.asarray(np.prod([1 + np.abs(tau[..., k]) * (1 + norms(v) ** 2) for k in range(tau.shape[-1])], axis=0))


def householder_product(v: Array, tau: Array) -> Near:
    growth = np.broadcast_to(_growth(v, tau), v.shape[:-2])
    return Near(reflected(v, tau)[..., : v.shape[-1]], growth[..., None, None], 16 * v.shape[-2])


def ormqr(v: Array, tau: Array, c: Array, left: bool, transpose: bool) -> Near:
    q = reflected(v, tau)
    q = adjoint(q) if transpose else q
    growth = np.broadcast_to(_growth(v, tau), v.shape[:-2])[..., None, None]
    return Near(q @ c if left else c @ q, growth * frobenius(c), 16 * sum(c.shape[-2:]))


def _spectral(x: Array, u: Array, s: Array, vh: Array) -> Iterator[Claim]:
    count = s.shape[-1]
    yield same_product("U S V' is A", (u[..., :count] * s[..., None, :]) @ vh[..., :count, :], x)
    yield orthonormal("U", u)
    yield orthonormal("V", adjoint(vh))
    yield equal("singular values descend to zero", s, np.maximum(np.sort(s, axis=-1)[..., ::-1], 0))


def svd(x: Array, full: bool = True) -> Such:
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    left, right = (rows, columns) if full else (least, least)
    sizes = (sizes_of(x, rows, left), sizes_of(x, least), sizes_of(x, right, columns))
    return Such(sizes, ("input", "real", "input"), lambda u, s, vh: _spectral(x, u, s, vh))


def svd_with_v(x: Array, some: bool, vectors: bool) -> Such:
    """As :func:`svd`, with V as it is; zeros where no vectors are wanted."""
    found = svd(x, not some or not vectors)
    left, middle, (*lead, right, columns) = found.sizes

    def claims(u: Array, s: Array, v: Array) -> Iterator[Claim]:
        if vectors:
            yield from _spectral(x, u, s, adjoint(v))
        else:
            yield equal("U is zero", u, 0)
            yield equal("V is zero", v, 0)
            yield Claim("singular values", s, singular_values(x), norms(x)[..., None], 16 * sum(x.shape[-2:]))

    return Such((left, middle, (*lead, columns, right)), found.kinds, claims)


def svdvals(x: Array) -> Near:
    return Near(singular_values(x), norms(x)[..., None], 16 * sum(x.shape[-2:]), "real")


def one_triangle(x: Array, uplo: str) -> Array:
    """The Hermitian matrix of which ``x`` is read in one triangle only; imaginary parts of the diagonal are not."""
    part = np.tril(x, -1) if uplo.upper() == "L" else np.triu(x, 1)
    return np.asarray(part + adjoint(part) + eye(x) * x.real)


def eigh(x: Array, uplo: str) -> Such:
    whole = one_triangle(x, uplo)

    def claims(w: Array, v: Array) -> Iterator[Claim]:
        yield equal("eigenvalues ascend", w, np.sort(w, axis=-1))
        yield same_product("A V is V diag(w)", v * w[..., None, :] @ adjoint(v), whole)
        yield orthonormal("V", v)

    return Such((x.shape[:-1], x.shape), ("real", "input"), claims)


def eigvalsh(x: Array, uplo: str) -> Near:
    whole = one_triangle(x, uplo)
    return Near(eigenvalues(whole), norms(whole)[..., None], 16 * x.shape[-1], "real")


def _roots(x: Array, w: Array) -> Claim:
    """The polynomial with these roots is the characteristic one."""
    n = x.shape[-1]
    scale = (1 + norms(x)[..., None]) ** np.arange(n + 1)
    return Claim("eigenvalues are the roots of det(A - λ)", monic(w), characteristic(x), scale, 64.0 * (n + 1) ** 2)


def eig(x: Array) -> Such:
    def claims(w: Array, v: Array) -> Iterator[Claim]:
        yield _roots(x, w)
        yield Claim("A V is V diag(w)", x @ v, v * w[..., None, :], frobenius(x), 64.0 * x.shape[-1])
        yield Claim("eigenvectors have length 1", np.sqrt((np.abs(v) ** 2).sum(axis=-2)), np.ones(w.shape), 1.0)

    return Such((x.shape[:-1], x.shape), ("complex", "complex"), claims)


def eigvals(x: Array) -> Such:
    def claims(w: Array) -> Iterator[Claim]:
        yield _roots(x, w)

    return Such((x.shape[:-1],), ("complex",), claims)


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


def logdet(x: Array) -> Near:
    """The principal logarithm; NaN for negative determinants of real matrices."""
    value = determinant(x)
    return Near(np.log(value), 1.0, 64 * x.shape[-1])


DECOMPOSITIONS: dict[str, Oracle] = {
    "linalg_qr": qr,
    "qr": lambda x, some: qr(x, "reduced" if some else "complete"),
    "geqrf": geqrf,
    "linalg_householder_product": householder_product,
    "orgqr": householder_product,
    "ormqr": ormqr,
    "linalg_svd": lambda x, full, driver: svd(x, full),
    "svd": svd_with_v,
    "linalg_svdvals": lambda x, driver: svdvals(x),
    "linalg_eigh": eigh,
    "linalg_eigvalsh": eigvalsh,
    "linalg_eig": eig,
    "linalg_eigvals": eigvals,
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
