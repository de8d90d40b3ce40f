"""Inverses, solutions, and the Cholesky, LU, QR, singular-value and eigenvalue factors they rest on."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

A = gb.tensor([[4.0, 2.0], [2.0, 5.0]])
SINGULAR = gb.tensor([[1.0, 2.0], [2.0, 4.0]])
FULL = [gb.float32, gb.float64, gb.complex64, gb.complex128]


def drawn(*sizes: int, dtype: Any = gb.float64) -> Any:
    """A tensor of numbers that depend on nothing, the last two dims swapped in memory."""
    generator = np.random.default_rng(sum(sizes))
    array = generator.normal(size=(*sizes[:-2], sizes[-1], sizes[-2])) + 1j * generator.normal(
        size=(*sizes[:-2], sizes[-1], sizes[-2])
    )
    return gb.from_numpy(array if dtype.is_complex else array.real.copy()).to(dtype).mT


def near(found: Any, expected: Any, tolerance: float = 1e-9) -> bool:
    return bool(found.shape == expected.shape and np.allclose(found.numpy(), expected.numpy(), tolerance, tolerance))


def test_inverse_and_solve_by_hand() -> None:
    assert gb.linalg.inv(A).flatten().tolist() == pytest.approx([5 / 16, -1 / 8, -1 / 8, 1 / 4])
    assert gb.linalg.solve(A, gb.tensor([8.0, 12.0])).tolist() == pytest.approx([1, 2])
    assert gb.linalg.solve(A, gb.tensor([[8.0, 12.0]]), left=False).tolist()[0] == pytest.approx([1, 2])
    assert gb.inverse(A).stride() == (1, 2)
    assert gb.inverse(gb.zeros(3, 0, 0)).shape == (3, 0, 0)


@pytest.mark.parametrize("dtype", FULL)
@pytest.mark.parametrize("n", [1, 5, 40])
def test_factors_give_the_matrix_back(dtype: Any, n: int) -> None:
    x = drawn(2, n, n, dtype=dtype)
    tolerance = 1e-9 if dtype.itemsize > 8 or dtype is gb.float64 else 2e-3
    b = drawn(2, n, 3, dtype=dtype)
    P, L, U = gb.linalg.lu(x)
    assert near(P @ L @ U, x, tolerance)
    assert near(x @ gb.linalg.lu_solve(*gb.linalg.lu_factor(x), b), b, tolerance)
    assert near(x.mH @ gb.linalg.lu_solve(*gb.linalg.lu_factor(x), b, adjoint=True), b, tolerance)
    assert near(x @ gb.linalg.solve(x, b), b, tolerance)
    Q, R = gb.linalg.qr(x)
    assert near(Q @ R, x, tolerance) and near(Q.mH @ Q, gb.eye(n, dtype=dtype).expand(2, n, n), tolerance)
    V, S, Vh = gb.linalg.svd(x)
    assert near(V * S.to(dtype).unsqueeze(-2) @ Vh, x, tolerance)
    positive = x @ x.mH + gb.eye(n, dtype=dtype)
    L = gb.linalg.cholesky(positive)
    assert near(L @ L.mH, positive, tolerance * 10)
    assert near(positive @ gb.cholesky_solve(b, L), b, tolerance * 10)
    w, v = gb.linalg.eigh(positive)
    assert near(v * w.to(dtype).unsqueeze(-2) @ v.mH, positive, tolerance * 10)
    values, vectors = gb.linalg.eig(x)
    assert near(x.to(values.dtype) @ vectors, vectors * values.unsqueeze(-2), tolerance * 10)


def test_singular_matrices() -> None:
    error = gb.linalg.LinAlgError
    with pytest.raises(error, match=r"linalg.inv: The diagonal element 2 is zero"):
        gb.linalg.inv(SINGULAR)
    with pytest.raises(error, match=r"\(Batch element 1\): The diagonal element 2"):
        gb.linalg.inv(gb.stack([A, SINGULAR]))
    with pytest.raises(error, match="solver failed because the input matrix is singular"):
        gb.linalg.solve(SINGULAR, gb.ones(2))
    with pytest.raises(error, match="leading minor of order 2"):
        gb.linalg.cholesky(SINGULAR - gb.eye(2) * 0.5)
    with pytest.raises(RuntimeError, match=r"U\[2,2\] is zero"):
        gb.linalg.lu_factor(SINGULAR)
    with pytest.raises(error, match="non-finite values"):
        gb.linalg.svd(A * math.nan)
    assert gb.linalg.inv_ex(gb.stack([A, SINGULAR])).info.tolist() == [0, 2]
    assert gb.linalg.solve_ex(SINGULAR, gb.ones(2)).info.item() == 2
    assert gb.linalg.cholesky_ex(SINGULAR - gb.eye(2)).info.item() == 1
    assert gb.linalg.lu_factor_ex(SINGULAR).info.item() == 2
    assert all(math.isnan(value) for value in gb.linalg.eigvalsh(A * math.nan).tolist())


def test_triangles_ignore_the_other_half() -> None:
    x = gb.tensor([[2.0, 7.0], [math.nan, 4.0]])
    assert gb.linalg.solve_triangular(x, gb.tensor([[9.0], [4.0]]), upper=True).flatten().tolist() == [1, 1]
    assert gb.linalg.solve_triangular(x, gb.tensor([[9.0], [4.0]]), upper=True, unitriangular=True).tolist() == [
        [-19],
        [4],
    ]
    assert gb.linalg.solve_triangular(x.t(), gb.tensor([[2.0, 11.0]]), upper=False, left=False).shape == (1, 2)
    solution, clone = gb.triangular_solve(gb.tensor([[9.0], [4.0]]), x)
    assert solution.tolist() == [[1], [1]] and clone is not x
    broken = gb.tensor([[4.0, math.nan], [2.0, 5.0]])
    assert gb.linalg.cholesky(broken).tolist() == [[2, 0], [1, 2]]
    assert gb.linalg.cholesky(broken.t(), upper=True).tolist() == [[2, 1], [0, 2]]
    assert gb.cholesky_inverse(gb.linalg.cholesky(A)).flatten().tolist() == pytest.approx(
        [5 / 16, -1 / 8, -1 / 8, 1 / 4]
    )


def test_least_squares() -> None:
    x = gb.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    found = gb.linalg.lstsq(x, gb.tensor([[1.0], [2.0], [4.0]]), driver="gelsd")
    assert found.solution.flatten().tolist() == pytest.approx([5 / 6, 3 / 2])
    assert found.residuals.tolist() == pytest.approx([1 / 6], rel=1e-5)
    assert (found.rank.item(), found.singular_values.shape) == (2, (2,))
    assert gb.linalg.pinv(SINGULAR).flatten().tolist() == pytest.approx([0.04, 0.08, 0.08, 0.16], rel=1e-5)
    assert gb.linalg.matrix_rank(gb.stack([A, SINGULAR])).tolist() == [2, 1]
    assert gb.linalg.matrix_rank(A, atol=10.0, hermitian=True).item() == 0
    assert gb.linalg.matrix_rank(A, tol=gb.ones(3)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_solutions_for_a_stack_of_vectors_are_row_major(device: str) -> None:
    matrices, sides = gb.ones(2, 3, 4, 3, device=device), gb.ones(2, 3, 4, device=device)
    assert gb.linalg.lstsq(matrices, sides).solution.stride() == (9, 3, 1)
    assert gb.linalg.lstsq(matrices, sides.unsqueeze(-1)).solution.stride() == (9, 3, 1, 3)


def test_householder_reflections() -> None:
    x = drawn(2, 4, 3)
    packed, tau = gb.geqrf(x)
    Q, R = gb.linalg.qr(x)
    assert near(gb.linalg.householder_product(packed, tau), Q) and near(packed.triu()[:, :3], R)
    assert near(gb.ormqr(packed, tau, x, True, True)[:, :3], R)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("linalg_inv_ex", ((2, 3, 3),)),
        ("linalg_solve", ((2, 3, 3), (3,))),
        ("linalg_solve_triangular", ((2, 3, 3), (3, 2))),
        ("linalg_cholesky", ((2, 3, 3),)),
        ("linalg_lu", ((2, 4, 3),)),
        ("linalg_qr", ((2, 4, 3),)),
        ("linalg_svd", ((2, 4, 3),)),
        ("linalg_eigh", ((2, 3, 3),)),
        ("linalg_eig", ((2, 3, 3),)),
        ("linalg_pinv", ((2, 4, 3),)),
        ("linalg_matrix_rank", ((2, 4, 3),)),
    ],
)
def test_meta_tells_sizes_strides_and_dtypes(name: str, arguments: tuple[tuple[int, ...], ...]) -> None:
    options = {"upper": True} if name == "linalg_solve_triangular" else {}

    def described(device: str) -> list[Any]:
        operands = [gb.ones(sizes, device=device) for sizes in arguments]
        if device == "cpu":
            operands[0] = operands[0] + 3 * gb.eye(*arguments[0][-2:])
        found = getattr(gb, name)(*operands, **options)
        return [(t.shape, t.stride(), t.dtype) for t in (found if isinstance(found, tuple) else (found,))]

    assert described("meta") == described("cpu")
