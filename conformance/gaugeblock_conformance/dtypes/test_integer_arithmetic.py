"""Integers are numbers modulo a power of two: sums, products, negation, powers."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase
from ..forall import forall
from ..oracles.integers import INTEGER, wrap
from ..oracles.reductions import integer_product
from ..requirement import requirement
from ..session import Session
from ..strategies import INTEGRAL

_LOW = {"int8": -(2**7), "int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}


@requirement("dtypes/integer-arithmetic-wraps")
def test_golden(s: Session) -> None:
    def body(s: Session, dtype: str, low: int) -> None:
        high = -low - 1
        x = s.tensor([low, high], dtype)
        s.expect_values(s.call("neg", x), [low, -high], dtype=dtype)
        s.expect_values(s.call("__neg__", x), [low, -high], dtype=dtype)
        s.expect_values(s.call("abs", x), [low, high], dtype=dtype)
        s.expect_values(s.call("add.Scalar", x, 1), [low + 1, low], dtype=dtype)
        s.expect_values(s.call("sub.Tensor", x, s.tensor([1, -1], dtype)), [high, low], dtype=dtype)
        s.expect_values(s.call("mul.Scalar", x, 2), [0, -2], dtype=dtype)
        s.expect_values(s.call("__mul__", x, x), [0, 1], dtype=dtype)
        s.expect_values(s.call("__add__", x, x), [0, -2], dtype=dtype)

    s.table(_LOW.items(), body)
    x = s.tensor([200, 100], "uint8")
    s.expect_values(s.call("add.Tensor", x, x), [144, 200], dtype="uint8")
    s.expect_values(s.call("neg", x), [56, 156], dtype="uint8")
    s.expect_values(s.call("mul.Tensor", x, x), [64, 16], dtype="uint8")
    s.expect_values(s.call("pow.Tensor_Scalar", s.tensor([3, -3, 2], "int8"), 5), [-13, 13, 32], dtype="int8")


@requirement("dtypes/integer-arithmetic-wraps", needs=("reduce",))
def test_product_wraps(s: Session) -> None:
    s.expect_values(s.call("prod", s.tensor([2**40, 2**30], "int64")), 0, dtype="int64")
    s.expect_values(s.call("prod", s.tensor([3] * 41, "int64")), wrap(3**41, np.dtype(np.int64)), dtype="int64")
    s.expect_values(s.call("sum", s.tensor([2**63 - 1, 1], "int64")), -(2**63), dtype="int64")


@requirement("dtypes/integer-arithmetic-wraps", needs=("reduce",))
@forall(x=st.tensors(INTEGRAL))
def test_products(s: Session, x: TensorCase) -> None:
    want = integer_product(x.array.reshape(-1).tolist())
    s.expect_values(s.call("prod", s.build(x)), want, dtype="int64")


_UNARY = {"neg": ("neg", "__neg__"), "abs": ("abs", "__abs__")}
_BINARY = {"add": ("add.Tensor", "__add__"), "sub": ("sub.Tensor", "__sub__"), "mul": ("mul.Tensor", "__mul__")}


@requirement("dtypes/integer-arithmetic-wraps")
@forall(x=st.tensors(INTEGRAL, long=True), operator=hs.sampled_from(list(_UNARY)), form=hs.integers(0, 1))
def test_unary(s: Session, x: TensorCase, operator: str, form: int) -> None:
    with np.errstate(all="ignore"):
        want = np.asarray(INTEGER[operator](x.array))
    s.expect_values(s.call(_UNARY[operator][form], s.build(x)), want)


@requirement("dtypes/integer-arithmetic-wraps")
@forall(
    xs=st.operands(2, dtypes=INTEGRAL, same_dtype=True, long=True),
    operator=hs.sampled_from(list(_BINARY)),
    form=hs.integers(0, 1),
)
def test_binary(s: Session, xs: tuple[TensorCase, TensorCase], operator: str, form: int) -> None:
    a, b = (c.array for c in xs)
    with np.errstate(all="ignore"):
        one = (np.ones((), a.dtype),) if operator != "mul" else ()
        want = np.asarray(INTEGER[operator](a, b, *one))
    s.expect_values(s.call(_BINARY[operator][form], *(s.build(c) for c in xs)), want)


@requirement("dtypes/integer-arithmetic-wraps")
@forall(
    dtype=st.dtypes(*INTEGRAL),
    values=hs.lists(
        hs.tuples(hs.integers(-(2**63), 2**63 - 1), hs.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=40
    ),
    operator=hs.sampled_from(list(_BINARY)),
)
def test_random_bits(s: Session, dtype: str, values: list[tuple[int, int]], operator: str) -> None:
    """Against Python's integers."""
    kind = numpy_dtype(dtype)
    a, b = ([wrap(pair[k], kind) for pair in values] for k in (0, 1))
    exact = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}[operator]
    want = [wrap(exact(v, w), kind) for v, w in zip(a, b, strict=True)]
    s.expect_values(s.call(f"{operator}.Tensor", s.tensor(a, dtype), s.tensor(b, dtype)), want, dtype=dtype)


@requirement("dtypes/integer-power")
def test_power_golden(s: Session) -> None:
    base, exponent = s.tensor([2, 0, 0, -2, -2, 10, -1, -1], "int64"), s.tensor([10, 0, 5, 3, 2, 18, 7, 8], "int64")
    want = [1024, 1, 0, -8, 4, 10**18, -1, 1]
    s.expect_values(s.call("pow.Tensor_Tensor", base, exponent), want, dtype="int64")
    s.expect_values(s.call("__pow__", base, exponent), want, dtype="int64")
    base, exponent = s.tensor([1, -1, -1, 2, 0, -5], "int32"), s.tensor([-3, -3, -2, -1, -1, -1], "int32")
    s.expect_values(s.call("pow.Tensor_Tensor", base, exponent), [1, -1, 1, 0, 0, 0], dtype="int32")
    s.expect_values(s.call("pow.Tensor_Scalar", s.tensor([3, -4, 0], "int32"), 2), [9, 16, 0], dtype="int32")
    s.expect_values(s.call("pow.Tensor_Scalar", s.tensor([3, 0], "int32"), 0), [1, 1], dtype="int32")
    s.expect_values(s.call("pow.Scalar", 2, s.tensor([0, 1, 10], "int64")), [1, 2, 1024], dtype="int64")


@requirement("dtypes/integer-power")
@forall(
    xs=st.operands(2, dtypes=INTEGRAL, same_dtype=True, max_dims=3),
    form=hs.sampled_from(["pow.Tensor_Tensor", "__pow__"]),
)
def test_power(s: Session, xs: tuple[TensorCase, TensorCase], form: str) -> None:
    a, b = (c.array for c in xs)
    with np.errstate(all="ignore"):
        want = np.asarray(INTEGER["pow"](a, b))
    s.expect_values(s.call(form, *(s.build(c) for c in xs)), want)


@requirement("dtypes/integer-power")
@forall(
    x=st.tensors(INTEGRAL, max_dims=3), exponent=hs.one_of(hs.integers(0, 9), hs.integers(0, 70)), form=hs.booleans()
)
def test_power_of_python_number(s: Session, x: TensorCase, exponent: int, form: bool) -> None:
    kind = numpy_dtype(x.dtype)
    want = np.array([wrap(v**exponent, kind) for v in x.array.reshape(-1).tolist()], dtype=kind).reshape(x.sizes)
    s.expect_values(s.call("__pow__" if form else "pow.Tensor_Scalar", s.build(x), exponent), want)


@requirement("dtypes/negative-python-exponent-of-integers-raises")
@forall(x=st.tensors(INTEGRAL, max_dims=2), exponent=hs.integers(-5, -1), form=hs.booleans())
def test_negative_exponent(s: Session, x: TensorCase, exponent: int, form: bool) -> None:
    s.expect_raises(RuntimeError, "__pow__" if form else "pow.Tensor_Scalar", s.build(x), exponent)
