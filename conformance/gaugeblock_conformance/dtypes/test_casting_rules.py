"""Which dtype a result may be stored in: can_cast, and in-place operators."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import DType
from ..case import TensorCase
from ..forall import forall
from ..oracles.conversion import cast
from ..oracles.promotion import CORE, KIND, can_cast, result_type
from ..requirement import requirement
from ..session import Session


@requirement("dtypes/can-cast-forbids-lower-kinds")
def test_can_cast_golden(s: Session) -> None:
    rows = [
        ("float64", "float16", True), ("int64", "uint8", True), ("int8", "uint8", True), ("bool", "int8", True),
        ("int64", "float16", True), ("float64", "complex64", True), ("float32", "int64", False),
        ("int8", "bool", False), ("complex64", "float64", False), ("complex128", "complex64", True),
        ("uint8", "bool", False), ("bool", "bool", True), ("float16", "int8", False), ("complex64", "bool", False),
    ]  # fmt: skip

    def body(s: Session, source: str, target: str, want: bool) -> None:
        s.expect(s.call("can_cast", DType(source), DType(target)), want, f"can_cast({source}, {target})")

    s.table(rows, body)


@requirement("dtypes/can-cast-forbids-lower-kinds")
def test_can_cast_table(s: Session) -> None:
    def body(s: Session, source: str, target: str) -> None:
        want = KIND[source] <= KIND[target]
        s.expect(s.call("can_cast", DType(source), DType(target)), want, f"can_cast({source}, {target})")

    s.table([(a, b) for a in CORE for b in CORE], body)


@requirement("dtypes/inplace-result-must-cast-to-self")
def test_inplace_golden(s: Session) -> None:
    x = s.tensor([100], "int8")
    s.call("add_.Tensor", x, s.tensor([100], "int64"))
    s.expect_values(x, [-56], dtype="int8")
    y = s.tensor([1.0, 2.0])
    s.call("__imul__", y, s.tensor([0.1, 1e-60], "float64"))
    s.expect_values(y, np.array([0.1, 0.0], np.float32))
    z = s.tensor([1.5, 2.5])
    s.call("add_.Tensor", z, s.tensor([1, 2], "int64"))
    s.expect_values(z, [2.5, 4.5])
    for dtype, other, number in (("int64", "float32", 1.5), ("bool", "int64", 2), ("float32", "complex64", 1j)):
        kept = s.tensor([1, 0], dtype)
        s.expect_raises(RuntimeError, "add_.Scalar", kept, number)
        s.expect_raises(RuntimeError, "__iadd__", kept, number)
        s.expect_raises(RuntimeError, "mul_.Tensor", kept, s.tensor([1, 1], other))
        s.expect_values(kept, [1, 0], dtype=dtype)


@requirement("dtypes/inplace-result-must-cast-to-self")
def test_integers_do_not_take_quotients(s: Session) -> None:
    x = s.tensor([4, 6], "int32")
    s.expect_raises(RuntimeError, "div_.Tensor", x, s.tensor([2, 2], "int32"))
    s.expect_raises(RuntimeError, "__itruediv__", x, 2)
    s.expect_values(x, [4, 6], dtype="int32")
    s.call("div_.Scalar_mode", x, 4, rounding_mode="floor")
    s.expect_values(x, [1, 1], dtype="int32")


@requirement("dtypes/inplace-result-must-cast-to-self")
@forall(
    x=st.tensors(sizes=(5,), layouts=st.WRITABLE, kind="small"),
    other=st.tensors(sizes=hs.sampled_from([(5,), (1,), ()]), kind="small"),
    operator=hs.sampled_from(["add_.Tensor", "mul_.Tensor", "__iadd__", "__imul__"]),
)
def test_inplace_over_all_dtypes(s: Session, x: TensorCase, other: TensorCase, operator: str) -> None:
    try:
        common = result_type([x.dtype] + [other.dtype] * bool(other.sizes), [other.dtype] * (not other.sizes))
    except KeyError:
        return
    t, o = s.build(x), s.build(other)
    if not can_cast(common, x.dtype):
        s.expect_raises(RuntimeError, operator, t, o)
        s.expect_values(t, x.array)
        return
    a, b = cast(x.array, common), cast(other.array, common)
    with np.errstate(all="ignore"):
        result = (a | b if common == "bool" else a + b) if "add" in operator else (a & b if common == "bool" else a * b)
        want = cast(np.asarray(result), x.dtype)
    s.call(operator, t, o)
    s.expect_values(t, want, signed_zero=False)
