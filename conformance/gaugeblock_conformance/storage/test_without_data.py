"""Tensors that have no bytes, and tensors that have no single storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, DType, numpy_dtype
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import broadcastable, dtypes, sizes
from ..views.layout import default_strides

READERS = ("item", "tolist", "__bool__", "__int__")

# Operators on a tensor with at least one dim, and what NumPy makes of zeros of the same sizes.
STEPS: dict[str, tuple[Callable[[Session, Handle], Handle], Callable[[Array], Array]]] = {
    "neg": (lambda s, x: s.call("neg", x), lambda a: -a),
    "transpose": (lambda s, x: s.call("transpose.int", x, 0, -1), lambda a: a.swapaxes(0, -1)),
    "slice": (lambda s, x: s.call("__getitem__", x, slice(1, None, 2)), lambda a: a[1::2]),
    "sum": (lambda s, x: s.call("sum.dim_IntList", x, (0,)), lambda a: a.sum(0)),
    "compare": (lambda s, x: s.call("gt.Scalar", x, 0), lambda a: a > 0),
    "cast": (lambda s, x: s.call("to.dtype", x, DType("float64")), lambda a: a.astype(np.float64)),
    "add a number": (lambda s, x: s.call("add.Scalar", x, 1), lambda a: a + np.float32(1)),
    "stack": (lambda s, x: s.call("stack", [x, x], 0), lambda a: np.stack([a, a])),
    "matmul": (lambda s, x: s.call("matmul", s.call("reshape", x, (-1, 1)), s.call("reshape", x, (1, -1))),
               lambda a: a.reshape(-1, 1) @ a.reshape(1, -1)),
}  # fmt: skip


def _meta(s: Session, dims: tuple[int, ...], dtype: str = "float32") -> Handle:
    s.without_data()
    x: Handle = s.call("empty.memory_format", dims, dtype=DType(dtype), device="meta")
    return x


@requirement("storage/meta-tensors-carry-metadata-only", needs=("strided",))
@forall(dims=sizes(1, 3, empty=False), name=st.sampled_from(tuple(STEPS)), weight=0.3)
def test_operators_give_metadata(s: Session, dims: tuple[int, ...], name: str) -> None:
    operate, model = STEPS[name]
    want = model(np.zeros(dims, np.float32))
    y = operate(s, _meta(s, dims))
    s.expect_shape(y, want.shape)
    s.expect_dtype(y, str(want.dtype))
    if name == "slice":
        first, *rest = default_strides(dims)
        s.expect_strides(y, (2 * first, *rest))
    elif name != "transpose":
        s.expect_strides(y, default_strides(want.shape))


@requirement("storage/meta-tensors-carry-metadata-only", needs=("strided",))
@forall(shapes=broadcastable(2), a=dtypes("float32", "int64", "float64"), b=dtypes("float32", "int64", "bool"))
def test_broadcast_and_promotion_without_data(
    s: Session, shapes: tuple[tuple[int, ...], ...], a: str, b: str
) -> None:
    y = s.call("add.Tensor", _meta(s, shapes[0], a), _meta(s, shapes[1], b))
    s.expect_shape(y, np.broadcast_shapes(*shapes))
    if a == b or len(shapes[0]) == len(shapes[1]) == 1:
        float_wins = {("float32", "int64"): "float32", ("int64", "float32"): "float32"}
        s.expect_dtype(y, float_wins.get((a, b), str(np.result_type(numpy_dtype(a), numpy_dtype(b)))))


@requirement("storage/meta-tensors-carry-metadata-only")
@forall(dims=sizes(0, 1, empty=False), name=st.sampled_from(READERS))
def test_reading_an_element_raises(s: Session, dims: tuple[int, ...], name: str) -> None:
    dims = (1,) * len(dims) if name != "tolist" else dims
    s.expect_raises((RuntimeError, NotImplementedError), name, _meta(s, dims))


@requirement("storage/meta-tensors-carry-metadata-only", needs=("strided",))
def test_a_trillion_elements_without_data(s: Session) -> None:
    x = _meta(s, (10**6, 10**6))
    y = s.call("add.Tensor", x, s.call("transpose.int", x, 0, 1))
    s.expect_shape(y, (10**6, 10**6))
    s.expect_dtype(y, "float32")
    for bad in ((3, 4), (10**6, 2)):
        s.expect_raises(RuntimeError, "add.Tensor", x, _meta(s, bad))


@requirement("storage/sparse-tensor-has-no-storage")
@forall(dims=sizes(1, 3, empty=False))
def test_sparse_tensor(s: Session, dims: tuple[int, ...]) -> None:
    dense: Any = s.tensor(np.ones(dims, np.float32))
    s.without_data()
    sparse = s.call("to_sparse", dense)
    s.expect_raises((RuntimeError, NotImplementedError), "untyped_storage", sparse)
    s.expect_raises((RuntimeError, NotImplementedError), "data_ptr", sparse)


@requirement("storage/sparse-tensor-has-no-storage")
def test_sparse_identity(s: Session) -> None:
    dense = s.tensor([[1.0, 0.0], [0.0, 1.0]])
    s.without_data()
    s.expect_shape(s.call("to_sparse", dense), (2, 2))
    s.expect_raises((RuntimeError, NotImplementedError), "untyped_storage", s.call("to_sparse", dense))
    s.expect_raises((RuntimeError, NotImplementedError), "data_ptr", s.call("to_sparse", dense))
