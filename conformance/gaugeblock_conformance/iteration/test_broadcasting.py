"""Shapes: how operands of different sizes meet, and which destinations they may be written to."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from .. import strategies as st
from ..backend import numpy_dtype
from ..case import TensorCase, default_strides
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from .model import broadcast

_TABLE = [
    ((3, 1, 4), (2, 4), (3, 2, 4)),
    ((), (2, 3), (2, 3)),
    ((5,), (1,), (5,)),
    ((1,), (1, 1), (1, 1)),
    ((4, 1), (1, 6), (4, 6)),
    ((0, 3), (1, 3), (0, 3)),
    ((0,), (), (0,)),
    ((2, 0, 1), (1, 5), (2, 0, 5)),
]
_CLASHES = [((2,), (3,)), ((2, 3), (2,)), ((0,), (3,)), ((2, 0), (2, 2)), ((4, 1, 2), (3, 3, 1)), ((3, 4), (4, 3))]


def _counted(sizes: tuple[int, ...], dtype: str = "int32") -> np.ndarray:
    return np.arange(int(np.prod(sizes)), dtype=numpy_dtype(dtype)).reshape(sizes)


@requirement("iteration/broadcasting-aligns-from-the-right", "iteration/size-zero-broadcasts-with-one-only")
def test_shapes_that_meet(s: Session) -> None:
    def row(s: Session, left: tuple[int, ...], right: tuple[int, ...], result: tuple[int, ...]) -> None:
        a, b = _counted(left), _counted(right) * 10
        y = s.call("add.Tensor", s.tensor(a), s.tensor(b))
        s.expect_shape(y, result)
        s.expect_values(y, np.broadcast_to(a, result) + np.broadcast_to(b, result))

    s.table(_TABLE, row)


@requirement("iteration/unbroadcastable-shapes-raise", "iteration/size-zero-broadcasts-with-one-only")
def test_shapes_that_clash(s: Session) -> None:
    def row(s: Session, left: tuple[int, ...], right: tuple[int, ...]) -> None:
        x, y = s.tensor(_counted(left)), s.tensor(_counted(right))
        for operator in ("add.Tensor", "mul.Tensor", "eq.Tensor", "maximum"):
            s.expect_raises(RuntimeError, operator, x, y)

    s.table(_CLASHES, row)


@requirement("iteration/broadcasting-aligns-from-the-right", "iteration/allocated-output-has-broadcast-shape")
@forall(xs=st.operands(3, ("int32", "float32", "bool"), same_dtype=True, kind="small"))
def test_every_element_meets_its_partners(s: Session, xs: tuple[TensorCase, ...]) -> None:
    x, y, z = xs
    result = broadcast(x.sizes, y.sizes)
    assert result is not None
    total = s.call("add.Tensor", s.build(x), s.build(y))
    want = np.add(np.broadcast_to(x.array, result), np.broadcast_to(y.array, result))
    s.expect_values(total, want, signed_zero=False)
    last = broadcast(result, z.sizes)
    assert last is not None
    s.expect_shape(s.call("mul.Tensor", total, s.build(z)), last)


@requirement("iteration/unbroadcastable-shapes-raise")
@forall(
    shapes=st.broadcastable(2, max_dims=3, empty=False),
    dim=hs.integers(0, 2),
    sizes=hs.sampled_from([(2, 3), (3, 2), (4, 7), (0, 2), (5, 0)]),
)
def test_one_clashing_dim_is_enough(
    s: Session, shapes: tuple[tuple[int, ...], ...], dim: int, sizes: tuple[int, int]
) -> None:
    dim = min(dim, *map(len, shapes))
    left, right = ((*x[: len(x) - dim], n, *x[len(x) - dim :]) for x, n in zip(shapes, sizes, strict=True))
    s.expect_raises(RuntimeError, "add.Tensor", s.tensor(_counted(left)), s.tensor(_counted(right)))


@requirement("iteration/allocated-output-has-broadcast-shape")
def test_allocated_output(s: Session) -> None:
    x = s.tensor([[1, 2, 3]], "int16")
    y = s.tensor([[10], [20]], "int16")
    total = s.call("add.Tensor", x, y)
    s.expect_values(total, [[11, 12, 13], [21, 22, 23]], dtype="int16")
    if "storage" in s.capabilities:
        s.expect_fresh(total, x, y)


@requirement("iteration/destination-is-never-broadcast")
def test_destination_keeps_its_shape(s: Session) -> None:
    x = s.tensor([1, 2, 3], "int64")
    wide = s.tensor([[1, 1, 1], [2, 2, 2]], "int64")
    s.expect_raises(RuntimeError, "add_.Tensor", x, wide)
    s.expect_values(x, [1, 2, 3], dtype="int64")
    one = s.tensor([5], "int64")
    s.expect_raises(RuntimeError, "mul_.Tensor", one, x)
    s.expect_values(s.call("add_.Tensor", wide, x), [[2, 3, 4], [3, 4, 5]], dtype="int64")


@requirement("iteration/destination-is-never-broadcast")
@forall(
    xs=st.operands(2, "int32", layouts=st.WRITABLE, kind="small"),
    operator=hs.sampled_from(["add_.Tensor", "mul_.Tensor", "copy_", "sub_.Tensor"]),
)
def test_inplace_writes_only_what_fits(s: Session, xs: tuple[TensorCase, ...], operator: str) -> None:
    x, y = (s.build(case) for case in xs)
    if broadcast(xs[0].sizes, xs[1].sizes) != xs[0].sizes:
        s.expect_raises(RuntimeError, operator, x, y)
        s.expect_values(x, xs[0].array)
        return
    compute = {"add_.Tensor": np.add, "mul_.Tensor": np.multiply, "sub_.Tensor": np.subtract}.get(operator)
    want = np.broadcast_to(xs[1].array, xs[0].sizes) if compute is None else compute(xs[0].array, xs[1].array)
    s.expect_values(s.call(operator, x, y), np.asarray(want))


@requirement("iteration/ternary-operators-broadcast-and-promote")
def test_where_meets_three_ways(s: Session) -> None:
    condition = s.tensor([[True], [False]], "bool")
    y = s.call("where.self", condition, s.tensor([1, 2, 3], "int32"), s.tensor([[-1.5]], "float32"))
    s.expect_values(y, [[1.0, 2.0, 3.0], [-1.5, -1.5, -1.5]], dtype="float32")
    s.expect_raises(RuntimeError, "where.self", s.tensor([1, 0], "int64"), s.tensor([1.0]), s.tensor([2.0]))


@requirement("iteration/ternary-operators-broadcast-and-promote")
def test_addcmul_and_addcdiv(s: Session) -> None:
    base = s.tensor([[1.0], [2.0]])
    left, right = s.tensor([1.0, 2.0, 3.0], "float64"), s.tensor([2.0], "float32")
    y = s.call("addcmul", base, left, right, value=2)
    s.expect_values(y, [[5.0, 9.0, 13.0], [6.0, 10.0, 14.0]], dtype="float64")
    y = s.call("addcdiv", base, left, right, value=2)
    s.expect_values(y, [[2.0, 3.0, 4.0], [3.0, 4.0, 5.0]], dtype="float64")


@requirement("iteration/ternary-operators-broadcast-and-promote")
@forall(
    shapes=st.broadcastable(3, max_dims=3),
    left=st.tensors(("float32", "int32", "float64"), sizes=()),
    seed=hs.integers(0, 1000),
)
def test_where_is_numpys(s: Session, shapes: tuple[tuple[int, ...], ...], left: TensorCase, seed: int) -> None:
    condition = TensorCase("bool", shapes[0], default_strides(shapes[0]), seed=seed + 1)
    a = TensorCase(left.dtype, shapes[1], default_strides(shapes[1]), seed=seed)
    b = TensorCase(left.dtype, shapes[2], default_strides(shapes[2]), seed=seed + 7)
    y = s.call("where.self", s.build(condition), s.build(a), s.build(b))
    s.expect_values(y, np.where(condition.array, a.array, b.array))


@requirement("iteration/devices-must-agree")
def test_devices_must_agree(s: Session) -> None:
    s.require("meta")
    x, far = s.tensor([1.0, 2.0]), _elsewhere(s)
    s.expect_raises(RuntimeError, "add.Tensor", x, far)
    s.expect_raises(RuntimeError, "mul.Tensor", far, x)
    s.expect_raises(RuntimeError, "add.out", x, far, out=x)
    s.expect_values(x, [1.0, 2.0])


@requirement("iteration/inplace-devices-must-agree")
def test_inplace_devices_must_agree(s: Session) -> None:
    s.require("meta")
    x, far = s.tensor([1.0, 2.0]), _elsewhere(s)
    s.expect_raises(RuntimeError, "add_.Tensor", x, far)
    s.expect_raises(RuntimeError, "mul_.Tensor", x, far)
    s.expect_values(x, [1.0, 2.0])


def _elsewhere(s: Session) -> Handle:
    """A tensor of two elements on another device than the session's."""
    device = "meta" if s.backend.device != "meta" else "cpu"
    made: Handle = s.call("empty.memory_format", (2,), device=device)
    return made
