"""LAPACK of NumPy's library: plans of its routines beside what NumPy and loops over columns compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels import lapack
from gaugeblock.operators.linear import lapack_plans

DTYPES = ("float32", "float64", "complex64", "complex128")
NAN, INF = float("nan"), float("inf")
ROUTINES = sorted(lapack.ROUTINES)


def drawn(dtype: str, *sizes: int) -> gb.Tensor:
    """Numbers around 0; the same for the same sizes."""
    random = np.random.default_rng(sum(sizes))
    numbers = random.normal(size=sizes) + (1j * random.normal(size=sizes) if "complex" in dtype else 0)
    return gb.from_numpy(numbers).to(getattr(gb, dtype))


def positive(x: gb.Tensor) -> gb.Tensor:
    """A positive-definite matrix for each square one."""
    return x @ x.mH + x.shape[-1] * gb.eye(x.shape[-1], dtype=x.dtype)


def absolute(found: Sequence[gb.Tensor]) -> list[gb.Tensor]:
    """Values that are unique, and the moduli of vectors, which are unique up to a phase."""
    return [one.abs() for one in found]


Case = Callable[[gb.Tensor, gb.Tensor], Sequence[gb.Tensor]]
CASES: dict[str, Case] = {
    "lu": lambda a, b: gb.linalg.lu_factor_ex(a),
    "lu_unpack": lambda a, b: gb.linalg.lu(a),
    "lu_solve": lambda a, b: [
        gb.linalg.lu_solve(*gb.linalg.lu_factor(a), b if left else b.mT, left=left, adjoint=adjoint)
        for left in (True, False)
        for adjoint in (True, False)
    ],
    "det": lambda a, b: [gb.linalg.det(a / a.shape[-1] ** 0.5), *gb.linalg.slogdet(a), gb.logdet(positive(a))],
    "inv": lambda a, b: [*gb.linalg.inv_ex(positive(a)), gb.linalg.inv(positive(a))],
    "solve": lambda a, b: [
        *gb.linalg.solve_ex(positive(a), b), gb.linalg.solve(positive(a), b[..., 0]),
        gb.linalg.solve(positive(a), b.mT, left=False), gb.linalg.solve(positive(a).mT, b),
    ],
    "cholesky": lambda a, b: [gb.linalg.cholesky(positive(a), upper=upper) for upper in (True, False)],
    "cholesky_solve": lambda a, b: [
        gb.cholesky_solve(b, gb.linalg.cholesky(positive(a), upper=upper), upper) for upper in (True, False)
    ],
    "cholesky_inverse": lambda a, b: [gb.cholesky_inverse(gb.linalg.cholesky(positive(a)))],
    "solve_triangular": lambda a, b: [
        gb.linalg.solve_triangular(
            a / a.shape[-1] if unit else positive(a), b if left else b.mT, upper=upper, left=left, unitriangular=unit
        )
        for left in (True, False)
        for upper in (True, False)
        for unit in (True, False)
    ],
    "qr": lambda a, b: [*gb.linalg.qr(a), *gb.linalg.qr(b), gb.linalg.qr(b, "r")[1]],
    "geqrf": lambda a, b: [*gb.geqrf(a), *gb.geqrf(b)],
    "householder_product": lambda a, b: [gb.linalg.householder_product(*gb.geqrf(b))],
    "ormqr": lambda a, b: [
        gb.ormqr(*gb.geqrf(b), a, left, turned) for left in (True, False) for turned in (True, False)
    ],
    "eigh": lambda a, b: absolute(gb.linalg.eigh(positive(a), "U")),
    "eigvalsh": lambda a, b: [gb.linalg.eigvalsh(a + a.mH)],
    "eigvals": lambda a, b: [gb.linalg.eigvals(a).abs().sort()[0]],
    "svd": lambda a, b: absolute([*gb.linalg.svd(a), *gb.linalg.svd(b, full_matrices=False), gb.linalg.svdvals(b.mT)]),
    "lstsq": lambda a, b: [*gb.linalg.lstsq(b, a), *gb.linalg.lstsq(b.mT, a[..., :2, :])],
}


@pytest.mark.parametrize("routine", ROUTINES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpys_library_has_the_routines_of_its_own_wheels(dtype: str, routine: str) -> None:
    if lapack.lapack("getrf", gb.float64) is None:
        pytest.skip("NumPy's library gives no names of LAPACK away")
    assert lapack.lapack(routine, getattr(gb, dtype)) is not None


@pytest.mark.parametrize("size", [4, 40])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_routines_agree_with_the_path_without_them(
    name: str, dtype: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tolerance = 2e-2 if dtype in ("float32", "complex64") else 1e-7
    for batch in ((), (2, 3)):
        a, b = drawn(dtype, *batch, size, size), drawn(dtype, *batch, size, 2)
        for lay in (gb.Tensor.contiguous, lambda x: x.mT.contiguous().mT):
            given = lay(a), lay(b)
            found = CASES[name](*given)
            with monkeypatch.context() as patch:  # other sizes are planned anew
                patch.setattr(lapack_plans, "lapack", lambda routine, dtype: None)
                expected = CASES[name](*[one.unsqueeze(0) for one in given])
            for one, other in zip(found, expected, strict=True):
                wanted = other.squeeze(0) if other.ndim > one.ndim else other
                assert one.shape == wanted.shape and one.dtype == wanted.dtype
                np.testing.assert_allclose(one.numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 2, 7])
def test_general_eigenvectors(dtype: str, size: int) -> None:
    a = drawn(dtype, 3, size, size)
    found, vectors = gb.linalg.eig(a)
    np.testing.assert_allclose((a.to(vectors.dtype) @ vectors).numpy(), (vectors * found[:, None]).numpy(), atol=1e-4)
    np.testing.assert_allclose(vectors.abs().square().sum(-2).numpy(), 1.0, rtol=1e-4)


def test_a_rotation_has_a_pair_of_eigenvalues() -> None:
    found, vectors = gb.linalg.eig(gb.tensor([[0.0, -1.0], [1.0, 0.0]]))
    assert found.tolist() == [1j, -1j]
    assert vectors[:, 1].equal(vectors[:, 0].conj()) and gb.allclose(vectors[1, 0] * 1j, vectors[0, 0], atol=1e-6)


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_kept_calls_decline_what_is_not_finite(bad: float) -> None:
    good, wrong = gb.tensor([[2.0, 1.0], [1.0, 2.0]]), gb.tensor([[bad, 1.0], [1.0, 2.0]])
    for _ in range(3):
        assert gb.linalg.eigvalsh(good).tolist() == pytest.approx([1.0, 3.0], rel=1e-6)
        assert gb.linalg.eigh(wrong)[0].isnan().all() and gb.linalg.eigvalsh(wrong).isnan().all()
        calls: list[Callable[[gb.Tensor], Any]] = [
            gb.linalg.svd, gb.linalg.svdvals, gb.linalg.eig, gb.linalg.eigvals, lambda x: gb.linalg.lstsq(x, good),
        ]  # fmt: skip
        for call in calls:
            call(good)
            with pytest.raises(RuntimeError):
                call(wrong)


def test_errors_of_routines() -> None:
    zeros = gb.zeros(2, 2, 2)
    zeros[0] = gb.eye(2)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"Batch element 1\): U\[1,1\] is zero"):
            gb.linalg.lu_factor(zeros)
        with pytest.raises(gb.linalg.LinAlgError, match="leading minor of order 1 is not positive-definite"):
            gb.linalg.cholesky(zeros)
        with pytest.raises(gb.linalg.LinAlgError, match="diagonal element 1 is zero"):
            gb.cholesky_inverse(zeros)
        with pytest.raises(RuntimeError, match="pivots must all be greater or equal to 1"):
            gb.linalg.lu_solve(gb.eye(2), gb.tensor([1, 3], dtype=gb.int32), gb.eye(2))
    assert gb.linalg.lu_factor_ex(zeros)[2].tolist() == [0, 1]
    assert gb.linalg.cholesky_ex(zeros)[1].tolist() == [0, 1]


def test_a_singular_triangle_gives_infinity() -> None:
    triangle = gb.tensor([[1.0, 2.0], [0.0, 0.0]])
    assert gb.linalg.solve_triangular(triangle, gb.ones(2, 1), upper=True).tolist() == [[-INF], [INF]]
