"""QR factors, and products of Householder reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.warn import warn_deprecated
from ...tensor.tensor import Tensor
from ..arrays import Array, outline, values
from ..named_results import result_type
from . import lapack
from .checks import adjoint, check_float, check_matrix, check_one_dtype, matrices, store

MODES = ("reduced", "complete", "r")


def factors(operator: str, matrix: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """Q and R of each matrix (..., m, n); mode "r" leaves Q without elements. Raises RuntimeError."""
    dtype = check_float(operator, matrix)
    *batch, m, n = check_matrix(operator, matrix)
    if mode not in MODES:
        raise RuntimeError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    device, k = matrix.meta.device, min(m, n)
    inner = m if mode == "complete" else k
    Q, q = outline((0,), dtype, device) if mode == "r" else matrices((*batch, m, inner), dtype, device)
    R, r = matrices((*batch, inner, n), dtype, device)
    if r is not None:
        array = values(matrix)
        if not array.size:
            store(q, np.eye(m, inner) if mode != "r" else 0)
            return Q, R
        with np.errstate(all="ignore"):
            if mode == "r":
                store(r, lapack.qr(array, "r"))
            else:
                found = lapack.qr(array, mode)
                store(q, found[0])
                store(r, found[1])
    return Q, R


def linalg_qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R) of each matrix, Q with orthonormal columns, R upper triangular."""
    return result_type("linalg_qr")(*factors("linalg.qr", A, mode))


def qr(self: Tensor, some: bool = True) -> Any:
    """(Q, R) of each matrix, with square Q unless `some`."""
    warn_deprecated("qr", "linalg.qr")
    return result_type("qr")(*factors("linalg.qr", self, "reduced" if some else "complete"))


def reflections(array: Array) -> tuple[Array, Array]:
    """R above the diagonal with the reflections' vectors below it, and their factors tau, of each matrix."""
    *batch, m, n = array.shape
    work, taus = np.array(array), np.zeros((*batch, min(m, n)), array.dtype)
    for k in range(min(m, n)):
        head, tail = work[..., k, k].copy(), work[..., k + 1 :, k]
        rest = np.linalg.norm(tail, axis=-1)
        length = np.hypot(np.abs(head), rest)
        plain = (rest == 0) & (head.imag == 0)
        beta = np.where(plain, head.real, -np.copysign(length, head.real))
        with np.errstate(all="ignore"):
            taus[..., k] = np.where(plain, 0, (beta - head) / beta)
            tail /= np.where(plain, 1, head - beta)[..., None]
        vector = np.concatenate([np.ones((*batch, 1), array.dtype), tail], -1)
        work[..., k, k] = beta
        after = work[..., k:, k + 1 :]
        along = np.einsum("...i,...ij->...j", vector.conj(), after)
        after -= np.conjugate(taus[..., k])[..., None, None] * vector[..., :, None] * along[..., None, :]
    return work, taus


def geqrf(self: Tensor) -> Any:
    """(a, tau): R with the Householder vectors below it, and their factors. Raises RuntimeError below two dims."""
    dtype = check_float("geqrf", self, "self")
    *batch, m, n = check_matrix("torch.geqrf", self, "input")
    a, packed = matrices((*batch, m, n), dtype, self.meta.device)
    tau, taus = outline((*batch, min(m, n)), dtype, self.meta.device)
    if packed is not None:
        found = reflections(values(self))
        store(packed, found[0])
        store(taus, found[1])
    return result_type("geqrf")(a, tau)


def reflected(vectors: Array, taus: Array, onto: Array, *, turned: bool = False) -> Array:
    """The product of the reflections (or its adjoint if `turned`) times `onto`."""
    result = np.array(onto)
    count = taus.shape[-1]
    for k in range(count) if turned else reversed(range(count)):
        below = vectors[..., k + 1 :, k]
        vector = np.concatenate([np.ones((*below.shape[:-1], 1), below.dtype), below], -1)
        factor = np.conjugate(taus[..., k]) if turned else taus[..., k]
        part = result[..., k:, :]
        along = np.einsum("...i,...ij->...j", vector.conj(), part)
        part -= factor[..., None, None] * vector[..., :, None] * along[..., None, :]
    return result


def _check_reflections(operator: str, vectors: Tensor, tau: Tensor) -> tuple[int, ...]:
    sizes = check_matrix(operator, vectors, "input")
    check_one_dtype(operator, vectors, tau, ("input", "tau"))
    if tau.meta.ndim != len(sizes) - 1 or tau.meta.sizes[:-1] != sizes[:-2]:
        raise RuntimeError(
            f"{operator}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.meta.sizes)} for input of {list(sizes)}"
        )
    return sizes


def orthogonal_factor(operator: str, vectors: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of reflections whose vectors lie below the diagonal of (..., m, n)."""
    dtype = check_float(operator, vectors, "input")
    sizes = _check_reflections(operator, vectors, tau)
    m, n = sizes[-2:]
    if n > m:
        raise RuntimeError(f"{operator}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.meta.sizes[-1] > n:
        raise RuntimeError(f"{operator}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    result, target = matrices(sizes, dtype, vectors.meta.device)
    if target is not None:
        start = np.broadcast_to(np.eye(m, n, dtype=dtype.numpy), sizes)
        store(target, reflected(values(vectors), values(tau), start))
    return result


def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """Columns of the product of Householder reflections. Raises RuntimeError unless sizes fit."""
    return orthogonal_factor("torch.linalg.householder_product", input, tau)


def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """linalg.householder_product."""
    return orthogonal_factor("torch.linalg.householder_product", self, input2)


def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q @ input3, or input3 @ Q if not `left`, with Q.mH for Q if `transpose`. Raises RuntimeError unless sizes fit.

    Q is the product of reflections whose vectors lie below the diagonal of `self`, with the factors `input2`.
    """
    dtype = check_float("ormqr", self, "self")
    sizes = _check_reflections("torch.ormqr", self, input2)
    other = check_matrix("torch.ormqr", input3, "other")
    check_one_dtype("torch.ormqr", self, input3, ("input", "other"))
    if other[-2 if left else -1] != sizes[-2] or input2.meta.sizes[-1] > sizes[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2], got {list(other)} and "
            f"{list(sizes)}"
        )
    result, target = matrices(other, dtype, self.meta.device)
    if target is not None:
        vectors, taus, onto = values(self), values(input2), values(input3)
        if left:
            store(target, reflected(vectors, taus, onto, turned=transpose))
        else:
            store(target, adjoint(reflected(vectors, taus, adjoint(onto), turned=not transpose)))
    return result
