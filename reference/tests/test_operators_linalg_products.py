"""Contractions, norms, powers and arrangements of matrices, and trapezoidal integrals, by hand."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import pytest

A = gb.tensor([[1.0, 2.0], [3.0, 4.0]])
B = gb.tensor([[5.0, 6.0], [7.0, 8.0]])


@pytest.mark.parametrize(
    ("equation", "operands", "result"),
    [
        ("ij,jk->ik", (A, B), [[19, 22], [43, 50]]),
        ("ij,jk", (A, B), [[19, 22], [43, 50]]),
        ("ij->ji", (A,), [[1, 3], [2, 4]]),
        ("ba", (A,), [[1, 3], [2, 4]]),
        ("ii", (A,), 5),
        ("ii->i", (A,), [1, 4]),
        ("ij->", (A,), 10),
        (" i j , j -> i ", (A, B[0]), [17, 39]),
        ("i,j->ij", (A[0], B[0]), [[5, 6], [10, 12]]),
        ("ij,ij->", (A, B), 70),
        ("...j,kj->...k", (A, B), [[17, 23], [39, 53]]),
        ("i...->...", (A,), [4, 6]),
        ("ij,jk,kl->il", (A, B, A), [[85, 126], [193, 286]]),
        ("i,i", (A[0, :1], B[0]), 11),
        ("Za,aZ->Z", (A, B), [19, 50]),
    ],
)
def test_einsum(equation: str, operands: tuple[Any, ...], result: Any) -> None:
    assert gb.einsum(equation, *operands).tolist() == result
    assert gb.einsum(equation, list(operands)).tolist() == result


def test_einsum_with_lists_of_ints_and_of_views() -> None:
    assert gb.einsum(A, [0, 1], B, [1, 2], [0, 2]).tolist() == [[19, 22], [43, 50]]
    assert gb.einsum(A, [..., 0]).tolist() == A.tolist()
    assert gb.einsum("ij->ji", A).data_ptr() == A.data_ptr()
    assert gb.einsum("bij,bjk->bik", A.expand(3, 2, 2), B.t().unsqueeze(0)).shape == (3, 2, 2)


@pytest.mark.parametrize(
    ("equation", "operands", "message"),
    [
        ("i", (A,), "does not match the number of dimensions"),
        ("i,j", (A[0],), "fewer operands"),
        ("i", (A[0], A[0]), "more operands"),
        ("1", (A[0],), "must be in"),
        ("i->j", (A[0],), "does not appear"),
        ("i->ii", (A[0],), "more than once"),
        ("......", (A,), "ellipsis was already found"),
        ("ii", (A[:, :1].expand(2, 3),), "sizes don't match"),
        ("i,i", (A[0], gb.ones(3)), "do not broadcast"),
    ],
)
def test_einsum_refuses(equation: str, operands: tuple[Any, ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        gb.einsum(equation, *operands)


def test_tensordot() -> None:
    x, y = gb.arange(24.0).view(2, 3, 4), gb.arange(12.0).view(3, 4)
    assert gb.tensordot(x, y).tolist() == [506, 1298]
    assert gb.tensordot(x, y, ([2, 1], [1, 0])).tolist() == [506, 1298]
    assert gb.tensordot(x, y, 0).shape == (2, 3, 4, 3, 4)
    assert gb.tensordot(A, B[:1], ([0], [0])).tolist() == [[20, 24], [30, 36]]
    with pytest.raises(RuntimeError, match="need to match"):
        gb.tensordot(x, y, 1)


def test_sums_of_products() -> None:
    assert gb.addr(gb.ones(2, 2), A[0], B[0], beta=2, alpha=3).tolist() == [[17, 20], [32, 38]]
    assert gb.addr(gb.full((2, 2), math.nan), A[0], B[0], beta=0).tolist() == [[5, 6], [10, 12]]
    assert gb.addbmm(A, gb.stack([A, B]), gb.stack([B, A])).tolist() == [[43, 58], [77, 100]]
    assert gb.trace(A).item() == 5
    assert gb.trace(gb.ones(3, 2, dtype=gb.uint8)).dtype is gb.int64
    assert gb.linalg.vecdot(gb.tensor([1j, 2]), gb.tensor([1j, 3])).item() == 7
    assert gb.linalg.multi_dot([A[0], B, A, A[1]]).item() == 759
    assert gb.chain_matmul(A, B, A).tolist() == (A @ B @ A).tolist()
    x, y = gb.tensor([[1, 0, 0], [0, 1, 0]]), gb.tensor([[0, 1, 0], [0, 0, 1]])
    assert gb.linalg.cross(x, y).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert gb.cross(x.t(), y.t(), dim=0).t().tolist() == [[0, 0, 1], [1, 0, 0]]


def test_functions_of_matrices() -> None:
    assert gb.matrix_power(A, 3).tolist() == [[37, 54], [81, 118]]
    assert gb.linalg.matrix_power(A, -1).flatten().tolist() == pytest.approx([-2, 1, 1.5, -0.5], rel=1e-5)
    assert gb.linalg.matrix_power(A.long(), 0).tolist() == [[1, 0], [0, 1]]
    turn = gb.tensor([[0.0, -math.pi], [math.pi, 0.0]], dtype=gb.float64)
    assert gb.matrix_exp(turn).flatten().tolist() == pytest.approx([-1, 0, 0, -1], abs=1e-14)
    large = gb.matrix_exp(gb.diag(gb.tensor([30.0, -30.0], dtype=gb.float64)))
    assert large.diagonal().tolist() == pytest.approx([math.exp(30), math.exp(-30)], rel=1e-13)
    assert gb.matrix_exp(A * math.nan).isnan().all().item()


def test_norms_of_matrices() -> None:
    for order, value in ((1, 6), (-1, 4), (math.inf, 7), (-math.inf, 3), ("fro", math.sqrt(30)), ("nuc", 5.8309519)):
        assert gb.linalg.matrix_norm(A, order).item() == pytest.approx(value)
        assert gb.linalg.norm(A, order, keepdim=True).flatten().tolist() == pytest.approx([value])
    assert gb.linalg.norm(gb.stack([A, B])).item() == pytest.approx(math.sqrt(204))
    assert gb.linalg.norm(A, 1, 0).tolist() == [4, 6]
    assert gb.linalg.cond(A).item() == pytest.approx(14.933034, rel=1e-5)
    assert gb.linalg.cond(gb.stack([A, A * 0]), 1).tolist() == pytest.approx([21, math.inf])
    assert gb.nuclear_norm(A).item() == pytest.approx(5.8309519)
    assert gb.dist(A, B, 1).item() == 16
    with pytest.raises(RuntimeError, match="without narrowing"):
        gb.linalg.matrix_norm(A.double(), dtype=gb.float32)


def test_equations_of_tensors() -> None:
    x = gb.eye(6, dtype=gb.float64).view(2, 3, 6) * 2
    assert gb.linalg.tensorsolve(x, gb.ones(2, 3, dtype=gb.float64)).tolist() == [0.5] * 6
    assert gb.linalg.tensorinv(x).shape == (6, 2, 3)


def test_arrangements() -> None:
    assert gb.block_diag(gb.tensor([1, 2]), gb.tensor(3)).tolist() == [[1, 2, 0], [0, 0, 3]]
    assert gb.block_diag().shape == (1, 0)
    assert gb.cartesian_prod(gb.tensor([1, 2]), gb.tensor([3, 4])).tolist() == [[1, 3], [1, 4], [2, 3], [2, 4]]
    assert gb.combinations(gb.tensor([1, 2, 3])).tolist() == [[1, 2], [1, 3], [2, 3]]
    assert gb.combinations(gb.tensor([1, 2]), 2, True).tolist() == [[1, 1], [1, 2], [2, 2]]
    assert gb.linalg.vander(gb.tensor([2, 3])).tolist() == [[1, 2], [1, 3]]
    assert gb.vander(gb.tensor([2.0, 3.0]), 3).tolist() == [[4, 2, 1], [9, 3, 1]]


def test_integrals() -> None:
    y = gb.tensor([[1, 2, 4], [0, 2, 2]])
    assert gb.trapezoid(y).tolist() == [4.5, 3]
    assert gb.trapezoid(y, dx=2).tolist() == [9, 6]
    assert gb.trapz(y, gb.tensor([0.0, 1.0, 3.0])).tolist() == [7.5, 5]
    assert gb.trapezoid(y, dim=0).tolist() == [0.5, 2, 3]
    assert gb.cumulative_trapezoid(y).tolist() == [[1.5, 4.5], [1, 3]]
    assert gb.trapezoid(gb.ones(2, 0)).tolist() == gb.trapezoid(gb.ones(2, 1)).tolist() == [0, 0]
    assert gb.trapezoid(gb.tensor([[1.0, 2.0]]), dx=4).tolist() == [6]
    assert gb.trapezoid(gb.tensor([math.inf, 1.0, 2.0])).item() == math.inf
    assert gb.trapezoid(gb.tensor([255, 1, 255], dtype=gb.uint8)).item() == 0
    with pytest.raises(RuntimeError, match="one `x` value"):
        gb.trapezoid(y, gb.ones(2))


def test_in_place_methods_are_functions_too() -> None:
    x = gb.tensor([1.0, -4.0])
    assert gb.abs_(x) is x and gb.sqrt_(x).tolist() == [1, 2]
    assert gb.clamp_(x, 0, 1.5).tolist() == [1, 1.5]
    assert "abs_" in dir(gb) and "einsum" in dir(gb)


@pytest.mark.parametrize("recorded", [False, True])
def test_kept_calls_tell_tensors_of_a_list_apart(recorded: bool) -> None:
    """A call that was kept for a list with one tensor twice serves lists of two."""
    a, b = gb.tensor([[1.0, 2.0], [3.0, 4.0]]), gb.tensor([[0.0, 1.0], [1.0, 1.0]])
    for one in (a, b):
        one.requires_grad_(recorded)
    for _ in range(4):
        for call in (lambda *given: gb.einsum("ij,jk->ik", *given), lambda *given: gb.linalg.multi_dot([*given])):
            assert call(a, a).tolist() == [[7, 10], [15, 22]]
            found = call(a, b)
            assert found.tolist() == [[2, 3], [4, 7]] and found.requires_grad is recorded
            with gb.no_grad():
                assert not call(a, b).requires_grad and call(b, b).tolist() == [[1, 1], [1, 2]]
        if recorded:
            gb.einsum("ij,jk->ik", a, b).sum().backward()
            assert a.grad is not None and a.grad.tolist() == [[1, 2], [1, 2]]
            a.grad = b.grad = None


@pytest.mark.parametrize("dtype", [gb.float16, gb.float32, gb.float64, gb.complex64, gb.complex128])
def test_exponentials_add_up(dtype: gb.dtype) -> None:
    """exp(A) is exp(A / 8) to the eighth power, and exp(-A) its inverse, for matrices of sizes that need halving."""
    real, tolerance = not dtype.is_complex, {16: 1e-2, 32: 1e-5}.get(gb.finfo(dtype).bits, 1e-12)
    base = (gb.arange(48.0, dtype=gb.float64).reshape(3, 4, 4) * 1.7).sin() * gb.tensor([0.01, 1.0, 2.0])[:, None, None]
    A = (base if real else base * (1 + 2j)).to(dtype)
    exact = gb.linalg.matrix_power(gb.linalg.matrix_exp(A.to(gb.complex128) / 8), 8)
    found = gb.linalg.matrix_exp(A)
    assert found.dtype == dtype
    scale = exact.abs().amax((-2, -1), keepdim=True)
    assert ((found.to(gb.complex128) - exact).abs() / scale).max().item() < tolerance
    both = gb.linalg.matrix_exp(A.to(gb.complex128)) @ gb.linalg.matrix_exp(-A.to(gb.complex128))
    assert gb.allclose(both, gb.eye(4, dtype=gb.complex128).expand(3, 4, 4), atol=1e-9)


def test_the_exponential_of_a_shear() -> None:
    for dtype in (gb.float32, gb.float64):
        A = gb.tensor([[[0.0, 1e6], [0.0, 0.0]], [[math.nan, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]], dtype=dtype)
        found = gb.linalg.matrix_exp(A)
        assert found[0].flatten().tolist() == pytest.approx([1, 1e6, 0, 1])
        assert found[1].isnan().all().item() and found[2].tolist() == [[1, 0], [0, 1]]
    assert gb.linalg.matrix_exp(gb.zeros(0, 3, 3)).shape == (0, 3, 3)
    assert gb.linalg.matrix_exp(gb.zeros(2, 0, 0)).shape == (2, 0, 0)
