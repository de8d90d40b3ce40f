"""One function on every path: lengths around vector widths, offsets, strides, broadcasting, and what lies around."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.agreement import expect_pointwise
from ..requirement import requirement
from ..session import Session

EXACT_UNARY = ("neg", "abs", "sqrt", "clone", "floor", "isnan")
EXACT = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "gt.Tensor", "eq.Tensor", "le.Tensor")
BITS = ("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "add.Tensor", "mul.Tensor", "lt.Tensor")
FUNCTIONS = ("exp", "log", "sin", "tanh", "sigmoid", "log1p", "atan2", "erf")
# Lengths up to five vectors of the widest kind, and long ones around the parallel grain.
LENGTHS = (*range(1, 82), 127, 128, 129, 255, 257, 1023, 1025)


def _hard(dtype: str, count: int, seed: int) -> Array:
    return TensorCase(dtype, (count,), (1,), kind="hard", seed=seed).array


def _judge_exact(s: Session, operator: str, cases: list[TensorCase]) -> None:
    """The operator on all elements at once and on each element alone."""
    whole = s.call(operator, *[s.build(case) for case in cases])
    arrays = [case.array for case in cases]
    single = [s.read(s.call(operator, *[s.tensor(a[k : k + 1]) for a in arrays]))[0] for k in range(len(arrays[0]))]
    s.expect_values(whole, np.array(single, dtype=s.read(whole).dtype))


@requirement("kernels/every-path-gives-the-same-bits", needs=("as_strided",))
@forall(
    operator=hs.sampled_from((*EXACT, *EXACT_UNARY)),
    dtype=hs.sampled_from(("float32", "float64", "float32")),
    count=hs.sampled_from(LENGTHS[:81]),
    strides=hs.tuples(hs.integers(1, 3), hs.integers(1, 2)),
    offset=hs.integers(0, 17),
    seed=hs.integers(0, 2**16),
    weight=0.6,
)
def test_floats_of_any_length(
    s: Session, operator: str, dtype: str, count: int, strides: tuple[int, int], offset: int, seed: int
) -> None:
    operands = 1 if operator in EXACT_UNARY else 2
    _judge_exact(s, operator, [
        TensorCase(dtype, (count,), (strides[k],), offset=offset, kind="hard", seed=seed + k) for k in range(operands)
    ])  # fmt: skip


@requirement("kernels/every-path-gives-the-same-bits", needs=("as_strided", "bitwise"))
@forall(
    operator=hs.sampled_from(BITS),
    dtype=hs.sampled_from(("int8", "uint8", "int16", "int32", "int64")),
    count=hs.sampled_from(LENGTHS[:81]),
    offset=hs.integers(0, 17),
    seed=hs.integers(0, 2**16),
    weight=0.4,
)
def test_integers_of_any_length(
    s: Session, operator: str, dtype: str, count: int, offset: int, seed: int
) -> None:
    cases = [TensorCase(dtype, (count,), (1,), offset=offset, kind="hard", seed=seed + k) for k in range(2)]
    _judge_exact(s, operator, cases)


@requirement("kernels/every-path-gives-the-same-bits", "kernels/every-path-is-within-the-bound")
def test_every_length_and_every_place(s: Session) -> None:
    """The first elements of a long result are the result of the first elements, whatever the length."""
    data = _hard("float32", LENGTHS[-1], 5)
    whole = s.read(s.call("mul.Tensor", s.tensor(data), s.tensor(data[::-1].copy())))

    def row(s: Session, count: int) -> None:
        y = s.call("mul.Tensor", s.tensor(data[:count]), s.tensor(data[::-1][:count].copy()))
        s.expect_values(y, whole[:count])
        expect_pointwise(s, s.call("exp", s.tensor(data[:count])), "exp", [data[:count]], "float32")

    s.table(LENGTHS, row)


@requirement("kernels/every-path-gives-the-same-bits", needs=("views",))
def test_every_start(s: Session) -> None:
    """Elements from any place of a storage give what their copy at its start gives."""
    data = _hard("float32", 64, 9)

    def row(s: Session, operator: str, start: int) -> None:
        base = s.tensor(data)
        x = s.call("slice.Tensor", base, 0, start, start + 37)
        copy = s.tensor(data[start : start + 37])
        operands = 1 if operator in EXACT_UNARY else 2
        plain = s.call(operator, *[copy] * operands)
        s.expect_agreement(s.call(operator, *[x] * operands), plain)

    s.table([(operator, start) for operator in (*EXACT, *EXACT_UNARY) for start in range(9)], row)


@requirement("kernels/every-path-gives-the-same-bits", needs=("views",))
@forall(operator=hs.sampled_from(EXACT), rows=hs.integers(1, 5), columns=hs.integers(1, 40), column=hs.booleans(),
        transposed=hs.booleans(), seed=hs.integers(0, 2**16))  # fmt: skip
def test_broadcast_and_transposed(
    s: Session, operator: str, rows: int, columns: int, column: bool, transposed: bool, seed: int
) -> None:
    """An operand that is broadcast or transposed gives what its contiguous copy gives."""
    a = _hard("float32", rows * columns, seed).reshape(rows, columns)
    b = _hard("float32", rows if column else columns, seed + 1).reshape((rows, 1) if column else (1, columns))
    x = s.call("t", s.tensor(a.T.copy())) if transposed else s.tensor(a)
    full = np.ascontiguousarray(np.broadcast_to(b, a.shape))
    plain = s.call(operator, s.tensor(a), s.tensor(full))
    s.expect_agreement(s.call(operator, x, s.call("expand", s.tensor(b), a.shape)), plain)
    s.expect_agreement(s.call(operator, x, s.tensor(b)), plain)


@requirement("kernels/every-path-is-within-the-bound", needs=("as_strided",))
@forall(
    operator=hs.sampled_from(FUNCTIONS),
    dtype=hs.sampled_from(("float32", "float64")),
    count=hs.sampled_from(LENGTHS),
    step=hs.integers(1, 3),
    offset=hs.integers(0, 17),
    seed=hs.integers(0, 2**16),
)
def test_functions_of_any_length(
    s: Session, operator: str, dtype: str, count: int, step: int, offset: int, seed: int
) -> None:
    cases = [
        TensorCase(dtype, (count,), (step,), offset=offset, kind="finite", seed=seed + k)
        for k in range(2 if operator == "atan2" else 1)
    ]
    y = s.call(operator, *[s.build(case) for case in cases])
    expect_pointwise(s, y, operator, [case.array for case in cases], dtype)


GUARDED: list[tuple[str, tuple[Any, ...]]] = [
    ("add_.Scalar", (1,)), ("mul_.Scalar", (3,)), ("neg_", ()), ("fill_.Scalar", (7,)), ("zero_", ()), ("abs_", ()),
    ("add_.Tensor", (None,)), ("copy_", (None,)), ("sub_.Tensor", (None,)),
]  # fmt: skip


@requirement("kernels/nothing-outside-the-range-is-touched")
@forall(
    row=hs.integers(0, len(GUARDED) - 1),
    dtype=hs.sampled_from(("float32", "float64", "int8", "int16", "int32", "int64")),
    count=hs.sampled_from((0, *LENGTHS)),
    before=hs.integers(0, 33),
    step=hs.sampled_from((1, 1, 1, 2)),
)
def test_guards_around_the_output(
    s: Session, row: int, dtype: str, count: int, before: int, step: int
) -> None:
    """Poison before and behind the elements: the session compares every byte of the storage after the call."""
    operator, arguments = GUARDED[row]
    storage = before + count * step + 40
    x = s.build(TensorCase(dtype, (count,), (step,), offset=before, storage=storage, kind="small"))
    other = s.tensor(np.arange(count).astype(numpy_dtype(dtype)))
    want = s.read(x).copy()
    number = {"add_.Scalar": 1, "mul_.Scalar": 3, "fill_.Scalar": 7}.get(operator)
    s.call(operator, x, *[other if a is None else a for a in arguments])
    values = np.arange(count).astype(want.dtype)
    models: dict[str, Any] = {
        "add_.Scalar": lambda: want + want.dtype.type(1), "mul_.Scalar": lambda: want * want.dtype.type(3),
        "neg_": lambda: -want, "fill_.Scalar": lambda: np.full_like(want, number), "zero_": lambda: want * 0,
        "abs_": lambda: np.abs(want), "add_.Tensor": lambda: want + values, "copy_": lambda: values,
        "sub_.Tensor": lambda: want - values,
    }  # fmt: skip
    s.expect_values(x, models[operator](), signed_zero=False)


@requirement("kernels/nothing-outside-the-range-is-touched", needs=("out",))
@forall(count=hs.sampled_from((0, *LENGTHS)), before=hs.integers(0, 33), operator=hs.sampled_from(EXACT[:4]))
def test_guards_around_an_out(s: Session, count: int, before: int, operator: str) -> None:
    out = s.build(TensorCase("float32", (count,), (1,), offset=before, storage=before + count + 40, kind="small"))
    a, b = _hard("float32", count, 3), np.full(count, 2.0, np.float32)
    s.call(operator.split(".")[0] + ".out", s.tensor(a), s.tensor(b), out=out)
    functions: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
    with np.errstate(all="ignore"):
        s.expect_values(out, functions[operator.split(".")[0]](a, b))


TINY = {"float32": 2.0**-149, "float64": 2.0**-1074, "float16": 2.0**-24, "bfloat16": 2.0**-133}


@requirement("kernels/subnormals-are-kept")
@forall(dtype=hs.sampled_from(("float32", "float64")), count=hs.sampled_from(LENGTHS), seed=hs.integers(0, 2**16))
def test_subnormals(s: Session, dtype: str, count: int, seed: int) -> None:
    draws = np.random.default_rng(seed).integers(-(2**20), 2**20, count)
    data = (draws * TINY[dtype]).astype(numpy_dtype(dtype))
    x = s.tensor(data)
    s.expect_values(s.call("mul.Scalar", x, 1), data)
    s.expect_values(s.call("add.Scalar", x, 0), data + 0.0)
    s.expect_values(s.call("add.Tensor", x, x), data + data)
    s.expect_values(s.call("div.Scalar", x, 2), data / numpy_dtype(dtype).type(2))
    s.expect_values(s.call("neg", x), -data)


@requirement("kernels/subnormals-are-kept", needs=("half",))
def test_half_subnormals(s: Session) -> None:
    def row(s: Session, dtype: str) -> None:
        data = (np.arange(1, 40) * TINY[dtype]).astype(numpy_dtype(dtype))
        x = s.tensor(data)
        s.expect_values(s.call("mul.Scalar", x, 1), data)
        s.expect_values(s.call("add.Tensor", x, x), data + data)

    s.table(("float16", "bfloat16"), row)
