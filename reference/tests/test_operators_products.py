"""Matrix products: values, shape rules, dtypes, errors, and operands that are not contiguous."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import pytest

A = gb.tensor([[1.0, 2.0], [3.0, 4.0]])
B = gb.tensor([[5.0, 6.0], [7.0, 8.0]])


def test_values() -> None:
    assert gb.mm(A, B).tolist() == [[19, 22], [43, 50]]
    assert (A.t() @ B[:, ::1]).tolist() == [[26, 30], [38, 44]]
    assert gb.mv(A, B[0]).tolist() == [17, 39]
    assert gb.dot(A[0], B[:, 0]).item() == 19
    assert gb.bmm(gb.stack([A, B]), gb.stack([B, A])).tolist() == [[[19, 22], [43, 50]], [[23, 34], [31, 46]]]
    assert gb.outer(gb.tensor([1, 2]), gb.tensor([3.0, 4.0])).tolist() == [[3, 4], [6, 8]]
    assert gb.inner(A, B).tolist() == [[17, 23], [39, 53]]
    assert gb.inner(gb.tensor(2.0), A[0]).tolist() == [2, 4]
    z = gb.tensor([1j, 2.0])
    assert (gb.dot(z, z).item(), gb.vdot(z, z).item()) == (3, 5)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((3,), (3,), ()),
        ((2, 3), (3,), (2,)),
        ((3,), (3, 4), (4,)),
        ((2, 3), (3, 4), (2, 4)),
        ((5, 2, 3), (3,), (5, 2)),
        ((3,), (5, 3, 4), (5, 4)),
        ((5, 1, 2, 3), (6, 3, 4), (5, 6, 2, 4)),
        ((2, 0), (0, 3), (2, 3)),
        ((0, 2), (2, 3), (0, 3)),
    ],
)
def test_matmul_shapes(left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]) -> None:
    product = gb.matmul(gb.ones(left), gb.ones(right))
    assert tuple(product.shape) == result
    assert (product == left[-1]).all().item() if product.numel() else True


def test_strided_operands_agree_with_their_copies() -> None:
    x, y = gb.arange(24.0).view(4, 6), gb.arange(30.0).view(5, 6)
    for left, right in ((x, y.t()), (x[::2], y.t()), (x[:, ::2], y[:, 1::2].t()), (x[:1].expand(4, 6), y.t())):
        assert gb.mm(left, right).tolist() == gb.mm(left.contiguous(), right.contiguous()).tolist()


def test_leading_dims_fold_into_rows() -> None:
    x, w = gb.arange(12.0).view(2, 3, 2), gb.tensor([[1.0, 2.0, 0.0], [3.0, 4.0, 1.0]])
    assert (x[:, :2] @ w).tolist() == [[[3, 4, 1], [11, 16, 3]], [[27, 40, 7], [35, 52, 9]]]
    columns = gb.arange(24.0).view(4, 6).t().unflatten(0, (2, 3))
    views = (x, x[:, :2], x[::2], x[:1, :1], x.transpose(0, 1), columns, columns[:, 1:], x[:, :1].expand(2, 3, 2),
             x[0].expand(2, 3, 2), gb.arange(48.0).view(2, 2, 3, 4)[..., ::2], gb.empty(0, 3, 2))  # fmt: skip
    for left in views:
        right = gb.arange(left.shape[-1] * 5.0).view(5, -1).t()
        for matrix in (right, right.contiguous(), right[:, ::2]):
            expected = (left.unsqueeze(-1) * matrix).sum(-2)
            assert gb.matmul(left, matrix).tolist() == expected.tolist()
            assert gb.matmul(left.double(), matrix.double()).tolist() == expected.tolist()


def test_integers_wrap_and_halves_round_once() -> None:
    x = gb.full((1, 4), 100, dtype=gb.int8)
    assert gb.mm(x, x.t()).tolist() == [[64]]
    for dtype in (gb.float16, gb.bfloat16):
        ones = gb.ones(1, 3000, dtype=dtype)
        assert gb.mm(ones, ones.t()).item() == gb.tensor(3000.0).to(dtype).item()


def test_scaled_products() -> None:
    nan = gb.tensor([float("nan"), 1.0])
    assert gb.addmm(gb.tensor(1.0), A, B, beta=2, alpha=3).tolist() == [[59, 68], [131, 152]]
    assert gb.addmm(nan, A, B, beta=0).tolist() == [[19, 22], [43, 50]]
    assert gb.addmv(gb.tensor([1.0, 2.0]), A, B[0]).tolist() == [18, 41]
    assert gb.baddbmm(gb.tensor(1.0), A.unsqueeze(0), B.unsqueeze(0)).tolist() == [[[20, 23], [44, 51]]]
    i = gb.tensor([[2]])
    assert gb.addmm(i, i, i, beta=3, alpha=1.5).tolist() == [[10]]
    x = gb.zeros(2, 2)
    assert x.addmm_(A, B) is x and x.tolist() == [[19, 22], [43, 50]]
    with pytest.raises(RuntimeError, match="shape"):
        gb.zeros(2).addmm_(A, B)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.mm(gb.ones(2, 3), gb.ones(2, 3)), RuntimeError, "\\(2x3 and 2x3\\)"),
        (lambda: gb.mm(A, A[0]), RuntimeError, "mat2 must be a matrix"),
        (lambda: gb.mm(A, B.to(gb.float64)), RuntimeError, "same dtype"),
        (lambda: gb.mm(A > 0, A > 0), NotImplementedError, "Bool"),
        (lambda: gb.bmm(gb.ones(2, 2, 2), gb.ones(3, 2, 2)), RuntimeError, "\\[2, 2\\] but got: \\[3, 2\\]"),
        (lambda: gb.matmul(A, gb.tensor(1.0)), RuntimeError, "at least 1D, but they are 2D and 0D"),
        (lambda: gb.matmul(gb.ones(2, 1, 3), gb.ones(3, 3, 1)), RuntimeError, "must match"),
        (lambda: gb.dot(A[0], gb.ones(3)), RuntimeError, "inconsistent tensor size"),
        (lambda: gb.mv(A, gb.ones(3)), RuntimeError, "size mismatch"),
        (lambda: gb.outer(A, A[0]), RuntimeError, "1-D"),
        (lambda: gb.addmm(gb.tensor(1), A, B), RuntimeError, "same dtype"),
        (lambda: A @ 2, TypeError, "@"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_out() -> None:
    out = gb.zeros(2, 2).t()
    assert gb.mm(A, B, out=out) is out
    assert out.tolist() == [[19, 22], [43, 50]] and out.stride() == (1, 2)
    x = A.clone()
    assert gb.mm(x, x, out=x).tolist() == [[7, 10], [15, 22]]
    with pytest.raises(RuntimeError, match="dtype"):
        gb.mm(A, B, out=gb.empty(2, 2, dtype=gb.float64))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("sizes", [(1, 1, 2), (2, 1, 1), (1, 3, 1), (3, 2, 5)])
def test_nan_reaches_the_result_through_zeros(sizes: tuple[int, int, int], dtype: str) -> None:
    n, k, m = sizes
    zeros, nans = gb.zeros(n, k, dtype=getattr(gb, dtype)), gb.full((k, m), float("nan"), dtype=getattr(gb, dtype))
    results = (zeros @ nans, gb.inner(zeros, nans.t()), gb.inner(nans.t(), zeros), gb.mv(zeros, nans[:, 0]))
    for result in results:
        assert result.isnan().all().item()


@pytest.mark.parametrize("strides", [(0, 0), (0, 1), (1, 1), (8, 1)])
@pytest.mark.parametrize("dtype", [gb.float32, gb.complex128])
def test_repeated_products_have_the_same_bits(dtype: gb.dtype, strides: tuple[int, int]) -> None:
    values = gb.sin(gb.arange(64.0, dtype=gb.float64)).to(dtype)
    values = values * (1 + 0.3j) if dtype.is_complex else values
    matrix, vector = values.as_strided((4, 7), strides), values[7:14]
    for call in (
        lambda: gb.mv(matrix, vector),
        lambda: gb.addmv(vector[:4], matrix, vector),
        lambda: gb.addmm(values[:12].reshape(4, 3), matrix, values[:21].reshape(7, 3)),
    ):
        first = call().tolist()
        assert [call().tolist() for _ in range(3)] == [first] * 3


def test_zero_times_nan_is_added() -> None:
    matrix, vector = gb.tensor([[0, 1j]]), gb.tensor([complex(math.nan, 0), 1])
    for _ in range(3):
        assert math.isnan(gb.addmv(gb.zeros(1, dtype=gb.complex64), matrix, vector).item().real)
