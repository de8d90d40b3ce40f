"""The common dtype of tensors with dims: the lattice, and that every operator follows it."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType
from ..case import TensorCase, default_strides
from ..forall import forall
from ..oracles.conversion import cast
from ..oracles.promotion import CORE, LATTICE, common, result_type
from ..requirement import requirement
from ..session import Session
from .answers import expect_dtype_answer

_GOLDEN = (
    ("uint8", "int8", "int16"), ("uint8", "int64", "int64"), ("int64", "float16", "float16"),
    ("bool", "uint8", "uint8"), ("float16", "bfloat16", "float32"), ("float16", "float32", "float32"),
    ("bfloat16", "float64", "float64"), ("int64", "bfloat16", "bfloat16"), ("bool", "float16", "float16"),
    ("float64", "complex64", "complex128"), ("float16", "complex64", "complex64"),
    ("int64", "complex64", "complex64"), ("complex64", "complex128", "complex128"), ("int16", "int32", "int32"),
)  # fmt: skip


@requirement("dtypes/promotion-lattice")
def test_golden(s: Session) -> None:
    def body(s: Session, left: str, right: str, want: str) -> None:
        expect_dtype_answer(s, want, "promote_types", DType(left), DType(right))
        x, y = s.tensor([1, 0], left), s.tensor([1, 1], right)
        s.expect_values(s.call("__add__", x, y), [1 if want == "bool" else 2, 1], dtype=want)
        expect_dtype_answer(s, want, "result_type", y, x)

    s.table(_GOLDEN, body)


@requirement("dtypes/promotion-lattice")
def test_full_table(s: Session) -> None:
    def body(s: Session, left: str, right: str) -> None:
        want = LATTICE[left, right]
        expect_dtype_answer(s, want, "promote_types", DType(left), DType(right))
        x, y = s.tensor([1, 1], left), s.tensor([0, 1], right)
        expect_dtype_answer(s, want, "result_type", x, y)
        s.expect_values(s.call("mul.Tensor", x, y), [0, 1], dtype=want)
        s.expect_dtype(s.call("where.self", s.tensor([True, False], "bool"), x, y), want)

    s.table([(a, b) for a in CORE for b in CORE], body)


@requirement("dtypes/promotion-lattice")
@forall(names=hs.lists(hs.sampled_from(CORE), min_size=3, max_size=3))
def test_order_and_grouping_do_not_matter(s: Session, names: list[str]) -> None:
    a, b, c = (DType(n) for n in names)
    left = s.call("promote_types", s.call("promote_types", a, b), c)
    expect_dtype_answer(s, str(left), "promote_types", a, s.call("promote_types", b, c))
    expect_dtype_answer(s, str(left), "promote_types", c, s.call("promote_types", b, a))
    expect_dtype_answer(s, common(*names), "promote_types", left, left)


@requirement("dtypes/promotion-lattice")
@forall(
    xs=st.operands(2, kind="small", max_dims=3),
    operator=hs.sampled_from(["add.Tensor", "mul.Tensor", "eq.Tensor", "__add__", "__mul__"]),
)
def test_operands_are_converted_first(s: Session, xs: tuple[TensorCase, TensorCase], operator: str) -> None:
    x, y = xs
    ranks = ([c.dtype for c in xs if c.sizes], [c.dtype for c in xs if not c.sizes])
    try:
        dtype = result_type(*ranks)
    except KeyError:
        return
    a, b = (cast(c.array, dtype) for c in xs)
    with np.errstate(all="ignore"):
        if operator == "eq.Tensor":
            want = np.asarray(a == b)
        elif "add" in operator:
            want = np.asarray(a | b if dtype == "bool" else a + b)
        else:
            want = np.asarray(a & b if dtype == "bool" else a * b)
    s.expect_values(s.call(operator, s.build(x), s.build(y)), want, signed_zero=False)


@requirement("dtypes/float32-with-int32-is-float32")
def test_int32_rounds_to_float32(s: Session) -> None:
    ints = s.tensor([1, 2**24 + 1, 2**31 - 1, -(2**24) - 1], "int32")
    zeros = s.tensor([0.0, 0.0, 0.0, 0.0])
    want = [1.0, 2.0**24, 2.0**31, -(2.0**24)]
    s.expect_values(s.call("add.Tensor", zeros, ints), want, dtype="float32")
    s.expect_values(s.call("__add__", ints, zeros), want, dtype="float32")
    s.expect_values(s.call("mul.Tensor", ints, s.tensor([1.0])), want, dtype="float32")


@requirement("dtypes/float32-with-int32-is-float32")
@forall(
    values=hs.lists(hs.integers(-(2**31), 2**31 - 1), min_size=1, max_size=70),
    addend=hs.floats(-1e6, 1e6, width=32),
)
def test_rounding_before_adding(s: Session, values: list[int], addend: float) -> None:
    ints = np.array(values, dtype=np.int32)
    floats = np.full(len(values), addend, dtype=np.float32)
    want = ints.astype(np.float32) + floats
    s.expect_values(s.call("add.Tensor", s.tensor(ints), s.tensor(floats)), want)


@requirement("dtypes/one-element-tensor-is-not-a-scalar")
def test_one_element_golden(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    s.expect_values(s.call("add.Tensor", x, s.tensor([1.0], "float64")), [2.0, 3.0], dtype="float64")
    s.expect_values(s.call("add.Tensor", x, s.tensor(1.0, "float64")), [2.0, 3.0], dtype="float32")
    s.expect_dtype(s.call("__mul__", s.tensor([1], "int8"), s.tensor([[3]], "int32")), "int32")
    s.expect_dtype(s.call("add.Tensor", s.tensor([1], "int8"), s.call("zeros", (0,))), "float32")


@requirement("dtypes/one-element-tensor-is-not-a-scalar")
@forall(left=st.dtypes(), right=st.dtypes(), sizes=hs.sampled_from([(1,), (0,), (1, 1), (1, 0)]), swap=hs.booleans())
def test_tensors_of_one_or_no_element(s: Session, left: str, right: str, sizes: tuple[int, ...], swap: bool) -> None:
    few = TensorCase(right, sizes, default_strides(sizes), kind="small", seed=3)
    many = s.tensor([1], left) if 0 in sizes else s.tensor([1, 0, 1], left)
    operands = (s.build(few), many) if swap else (many, s.build(few))
    expect_dtype_answer(s, LATTICE[left, right], "result_type", *operands)
    s.expect_dtype(s.call("mul.Tensor", *operands), LATTICE[left, right])
