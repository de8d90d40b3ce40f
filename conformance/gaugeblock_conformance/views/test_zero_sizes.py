"""Dims of size 0, and tensors without dims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from ..backend import Array, DType
from ..case import TensorCase
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from ..strategies import dtypes, tensors

Step = tuple[Callable[[Session, Handle], Handle], Callable[[Array], Array]]

EMPTY = st.tuples(
    st.lists(st.sampled_from((2, 0, 1, 3)), max_size=2), st.lists(st.sampled_from((3, 0, 1)), max_size=2)
).map(lambda parts: (*parts[0], 0, *parts[1]))

# What is done to a tensor with at least one dim, some dim of size 0; NumPy's same.
STEPS: dict[str, Step] = {
    "transpose": (lambda s, x: s.call("transpose.int", x, 0, -1), lambda a: a.swapaxes(0, -1)),
    "slice": (lambda s, x: s.call("__getitem__", x, slice(1, None)), lambda a: a[1:]),
    "unsqueeze": (lambda s, x: s.call("unsqueeze", x, 0), lambda a: a[None]),
    "flatten": (lambda s, x: s.call("flatten.using_ints", x), lambda a: a.reshape(-1)),
    "reshape": (lambda s, x: s.call("reshape", x, (0, 3)), lambda a: a.reshape(0, 3)),
    "neg": (lambda s, x: s.call("neg", x), lambda a: -a),
    "add": (lambda s, x: s.call("add.Tensor", x, x), lambda a: a + a),
    "broadcast": (lambda s, x: s.call("mul.Tensor", x, s.call("zeros", (1,), dtype=DType("int64"))), lambda a: a * 0),
    "cat": (lambda s, x: s.call("cat", [x, x], 0), lambda a: np.concatenate([a, a], 0)),
    "stack": (lambda s, x: s.call("stack", [x, x], 0), lambda a: np.stack([a, a])),
    "clone": (lambda s, x: s.call("clone", x), lambda a: a.copy()),
    "flip": (lambda s, x: s.call("flip", x, (0,)), lambda a: a[::-1]),
    "roll": (lambda s, x: s.call("roll", x, (1,), (0,)), lambda a: np.roll(a, 1, 0)),
    "index_select": (lambda s, x: s.call("index_select", x, -1, s.tensor([], "int64")), lambda a: a[..., :0]),
    "where": (lambda s, x: s.call("where.self", s.tensor(True, "bool"), x, x), lambda a: a),
}


def _operated(s: Session, dims: tuple[int, ...], name: str) -> None:
    operate, model = STEPS[name]
    array = np.zeros(dims, np.int64)
    s.expect_values(operate(s, s.tensor(array)), np.ascontiguousarray(model(array)))


@requirement("views/zero-size-dims-are-legal")
def test_every_operator_on_empty_tensors(s: Session) -> None:
    s.table([(dims, name) for name in STEPS for dims in ((0,), (2, 0), (2, 0, 3))], _operated)


@requirement("views/zero-size-dims-are-legal")
@forall(dims=EMPTY, name=st.sampled_from(tuple(STEPS)))
def test_operators_on_empty_tensors(s: Session, dims: tuple[int, ...], name: str) -> None:
    _operated(s, dims, name)


@requirement("views/zero-size-dims-are-legal", needs=("reduce",))
@forall(dims=EMPTY, dim=st.integers(0, 4))
def test_reductions_over_other_dims(s: Session, dims: tuple[int, ...], dim: int) -> None:
    dim %= len(dims)
    array = np.zeros(dims, np.int64)
    x = s.tensor(array)
    s.expect_values(s.call("sum.dim_IntList", x, (dim,)), array.sum(dim, dtype=np.int64))
    if dims[dim]:
        s.expect_values(s.call("amax", x, (dim,)), array.max(dim))


@requirement("views/zero-size-dims-are-legal")
def test_sizes_with_zeros(s: Session) -> None:
    x = s.call("zeros", (2, 0, 3))
    s.expect_shape(x, (2, 0, 3))
    s.expect(s.call("numel", x), 0, "numel()")
    s.expect_shape(s.call("__getitem__", x, 1), (0, 3))
    s.expect_shape(s.call("permute", x, (2, 1, 0)), (3, 0, 2))
    s.expect_shape(s.call("cat", [x, s.call("zeros", (2, 4, 3))], 1), (2, 4, 3))
    s.expect_shape(s.call("add.Tensor", x, s.call("zeros", (3,))), (2, 0, 3))
    if "reduce" in s.capabilities:
        s.expect_values(s.call("sum.dim_IntList", x, (1,)), np.zeros((2, 3), np.float32))


@requirement("views/matmul-over-zero-size-gives-zeros", needs=("matmul",))
@forall(
    m=st.integers(0, 4), n=st.integers(0, 4), batch=st.sampled_from(((), (2,), (0,))),
    dtype=st.sampled_from(("float32", "float64", "int64", "complex64")),
)  # fmt: skip
def test_matmul_over_nothing(s: Session, m: int, n: int, batch: tuple[int, ...], dtype: str) -> None:
    left = s.call("ones", (*batch, m, 0), dtype=DType(dtype))
    right = s.call("ones", (*batch, 0, n), dtype=DType(dtype))
    s.expect_values(s.call("matmul", left, right), np.zeros((*batch, m, n)), dtype=dtype)


@requirement("views/matmul-over-zero-size-gives-zeros", needs=("matmul",))
def test_two_by_zero_times_zero_by_three(s: Session) -> None:
    left, right = s.call("zeros", (2, 0)), s.call("zeros", (0, 3))
    for name in ("mm", "matmul", "__matmul__"):
        s.expect_values(s.call(name, left, right), [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    s.expect_values(s.call("matmul", s.call("zeros", (0,)), s.call("zeros", (0,))), 0.0)


@requirement("views/zero-dim-has-one-element")
@forall(dtype=dtypes(), seed=st.integers(0, 99))
def test_zero_dim_to_one_dim_and_back(s: Session, dtype: str, seed: int) -> None:
    case = TensorCase(dtype, (), (), seed=seed)
    x = s.build(case)
    s.expect_shape(x, ())
    s.expect(s.call("numel", x), 1, "numel()")
    line = s.call("view", x, (1,))
    s.expect_values(line, case.array.reshape(1))
    s.expect_values(s.call("view", line, ()), case.array)
    s.expect_values(s.call("squeeze", line), case.array)
    s.expect_raises(TypeError, "__len__", x)
    s.expect_raises(TypeError, "__iter__", x)


@requirement("views/zero-dim-has-one-element")
def test_a_number(s: Session) -> None:
    x = s.tensor(2.5)
    s.expect_shape(x, ())
    if s.has_data:
        s.expect(s.call("item", x), 2.5, "item()")
        s.expect(s.call("tolist", x), 2.5, "tolist()")
    s.expect_values(s.call("view", x, (1,)), [2.5])
    s.expect_raises(TypeError, "__len__", x)
    s.expect_raises(TypeError, "__iter__", x)


@requirement("views/zero-size-dims-are-legal")
@forall(case=tensors(sizes=EMPTY))
def test_empty_layouts(s: Session, case: TensorCase) -> None:
    x = s.build(case)
    s.expect_values(x, case.array)
    s.expect_values(s.call("clone", x), case.array)
    s.expect_values(s.call("contiguous", x), case.array)
