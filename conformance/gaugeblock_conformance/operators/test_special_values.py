"""Literal calls where formulas differ: at NaN, infinities, zeros with a sign, bounds, ties, and large numbers."""

from __future__ import annotations

from math import inf, log, nan
from typing import Any

import numpy as np

from ..backend import DType
from ..requirement import requirement
from ..session import Handle, Session

_T = tuple[Any, ...]

# Functions of one tensor, further arguments, elements, and what they give.
ONE: list[tuple[str, _T, list[float], list[float]]] = [
    ("hardtanh", (), [nan, -inf, inf, -0.5], [nan, -1.0, 1.0, -0.5]),
    ("relu6", (), [nan, -1.0, inf, 2.0], [nan, 0.0, 6.0, 2.0]),
    ("hardsigmoid", (), [nan, -3.0, 3.0, 0.0], [nan, 0.0, 1.0, 0.5]),
    ("hardswish", (), [-3.0, 3.0, 0.0], [0.0, 3.0, 0.0]),
    ("softshrink", (), [nan, -0.5, 0.5, 1.5, -1.5], [nan, 0.0, 0.0, 1.0, -1.0]),
    ("hardshrink", (), [nan, -0.5, 0.5, 0.75, -0.75], [nan, 0.0, 0.0, 0.75, -0.75]),
    ("threshold", (1.0, 7.0), [1.0, 2.0, -inf], [7.0, 2.0, 7.0]),
    ("leaky_relu", (0.5,), [nan, -inf, -2.0, 3.0], [nan, -inf, -1.0, 3.0]),
    ("elu", (), [nan, -inf, 2.0], [nan, -1.0, 2.0]),
    ("softplus", (), [nan, 100.0, -200.0, inf], [nan, 100.0, 0.0, inf]),
    ("log_sigmoid", (), [nan, -100.0, 200.0, -inf], [nan, -100.0, 0.0, -inf]),
    ("silu", (), [nan, 200.0], [nan, 200.0]),
    ("gelu", (), [nan, 200.0, -200.0], [nan, 200.0, 0.0]),
    ("mish", (), [nan, 200.0], [nan, 200.0]),
    ("relu", (), [nan, inf, -inf], [nan, inf, 0.0]),
    ("glu", (0,), [1.0, 2.0, 200.0, -200.0], [1.0, 0.0]),
    ("round", (), [0.49999997, -0.49999997, 8388609.0, 1e30], [0.0, -0.0, 8388609.0, 1e30]),
    ("cummax", (0,), [1.0, nan, 2.0], [1.0, nan, nan]),
    ("cummin", (0,), [1.0, nan, 0.0], [1.0, nan, nan]),
    ("logcumsumexp", (0,), [-inf, 200.0, -200.0, inf], [-inf, 200.0, 200.0, inf]),
    ("softmax.int", (0,), [200.0, -inf, -inf], [1.0, 0.0, 0.0]),
    ("softmax.int", (0,), [-inf, -inf], [nan, nan]),
    ("log_softmax.int", (0,), [200.0, -200.0], [0.0, -400.0]),
    ("logsumexp", ([0],), [inf, 1.0], [inf]),
    ("logsumexp", ([0],), [-inf, -inf], [-inf]),
    ("logsumexp", ([0],), [200.0, -inf], [200.0]),
    ("logsumexp", ([0], True), [0.0] * 128, [7 * log(2)]),
    ("softmax.int", (0,), [0.0] * 128, [2.0**-7] * 128),
    ("nansum", (), [nan, inf, 1.0], [inf]),
    ("nansum", (), [nan, nan], [0.0]),
    ("nanmean", (), [nan, 3.0, 5.0], [4.0]),
    ("count_nonzero", (), [nan, -0.0, 0.0, 1e-40], [2.0]),
    ("linalg_vector_norm", (inf,), [-3.0, 2.0], [3.0]),
    ("linalg_vector_norm", (-inf,), [-3.0, 2.0], [2.0]),
    ("linalg_vector_norm", (0,), [nan, 0.0, -2.0], [2.0]),
    ("linalg_vector_norm", (1,), [-3.0, 2.0], [5.0]),
    ("median", (), [3.0, 1.0, 2.0, 4.0], [2.0]),
    ("median", (), [3.0, nan, 2.0], [nan]),
    ("nanmedian", (), [3.0, nan, 2.0, 7.0], [3.0]),
    ("topk", (2,), [1.0, nan, 3.0], [nan, 3.0]),
    ("kthvalue", (3,), [1.0, nan, 3.0], [nan]),
    ("kthvalue", (2,), [1.0, nan, 3.0], [3.0]),
    ("quantile.scalar", (0.5,), [nan, 1.0], [nan]),
    ("msort", (), [nan, 2.0, -inf], [-inf, 2.0, nan]),
    ("argmin", (), [2.0, nan, 1.0], [1.0]),
    ("mode", (), [2.0, 1.0, 2.0, 3.0, 1.0], [1.0]),
    ("_unique2", (), [nan, 1.0, nan, 1.0], [1.0, nan, nan]),
    ("unique_consecutive", (), [1.0, 1.0, nan, nan], [1.0, nan, nan]),
    ("frexp.Tensor", (), [0.0, 0.75, -4.0], [0.0, 0.75, -0.5]),
    ("signbit", (), [-0.0, 0.0, -inf], [1.0, 0.0, 1.0]),
    ("frac", (), [-1.75, 2.25], [-0.75, 0.25]),
    ("max_pool1d", ([2], [1], [1]), [-5.0, -3.0, nan], [-5.0, -3.0, nan, nan]),
    ("adaptive_avg_pool1d", ([3],), [1.0, 2.0, 3.0, 4.0], [1.5, 2.5, 3.5]),
]


@requirement("operators/every-operator-gives-what-its-row-says")
def test_special_values_of_one_tensor(s: Session) -> None:
    def body(s: Session, operator: str, arguments: _T, elements: list[float], want: list[float]) -> None:
        x = s.tensor(elements)
        x = s.call("unsqueeze", x, 0) if "pool" in operator else x
        result = s.call(operator, x, *arguments)
        y = result[0] if isinstance(result, list | tuple) else result
        dtype = str(s.observe("dtype", y))
        shape = tuple(s.observe("shape", y))
        s.expect_values(y, np.reshape(want, shape if np.prod(shape) == len(want) else (-1,)), ulp=2, dtype=dtype)

    s.table(ONE, body)


def _case(s: Session, value: Any) -> Any:
    """Lists as tensors; in a tuple after their dtype, or with further ones as they are."""
    if isinstance(value, tuple) and value and isinstance(value[0], DType):
        return s.tensor(value[1], str(value[0]))
    return s.tensor(value) if isinstance(value, list) else value


I64, C64, BOOL = DType("int64"), DType("complex64"), DType("bool")
_RANGE = [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]
_SQUARE = [[1.0, 2.0], [3.0, 4.0]]

# Operator, arguments, keywords, what it gives (or its first result), and the dtype of that.
CALLS: list[tuple[str, _T, dict[str, Any], Any, str]] = [
    ("addmm", ([10.0, 20.0], _SQUARE, [[1.0, 0.0], [0.0, 1.0]]), {}, [[11.0, 22.0], [13.0, 24.0]], "float32"),
    ("addr", (_SQUARE, [1.0, 2.0], [3.0, 4.0]), {"beta": 2, "alpha": 3}, [[11.0, 16.0], [24.0, 32.0]], "float32"),
    ("masked_fill.Scalar", (_SQUARE, (BOOL, [True, False]), 9.0), {}, [[9.0, 2.0], [9.0, 4.0]], "float32"),
    ("tensordot", (_SQUARE, _SQUARE, (0, 1), (1, 0)), {}, 29.0, "float32"),
    ("vdot", ((C64, [1j, 2.0]), (C64, [1.0, 1j])), {}, 1j, "complex64"),
    ("dot", ((C64, [1j, 2.0]), (C64, [1.0, 1j])), {}, 3j, "complex64"),
    ("sqrt", ((C64, [complex(-4.0, -0.0), complex(-4.0, 0.0)]),), {}, [-2j, 2j], "complex64"),
    ("isclose", ([1.0, 1.125], [1.125, 1.0], 0.12, 0.0), {}, [True, False], "bool"),
    ("bincount", ((I64, [1, 1, 3]), None, 6), {}, [0, 2, 0, 1, 0, 0], "int64"),
    ("searchsorted.Tensor", ([3.0, 1.0, 2.0], [2.5]), {"sorter": (I64, [1, 2, 0])}, [2], "int64"),
    ("bucketize.Tensor", ([1.0, 2.0], [1.0, 2.0, 3.0]), {"right": True}, [1, 2], "int64"),
    ("logspace", (0, 3, 4, 2.0), {}, [1.0, 2.0, 4.0, 8.0], "float32"),
    ("linspace", (5, 9, 1), {}, [5.0], "float32"),
    ("diff", ([1.0, 4.0, 9.0], 2), {}, [2.0], "float32"),
    ("diff", ([1.0, 4.0], 1, -1, [0.0], [10.0]), {}, [1.0, 3.0, 6.0], "float32"),
    ("scatter_reduce.two", ([3.0, 5.0], 0, (I64, [0, 0]), [6.0, 9.0], "mean"), {}, [6.0, 5.0], "float32"),
    ("scatter_reduce.two", ([3.0, 5.0], 0, (I64, [0, 0]), [6.0, 9.0], "amin"), {"include_self": False}, [6.0, 5.0],
     "float32"),
    ("constant_pad_nd", (_SQUARE, (1, 0, 0, 1), 7.0), {}, [[7.0, 1.0, 2.0], [7.0, 3.0, 4.0], [7.0] * 3], "float32"),
    ("roll", ([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], (1, 1), (0, 1)), {}, [[6.0, 4.0, 5.0], [3.0, 1.0, 2.0]], "float32"),
    ("roll", ([[1.0, 2.0, 3.0]], (1, 1), (1, 1)), {}, [[2.0, 3.0, 1.0]], "float32"),
    ("prelu", ([[[-1.0, -2.0], [-3.0, -4.0]]], [10.0, 100.0]), {}, [[[-10.0, -20.0], [-300.0, -400.0]]], "float32"),
    ("fft_fft", ([1.0, 2.0], 4), {}, [3.0, 1 - 2j, -1.0, 1 + 2j], "complex64"),
    ("fft_irfft", ((C64, [3.0, 1.0, -1.0]),), {}, [1.0, 1.0, 0.0, 1.0], "float32"),
    ("sum", ((BOOL, [True] * 300),), {}, 300, "int64"),
    ("sum", ((DType("uint8"), [200, 200]),), {}, 400, "int64"),
    ("sum", ([1.0] * 17,), {}, 17.0, "float32"),
    ("any", ([nan, 0.0],), {}, True, "bool"),
    ("all", ([nan, 1.0],), {}, True, "bool"),
    ("var", ([10000.0, 10001.0, 10002.0],), {}, 1.0, "float32"),
    ("logit", ([-1.0, 2.0, 0.5], 0.0), {}, [-inf, inf, 0.0], "float32"),
    ("matmul", ([1.0, 2.0], [[[1.0], [3.0]]]), {}, [[7.0]], "float32"),
    ("lu_unpack", ([[[4.0]]], (DType("int32"), [[1]])), {}, [[[1.0]]], "float32"),
    ("rms_norm", ([2.0**-12, 2.0**-12], (2,)), {}, [3**-0.5] * 2, "float32"),
    ("cross_entropy_loss", ([[1.0, 2.0]], (I64, [-100])), {}, nan, "float32"),
    ("cumsum", ((DType("int8"), [100, 100]), 0), {}, [100, 200], "int64"),
    ("prod", ((DType("int8"), [100, 100]),), {}, 10000, "int64"),
    ("sort.stable", ((I64, [2**53 + 1, 2**53]),), {"stable": True}, [2**53, 2**53 + 1], "int64"),
    ("amax", ([[1.0, 9.0], [3.0, 4.0]], (0, 1)), {}, 9.0, "float32"),
    ("binary_cross_entropy", ([0.0, 1.0], [1.0, 1.0]), {"reduction": 0}, [100.0, 0.0], "float32"),
    ("binary_cross_entropy_with_logits", ([100.0, -100.0], [0.0, 1.0]), {"reduction": 0}, [100.0, 100.0], "float32"),
    ("kl_div", ([-1.0, -2.0], [0.0, 1.0], 0), {}, [0.0, 2.0], "float32"),
    ("layer_norm", ([0.0, 0.0078125], (2,)), {"eps": 1.0}, [-0.0039062201980186685, 0.0039062201980186685], "float32"),
    ("conv1d", ([_RANGE], [[[1.0, 10.0], [100.0, 1000.0]]], None, (1,), (0,), (2,)), {}, [[[6420.0, 7531.0]]],
     "float32"),
    ("conv1d", ([_RANGE], [[[1.0]], [[10.0]], [[1.0]], [[10.0]]], None, (4,), (0,), (1,), 2), {},
     [[[0.0], [0.0], [4.0], [40.0]]], "float32"),
    ("conv2d", ([[_RANGE]], [[[[1.0]]]], None, (1, 2), (0, 1)), {}, [[[[0.0, 1.0, 3.0], [0.0, 5.0, 7.0]]]], "float32"),
    ("native_batch_norm", ([[0.0], [2.0]], None, None, None, None, True, 0.0, 0.0), {}, [[-1.0], [1.0]], "float32"),
    ("one_hot", ((I64, [1, 0]), 3), {}, [[0, 1, 0], [1, 0, 0]], "int64"),
    ("bernoulli", ([0.0, 1.0],), {}, [0.0, 1.0], "float32"),
    ("unflatten.int", (_RANGE, 1, (2, -1)), {}, np.reshape(_RANGE, (2, 2, 2)).tolist(), "float32"),
]  # fmt: skip


@requirement("operators/every-operator-gives-what-its-row-says")
def test_special_calls(s: Session) -> None:
    def body(s: Session, operator: str, arguments: _T, keywords: dict[str, Any], want: Any, dtype: str) -> None:
        given = [_case(s, a) for a in arguments]
        result = s.call(operator, *given, **{name: _case(s, value) for name, value in keywords.items()})
        y: Handle = result[0] if isinstance(result, list | tuple) else result
        s.expect_values(y, want, ulp=4 if dtype in ("float32", "complex64") else 0, dtype=dtype, signed_zero=False)

    s.table(CALLS, body)


@requirement("operators/every-operator-gives-what-its-row-says")
def test_letters_of_einsum(s: Session) -> None:
    """Without an arrow, the dims of the result stand in the order of the alphabet."""
    x = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.expect_values(s.call("einsum", "ba", [x]), [[1.0, 3.0], [2.0, 4.0]])
    s.expect_values(s.call("einsum", "ii", [x]), 5.0)
    s.expect_values(s.call("einsum", "bi,ai", [x, x]), [[5.0, 11.0], [11.0, 25.0]])
    turned = s.call("t", x)
    s.expect_values(s.call("einsum", "ij,jk", [turned, x]), [[10.0, 14.0], [14.0, 20.0]])
    s.expect_values(s.call("tensordot", turned, x, [1], [0]), [[10.0, 14.0], [14.0, 20.0]])


@requirement("operators/every-operator-gives-what-its-row-says")
def test_loss_of_nothing(s: Session) -> None:
    """The mean over no element is NaN, and the sum is zero."""
    x, target = s.tensor([[1.0, 2.0]]), s.tensor([-100], "int64")
    s.expect_values(s.call("cross_entropy_loss", x, target), nan)
    s.expect_values(s.call("cross_entropy_loss", x, target, None, 2), 0.0)


@requirement("operators/draws-stay-in-their-range")
def test_draws_without_replacement(s: Session) -> None:
    s.call("manual_seed", 1)
    drawn = s.call("multinomial", s.tensor(np.ones(20, np.float32)), 20)
    text = f"sorted({s.dialect.whole(drawn.name)})"
    s.expect(sorted(s.read(drawn).tolist()), list(range(20)), "numbers drawn without replacement", text, [drawn])
