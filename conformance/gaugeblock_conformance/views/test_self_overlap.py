"""Tensors whose own elements share memory, and tensors written from themselves."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase, extent
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from ..strategies import tensors
from .layout import Sizes


@requirement("views/stride-zero-destination-raises", needs=("as_strided",))
@forall(
    case=tensors(("float32", "int64"), layouts=("expanded",), min_dims=1, empty=False, kind="small"),
    form=st.sampled_from(("add_.Scalar", "mul_.Scalar", "neg_", "copy_", "add_.Tensor")),
)
def test_write_into_stride_zero(s: Session, case: TensorCase, form: str) -> None:
    repeated = any(n > 1 and stride == 0 for n, stride in zip(case.sizes, case.strides, strict=True))
    x = s.build(case)
    other = s.tensor(np.ones(case.sizes, case.contents.dtype))
    arguments = {"neg_": (), "copy_": (other,), "add_.Tensor": (other,)}.get(form, (2,))
    if repeated:
        s.expect_raises(RuntimeError, form, x, *arguments)
        s.expect_values(x, case.array)
    else:
        s.call(form, x, *arguments)
        a = case.array
        want = {"neg_": -a, "copy_": a * 0 + 1, "add_.Tensor": a + 1, "add_.Scalar": a + 2, "mul_.Scalar": a * 2}
        s.expect_values(x, want[form], signed_zero=False)


@requirement("views/stride-zero-destination-raises")
def test_expanded_row(s: Session) -> None:
    row = s.tensor([1.0, 2.0])
    wide = s.call("expand", row, (3, 2))
    for form, arguments in (("add_.Scalar", (1,)), ("mul_.Tensor", (wide,)), ("copy_", (s.tensor([[1.0, 1.0]] * 3),))):
        s.expect_raises(RuntimeError, form, wide, *arguments)
    s.expect_raises(RuntimeError, "neg.out", s.tensor([[1.0, 1.0]] * 3), out=wide)
    s.expect_values(row, [1.0, 2.0])
    once = s.call("expand", row, (1, 2))
    s.call("add_.Scalar", once, 1)
    s.expect_values(row, [2.0, 3.0])


@requirement("views/fill-of-stride-zero-is-allowed")
@forall(case=tensors(layouts=("expanded",)), zero=st.booleans())
def test_fill_of_expanded(s: Session, case: TensorCase, zero: bool) -> None:
    x = s.build(case)
    y = s.call("zero_", x) if zero else s.call("fill_.Scalar", x, 1)
    s.expect_same(y, x)
    s.expect_values(x, np.full_like(case.array, 0 if zero else 1))


@requirement("views/fill-of-stride-zero-is-allowed")
def test_fill_of_an_expanded_number(s: Session) -> None:
    x = s.tensor([1, 2], "int64")
    wide = s.call("expand", s.call("__getitem__", x, slice(1, 2)), (5,))
    s.call("fill_.Scalar", wide, 9)
    s.expect_values(x, [1, 9], dtype="int64")
    s.call("zero_", wide)
    s.expect_values(x, [1, 0], dtype="int64")


@requirement("views/transposed-self-raises")
@forall(n=st.integers(1, 9), form=st.sampled_from(("add_.Tensor", "copy_", "mul_.Tensor")), turn=st.booleans())
def test_transposed_self(s: Session, n: int, form: str, turn: bool) -> None:
    m = s.tensor(np.arange(n * n, dtype=np.float32).reshape(n, n))
    turned = s.call("T" if turn else "t", m)
    if n > 1:
        s.expect_raises(RuntimeError, form, m, turned)
        s.expect_raises(RuntimeError, form, turned, m)


@requirement("views/transposed-self-raises")
def test_transposed_matrix_of_four(s: Session) -> None:
    m = s.tensor([[1.0, 2.0], [3.0, 4.0]])
    s.expect_raises(RuntimeError, "add_.Tensor", m, s.call("T", m))
    s.expect_raises(RuntimeError, "copy_", m, s.call("T", m))
    s.call("add_.Tensor", m, s.call("clone", s.call("T", m)))
    s.expect_values(m, [[2.0, 5.0], [5.0, 8.0]])


@requirement("views/shifted-self-assignment-raises")
@forall(n=st.integers(3, 40), width=st.sampled_from((0, 1, 3)), shift=st.integers(1, 2), up=st.booleans())
def test_shifted_assignment(s: Session, n: int, width: int, shift: int, up: bool) -> None:
    dims = (n + shift, width) if width else (n + shift,)
    x = s.tensor(np.arange(np.prod(dims), dtype=np.float32).reshape(dims))
    front, back = slice(None, -shift), slice(shift, None)
    source = s.call("__getitem__", x, front if up else back)
    s.expect_raises(RuntimeError, "__setitem__", x, back if up else front, source)


@requirement("views/shifted-self-assignment-raises")
def test_shifted_assignment_of_four(s: Session) -> None:
    x = s.tensor([1.0, 2.0, 3.0, 4.0])
    s.expect_raises(RuntimeError, "__setitem__", x, slice(1, None), s.call("__getitem__", x, slice(None, -1)))
    s.expect_values(x, [1.0, 2.0, 3.0, 4.0])
    s.call("__setitem__", x, slice(2, None), s.call("__getitem__", x, slice(None, 2)))
    s.expect_values(x, [1.0, 2.0, 1.0, 2.0])


@requirement("views/undetected-self-overlap-stays-in-bounds", needs=("inplace",))
@forall(
    dims=st.sampled_from(((2, 3), (4, 4), (3, 2, 2), (8, 3))),
    strides=st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 2)),
    offset=st.integers(0, 3),
    form=st.sampled_from(("add_.Scalar", "neg_", "copy_", "fill_.Scalar")),
)
def test_overlapping_destination(s: Session, dims: Sizes, strides: Sizes, offset: int, form: str) -> None:
    """The session compares the bytes that the tensor does not cover."""
    strides = strides[: len(dims)]
    case = TensorCase("float32", dims, strides, offset, offset + extent(dims, strides) + 2, kind="small")
    x = s.build(case)
    arguments: tuple[object, ...] = {"neg_": (), "copy_": (s.tensor(np.ones(dims, np.float32)),)}.get(form, (2,))
    _, error = s.attempt(form, x, *arguments)
    if error is not None:
        s.expect_refusal(error, RuntimeError, "an overlap that is refused")
        s.expect_values(x, case.array)
    elif form == "fill_.Scalar":
        s.expect_values(x, np.full(dims, 2, np.float32))
    elif form == "copy_":
        s.expect_values(x, np.ones(dims, np.float32))
    s.expect_shape(x, dims)
