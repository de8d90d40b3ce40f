"""Factorizations of matrices, judged by what defines them: the product is the matrix, factors have their form.

Signs and phases of vectors are free. Errors are measured by the norm of the matrix, as backward stable methods have
them; factors that are orthonormal, to a few epsilons for each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backend import Array
from .matrices import adjoint, characteristic, eigenvalues, eye, frobenius, monic, norms, singular_values
from .moves import Oracle
from .near import Claim, Near, Such


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
}
