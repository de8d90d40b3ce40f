"""Gradients and second derivatives of decompositions against PyTorch's, of what does not depend on signs and phases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

torch = pytest.importorskip("torch")

Array = Any
SHAPES = {"square": (3, 3), "tall": (5, 3), "wide": (2, 4), "batch": (2, 3, 3)}


def hermitian(a: Any) -> Any:
    return a + a.mH


def positive(lib: Any, a: Any) -> Any:
    return a @ a.mH + 3 * lib.eye(a.shape[-2], dtype=a.dtype)


def singular_vectors(lib: Any, a: Any) -> Any:
    u, s, vh = lib.linalg.svd(a, full_matrices=False)
    return (u * s.unsqueeze(-2) ** 2) @ vh


def outermost_singular_vectors(lib: Any, a: Any) -> Any:
    u, _, vh = lib.linalg.svd(a)
    return u[..., :, :1] @ vh[..., :1, :]


def old_singular_vectors(lib: Any, a: Any) -> Any:
    u, s, v = lib.svd(a)
    return (u / s.unsqueeze(-2)) @ v.mH


def eigenvectors(lib: Any, a: Any) -> Any:
    values, vectors = lib.linalg.eigh(hermitian(a))
    return (vectors * values.sin().unsqueeze(-2)) @ vectors.mH


def upper_eigenvalues(lib: Any, a: Any) -> Any:
    return lib.linalg.eigvalsh(hermitian(a), UPLO="U")


def function_of_matrix(lib: Any, a: Any) -> Any:
    values, vectors = lib.linalg.eig(a)
    return (vectors * values.exp().unsqueeze(-2)) @ lib.linalg.inv(vectors)


def lengths_of_eigenvectors(lib: Any, a: Any) -> Any:
    values, vectors = lib.linalg.eig(a)
    order = lib.argsort(values.detach().abs(), -1)
    return vectors.abs().gather(-1, order.unsqueeze(-2).expand(vectors.shape))


def orthogonal_factors(lib: Any, a: Any) -> Any:
    q, r = lib.linalg.qr(a)
    return lib.cat((q.reshape(-1), r.reshape(-1)))


def lower_cholesky(lib: Any, a: Any) -> Any:
    return lib.linalg.cholesky(positive(lib, a))


def upper_cholesky(lib: Any, a: Any) -> Any:
    return lib.linalg.cholesky(positive(lib, a), upper=True)


def inverse_by_cholesky(lib: Any, a: Any) -> Any:
    return lib.cholesky_inverse(lib.linalg.cholesky(positive(lib, a)))


def solved_by_cholesky(lib: Any, a: Any) -> Any:
    return lib.cholesky_solve(a, lib.linalg.cholesky(positive(lib, a)))


def lu_factors(lib: Any, a: Any) -> Any:
    _, low, up = lib.linalg.lu(a)
    return lib.cat((low.reshape(-1), up.reshape(-1)))


def solved_by_lu(lib: Any, a: Any) -> Any:
    factors, pivots = lib.linalg.lu_factor(positive(lib, a))
    return lib.linalg.lu_solve(factors, pivots, a)


def solved_by_adjoint_lu(lib: Any, a: Any) -> Any:
    factors, pivots = lib.linalg.lu_factor(positive(lib, a))
    return lib.linalg.lu_solve(factors, pivots, a, adjoint=True)


def reflectors(lib: Any, a: Any) -> Any:
    return lib.linalg.householder_product(a, a[..., 0, : min(a.shape[-2:])])


def turned_by_reflectors(lib: Any, a: Any) -> Any:
    return lib.ormqr(a, a[..., 0, : min(a.shape[-2:])], a.mH, left=False, transpose=True)


CASES: list[tuple[Callable[[Any, Any], Any], str]] = [
    (function, shapes)
    for function, shapes in (
        (singular_vectors, "square tall wide batch"),
        (outermost_singular_vectors, "square tall wide batch"),
        (old_singular_vectors, "square tall wide batch"),
        (eigenvectors, "square batch"),
        (upper_eigenvalues, "square batch"),
        (function_of_matrix, "square batch"),
        (lengths_of_eigenvectors, "square batch"),
        (orthogonal_factors, "square tall wide batch"),
        (lower_cholesky, "square tall wide batch"),
        (upper_cholesky, "square tall wide batch"),
        (inverse_by_cholesky, "square batch"),
        (solved_by_cholesky, "square tall wide batch"),
        (lu_factors, "square tall wide batch"),
        (solved_by_lu, "square tall wide batch"),
        (solved_by_adjoint_lu, "square tall wide batch"),
        (reflectors, "square tall batch"),
        (turned_by_reflectors, "square tall batch"),
    )
]


def derivatives(lib: Any, leaf: Any, function: Callable[[Any, Any], Any], weights: Array, turn: Array) -> list[Array]:
    """The value, the gradient of its weighted sum, and the gradient of a weighted sum of that."""
    result = function(lib, leaf)
    seed = _tensor(lib, weights.reshape(-1)[: result.numel()].reshape(tuple(result.shape)), result.is_complex())
    (first,) = lib.autograd.grad(result, leaf, seed, create_graph=True)
    (second,) = lib.autograd.grad(first, leaf, _tensor(lib, turn, leaf.is_complex()))
    return [one.detach().resolve_conj().numpy() for one in (result, first, second)]


def _tensor(lib: Any, array: Array, is_complex: bool) -> Any:
    chosen = array if is_complex else np.ascontiguousarray(array.real)
    return lib.from_numpy(chosen.copy())


@pytest.mark.parametrize("complex_numbers", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(
    ("function", "shape"),
    [pytest.param(f, s, id=f"{f.__name__}-{s}") for f, shapes in CASES for s in shapes.split()],
)
def test_derivatives_agree(function: Callable[[Any, Any], Any], shape: str, complex_numbers: bool) -> None:
    rng = np.random.default_rng(11)
    sizes = SHAPES[shape]
    array, weights, turn = (rng.normal(size=n) + 1j * rng.normal(size=n) for n in (sizes, 200, sizes))
    found, expected = (
        derivatives(lib, _tensor(lib, array, complex_numbers).requires_grad_(), function, weights, turn)
        for lib in (gb, torch)
    )
    for ours, theirs, what in zip(found, expected, ("value", "gradient", "second derivative"), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8 * (1 + np.abs(theirs).max()), err_msg=what)


@pytest.mark.parametrize("call", ["linalg.svd(x)", "linalg.eigh(x + x.mH)", "linalg.eig(x)"])
def test_losses_that_depend_on_phases_are_refused(call: str) -> None:
    rng = np.random.default_rng(5)
    array = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    for lib in (gb, torch):
        x = lib.from_numpy(array.copy()).requires_grad_()
        vectors = eval(f"lib.{call}", {"lib": lib, "x": x})[0 if "svd" in call else 1]
        seed = lib.from_numpy(rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)))
        with pytest.raises(RuntimeError, match="up to multiplication by e"):
            lib.autograd.grad(vectors, x, seed)


@pytest.mark.parametrize("mode", ["complete", "r"])
def test_qr_modes_without_derivative_are_refused(mode: str) -> None:
    for lib in (gb, torch):
        x = lib.ones(4, 2, dtype=lib.float64, requires_grad=True)
        with pytest.raises(RuntimeError, match="differentia"):
            lib.linalg.qr(x, mode)[1].sum().backward()


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_determinants_of_singular_matrices(rank: int) -> None:
    rng = np.random.default_rng(rank)
    array = rng.integers(-3, 4, (3, rank)).astype(float) @ rng.integers(-3, 4, (rank, 3)).astype(float)
    array = np.stack([array, np.eye(3)])
    x = gb.from_numpy(array.copy()).requires_grad_()
    gb.linalg.det(x).sum().backward()
    for found, matrix in zip(x.grad.numpy(), array, strict=True):
        minors = [[np.linalg.det(np.delete(np.delete(matrix, i, 0), j, 1)) for j in range(3)] for i in range(3)]
        expected = np.array(minors) * np.fromfunction(lambda i, j: (-1) ** (i + j), (3, 3))
        np.testing.assert_allclose(found, expected, atol=1e-12 * (1 + np.abs(expected).max()))


def test_equal_singular_values_and_eigenvalues_have_gradients() -> None:
    for call in ("linalg.svd(x)[1]", "linalg.eigh(x)[0]", "linalg.svdvals(x)", "linalg.eigvalsh(x)"):
        x = (2 * gb.eye(3, dtype=gb.float64)).requires_grad_()
        eval(f"gb.{call}", {"gb": gb, "x": x}).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), np.eye(3), atol=1e-12)
