"""Dtypes that may be missing or limited, and dtypes that gradients need."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType, numpy_dtype
from ..forall import forall
from ..oracles.integers import wrap
from ..requirement import requirement
from ..session import Session
from ..strategies import ALL, COMPLEX, FLOATING
from .answers import expect_dtype_answer

_LIMITED = ("uint16", "uint32", "uint64")


@requirement("dtypes/limited-dtypes-store-and-cast")
def test_limited_golden(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        kind = DType(dtype)
        bits = 8 * numpy_dtype(dtype).itemsize
        s.expect_values(s.call("zeros", (2,), dtype=kind), [0, 0], dtype=dtype)
        s.expect_values(s.call("ones", (2,), dtype=kind), [1, 1], dtype=dtype)
        s.expect_values(s.call("full", (2,), 2**bits - 1, dtype=kind), [2**bits - 1] * 2, dtype=dtype)
        x = s.tensor([0, 1, 2**bits - 1], dtype)
        s.expect_values(s.call("clone", x), [0, 1, 2**bits - 1], dtype=dtype)
        s.expect_values(s.call("to.dtype", x, DType("int8")), [0, 1, -1], dtype="int8")
        s.expect_values(s.call("to.dtype", x, DType("float64")), [0.0, 1.0, float(2**bits - 1)], dtype="float64")
        s.expect_values(s.call("to.dtype", s.tensor([-1, 5], "int64"), kind), [2**bits - 1, 5], dtype=dtype)
        s.expect_values(s.call("copy_", x, s.tensor([1.5, 2.5, 3.5])), [1, 2, 3], dtype=dtype)
        s.expect_values(s.call("__getitem__", x, slice(1, None)), [2, 3], dtype=dtype)

    s.table([(d,) for d in _LIMITED], body)


@requirement("dtypes/limited-dtypes-store-and-cast")
@forall(
    source=st.dtypes(*_LIMITED, "int64", "int8", "uint8"),
    target=st.dtypes(*_LIMITED, "int32", "int64", "uint8"),
    values=hs.lists(hs.integers(0, 2**64 - 1), min_size=1, max_size=70),
)
def test_limited_casts(s: Session, source: str, target: str, values: list[int]) -> None:
    stored = [wrap(v, numpy_dtype(source)) for v in values]
    x = s.tensor(stored, source)
    want = [wrap(v, numpy_dtype(target)) for v in stored]
    s.expect_values(s.call("to.dtype", x, DType(target)), want, dtype=target)


@requirement("dtypes/limited-dtypes-do-not-add")
def test_limited_arithmetic(s: Session) -> None:
    for dtype in _LIMITED:
        x = s.tensor([1, 2], dtype)
        s.expect_raises(NotImplementedError, "add.Tensor", x, x)
        s.expect_raises(NotImplementedError, "__add__", x, x)
        for other in ("int8", "int16", "int32", "int64", "uint8"):
            s.expect_raises(RuntimeError, "promote_types", DType(dtype), DType(other))
            s.expect_raises(RuntimeError, "add.Tensor", x, s.tensor([1, 2], other))
        expect_dtype_answer(s, dtype, "promote_types", DType(dtype), DType(dtype))


@requirement("dtypes/quantized-dtypes-do-not-promote")
def test_quantized(s: Session) -> None:
    for dtype in ("qint8", "quint8", "qint32"):
        for other in ("float32", "int8", "uint8", "bool", "complex64", "qint8", "quint8", "qint32"):
            if dtype != other:
                s.expect_raises(RuntimeError, "promote_types", DType(dtype), DType(other))
                s.expect_raises(RuntimeError, "promote_types", DType(other), DType(dtype))


@requirement("dtypes/requires-grad-needs-float-or-complex")
def test_requires_grad(s: Session) -> None:
    def body(s: Session, dtype: str) -> None:
        x, y = s.tensor([1, 0], dtype), s.tensor([1, 0], dtype)
        s.expect(s.call("requires_grad", x), False, "requires_grad of a fresh tensor")
        if dtype in FLOATING or dtype in COMPLEX:
            s.call("requires_grad_", x)
            s.expect(s.call("requires_grad", x), True, "requires_grad after requires_grad_()")
            s.call("__setattr__", y, "requires_grad", True)
            s.expect(s.call("requires_grad", y), True, "requires_grad after the assignment")
            s.call("requires_grad_", x, False)
            s.expect(s.call("requires_grad", x), False, "requires_grad after requires_grad_(False)")
        else:
            s.expect_raises(RuntimeError, "requires_grad_", x)
            s.expect_raises(RuntimeError, "__setattr__", y, "requires_grad", True)
            s.expect_raises(RuntimeError, "zeros", (2,), dtype=DType(dtype), requires_grad=True)
            s.expect(s.call("requires_grad", x), False, "requires_grad after the refusal")

    s.table([(d,) for d in ALL], body)


@requirement("dtypes/requires-grad-needs-float-or-complex")
@forall(x=st.tensors(max_dims=2, layouts=("contiguous", "offset", "permuted")), flag=hs.booleans())
def test_requires_grad_of_any_tensor(s: Session, x: object, flag: bool) -> None:
    t = s.build(x)  # type: ignore[arg-type]
    if flag and np.dtype(numpy_dtype(t.case.dtype)).kind in "iub":  # type: ignore[union-attr]
        s.expect_raises(RuntimeError, "requires_grad_", t)
    else:
        s.call("requires_grad_", t, flag)
        s.expect(s.call("requires_grad", t), flag, "requires_grad after requires_grad_()")
