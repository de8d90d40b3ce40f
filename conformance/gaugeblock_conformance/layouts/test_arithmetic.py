"""What operators make of tensors in coordinate form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from . import drawing

_REFUSED: dict[str, tuple[Any, ...]] = {
    "view": ((-1,),), "contiguous": (), "numpy": (), "slice.Tensor": (0, 0, 1),
}  # fmt: skip


def is_sparse(s: Session, x: Handle, want: bool) -> None:
    """Expect a tensor in coordinate form, or a strided one."""
    got = s.call("__getattr__", x, "is_sparse")
    s.expect_of_last(got, want, "is_sparse", "{}")


def expect_sparse(s: Session, x: Handle, want: Array) -> None:
    """Expect a tensor in coordinate form with these elements."""
    is_sparse(s, x, True)
    s.expect_values(s.call("to_dense", x), want, signed_zero=False)


def two(dims: int = 3, dtype: str = "float64") -> hs.SearchStrategy[tuple[drawing.CooCase, drawing.CooCase]]:
    """Pairs of tensors in coordinate form of equal sizes."""
    shapes = hs.lists(hs.integers(0, 4), max_size=dims).map(tuple)
    return shapes.flatmap(
        lambda shape: hs.tuples(*[drawing.coo_cases(shape=shape, dtype=dtype) for _ in range(2)])
    )


@requirement("layouts/strided-only-calls-are-refused")
@forall(x=drawing.coo_cases(min_sparse=1, dtype="float32"))
def test_calls_that_need_strides(s: Session, x: drawing.CooCase) -> None:
    made = x.build(s)
    s.expect_of_last(s.call("is_contiguous", made), False, "is_contiguous of a sparse tensor", "{}")
    for name, args in _REFUSED.items():
        s.expect_raises((RuntimeError, NotImplementedError, TypeError), name, made, *args)


@requirement("layouts/strided-only-calls-are-refused", needs=("index.adv",))
def test_index_tensors(s: Session) -> None:
    x = s.call("to_sparse", s.tensor([[0.0, 1.0], [2.0, 0.0]]))
    for index in (s.tensor([0], "int64"), s.tensor([True, False], "bool")):
        s.expect_raises((RuntimeError, NotImplementedError), "__getitem__", x, index)
    s.expect_raises((RuntimeError, NotImplementedError), "__getitem__", x, slice(0, 1))


@requirement("layouts/select-of-sparse-is-the-row")
@forall(x=drawing.coo_cases(min_sparse=1), data=hs.data())
def test_select(s: Session, x: drawing.CooCase, data: hs.DataObject) -> None:
    dim = data.draw(hs.integers(0, len(x.sizes) - 1))
    made, size = x.build(s), x.sizes[dim]
    if size:
        index = data.draw(hs.integers(-size, size - 1))
        got = s.call("select.int", made, dim, index)
        want = x.dense.take(index, dim)
        if s.call("__getattr__", got, "is_sparse"):
            got = s.call("to_dense", got)
        s.expect_values(got, want, signed_zero=False)
    for index in (size, -size - 1):
        s.expect_raises(IndexError, "select.int", made, dim, index)


@requirement("layouts/select-of-sparse-is-the-row")
def test_integer_indices(s: Session) -> None:
    x = s.call("to_sparse", s.tensor([[0.0, 2.0], [3.0, 0.0]]))
    s.expect_values(s.call("to_dense", s.call("__getitem__", x, 1)), [3.0, 0.0])
    s.expect_values(s.call("__getitem__", x, (0, 1)), np.float32(2.0))
    s.expect_values(s.call("__getitem__", x, (0, 0)), np.float32(0.0))


@requirement("layouts/sums-of-layouts")
@forall(pair=two(), alpha=hs.integers(-2, 3))
def test_sums(s: Session, pair: tuple[drawing.CooCase, drawing.CooCase], alpha: int) -> None:
    first, second = pair
    want = first.dense + alpha * second.dense
    expect_sparse(s, s.call("add.Tensor", first.build(s), second.build(s), alpha=alpha), want)
    expect_sparse(s, s.call("sub.Tensor", first.build(s), second.build(s)), first.dense - second.dense)
    mixed = s.call("add.Tensor", s.tensor(first.dense), second.build(s), alpha=alpha)
    is_sparse(s, mixed, False)
    s.expect_values(mixed, want, signed_zero=False)


@requirement("layouts/sums-of-layouts")
@forall(x=drawing.coo_cases(dtype="float64"))
def test_refused_sums(s: Session, x: drawing.CooCase) -> None:
    made = x.build(s)
    s.expect_raises(RuntimeError, "add.Tensor", made, s.tensor(x.dense))
    s.expect_raises(RuntimeError, "add.Scalar", made, 1)
    s.expect_raises(RuntimeError, "sub.Tensor", made, s.tensor(x.dense))


@requirement("layouts/sums-of-layouts")
def test_promoted_sums(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[0, 1]], s.tensor([1, 2], "int64"), (3,))
    y = s.call("sparse_coo_tensor", [[1, 2]], s.tensor([0.5, 4.0]), (3,))
    s.expect_values(s.call("to_dense", s.call("add.Tensor", x, y)), [1.0, 2.5, 4.0], dtype="float32")


@requirement("layouts/products-stay-sparse")
@forall(pair=two(), number=hs.integers(-3, 3))
def test_products(s: Session, pair: tuple[drawing.CooCase, drawing.CooCase], number: int) -> None:
    first, second = pair
    want = first.dense * second.dense
    expect_sparse(s, s.call("mul.Tensor", first.build(s), second.build(s)), want)
    expect_sparse(s, s.call("mul.Tensor", first.build(s), s.tensor(second.dense)), want)
    expect_sparse(s, s.call("mul.Tensor", s.tensor(second.dense), first.build(s)), want)
    expect_sparse(s, s.call("mul.Scalar", first.build(s), number), first.dense * number)


@requirement("layouts/products-stay-sparse")
def test_products_of_repeated_indices(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[0, 0]], s.tensor([1.0, 2.0]), (2,))
    expect_sparse(s, s.call("mul.Tensor", x, x), np.array([9.0, 0.0], np.float32))
    expect_sparse(s, s.call("mul.Tensor", x, s.tensor([2.0, 5.0])), np.array([6.0, 0.0], np.float32))


@requirement("layouts/sparse-matrix-products-are-exact")
@forall(data=hs.data(), dtype=hs.sampled_from(("float32", "float64")))
def test_matrix_products(s: Session, data: hs.DataObject, dtype: str) -> None:
    rows, inner, cols = (data.draw(hs.integers(0, 4)) for _ in range(3))
    x = data.draw(drawing.coo_cases(shape=(rows, inner), dtype=dtype))
    y = data.draw(drawing.coo_cases(shape=(inner, cols), dtype=dtype))
    want = x.dense @ y.dense
    mixed = s.call("mm", x.build(s), s.tensor(y.dense))
    is_sparse(s, mixed, False)
    s.expect_values(mixed, want, signed_zero=False)
    expect_sparse(s, s.call("mm", x.build(s), y.build(s)), want)
    vector = np.arange(inner).astype(x.values.dtype)
    s.expect_values(s.call("mv", x.build(s), s.tensor(vector)), x.dense @ vector, signed_zero=False)


@requirement("layouts/sparse-matrix-products-are-exact")
def test_golden_matrix_products(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[0, 1, 0], [1, 0, 1]], s.tensor([2.0, 3.0, 4.0]), (2, 2))
    y = s.tensor([[1.0, 2.0], [10.0, 20.0]])
    s.expect_values(s.call("matmul", x, y), [[60.0, 120.0], [3.0, 6.0]])
    ones = s.tensor([[1.0, 1.0], [1.0, 1.0]])
    s.expect_values(s.call("addmm", ones, x, y, beta=2, alpha=1), [[62.0, 122.0], [5.0, 8.0]])
    s.expect_values(s.call("to_dense", s.call("mm", x, x)), [[18.0, 0.0], [0.0, 18.0]])
    s.expect_raises(RuntimeError, "mm", x, s.tensor([[1.0, 2.0, 3.0]]))


def _floor(x: Array) -> Array:
    return np.floor(x)


_KEEP: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs, "neg": np.negative, "sign": np.sign, "floor": _floor, "ceil": np.ceil, "trunc": np.trunc,
    "square": np.square, "relu": lambda x: np.maximum(x, 0),
}  # fmt: skip
_CLOSE: dict[str, Callable[[Array], Array]] = {
    "sin": np.sin, "tanh": np.tanh, "expm1": np.expm1, "atan": np.arctan, "asinh": np.arcsinh, "sinh": np.sinh,
}  # fmt: skip
_MOVE = ("cos", "exp", "sigmoid", "reciprocal", "log", "rsqrt", "cosh", "acos")


@requirement("layouts/unary-operators-that-keep-zero-act-on-values")
@forall(x=drawing.coo_cases(dtype="float64"), name=hs.sampled_from((*_KEEP, *_CLOSE)))
def test_operators_that_keep_zero(s: Session, x: drawing.CooCase, name: str) -> None:
    made = s.call(name, x.build(s))
    is_sparse(s, made, True)
    got = s.call("to_dense", made)
    if name in _KEEP:
        s.expect_values(got, _KEEP[name](x.dense), signed_zero=False)
    else:
        s.expect_close(got, _CLOSE[name](x.dense), 8)
    indices, _ = drawing.coalesced(x)
    s.expect_values(s.call("indices", s.call("coalesce", made)), indices, dtype="int64")


@requirement("layouts/unary-operators-that-keep-zero-act-on-values")
def test_duplicates_count_once(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[1, 1]], s.tensor([-2.0, -7.0]), (3,))
    s.expect_values(s.call("to_dense", s.call("abs", x)), [0.0, 9.0, 0.0])
    s.expect_values(s.call("to_dense", s.call("sqrt", s.call("neg", x))), [0.0, 3.0, 0.0])


@requirement("layouts/unary-operators-that-move-zero-are-refused")
@forall(x=drawing.coo_cases(dtype="float32"), name=hs.sampled_from(_MOVE))
def test_operators_that_move_zero(s: Session, x: drawing.CooCase, name: str) -> None:
    s.expect_raises(NotImplementedError, name, x.build(s))


@requirement("layouts/transpose-of-sparse-swaps-indices")
@forall(x=drawing.coo_cases(min_sparse=2), data=hs.data())
def test_transposes(s: Session, x: drawing.CooCase, data: hs.DataObject) -> None:
    first, second = (data.draw(hs.integers(0, x.sparse_dim - 1)) for _ in range(2))
    made = s.call("transpose.int", x.build(s), first, second)
    want = x.dense.swapaxes(first, second)
    s.expect_shape(made, want.shape)
    s.expect_values(s.call("to_dense", made), want, signed_zero=False)
    rows = x.indices.copy()
    rows[[first, second]] = rows[[second, first]]
    if first != second:
        s.expect_values(s.call("_indices", made), rows, dtype="int64")
        s.expect_values(s.call("_values", made), x.values)


@requirement("layouts/transpose-of-sparse-swaps-indices")
def test_golden_transpose(s: Session) -> None:
    x = s.call("t", s.call("sparse_coo_tensor", [[0, 1], [2, 0]], s.tensor([3.0, 4.0]), (2, 3)))
    s.expect_shape(x, (3, 2))
    s.expect_values(s.call("_indices", x), [[2, 0], [0, 1]], dtype="int64")
    s.expect_values(s.call("indices", s.call("coalesce", x)), [[0, 2], [1, 0]], dtype="int64")


@requirement("layouts/sum-of-sparse-is-that-of-its-values")
@forall(x=drawing.coo_cases(min_sparse=1), data=hs.data())
def test_sums_over_dims(s: Session, x: drawing.CooCase, data: hs.DataObject) -> None:
    total = s.call("sum", x.build(s))
    is_sparse(s, total, False)
    s.expect_values(total, x.dense.sum(), signed_zero=False)
    dim = data.draw(hs.integers(0, len(x.sizes) - 1))
    made = s.call("sum.dim_IntList", x.build(s), (dim,))
    if s.call("__getattr__", made, "is_sparse"):
        made = s.call("to_dense", made)
    s.expect_values(made, x.dense.sum(dim), signed_zero=False)


@requirement("layouts/sum-of-sparse-is-that-of-its-values")
def test_golden_sums_over_dims(s: Session) -> None:
    x = s.call("sparse_coo_tensor", [[0, 0, 1], [1, 1, 0]], s.tensor([1.0, 2.0, 3.0]), (2, 3))
    s.expect_values(s.call("sum", x), np.float32(6.0))
    s.expect_values(s.call("to_dense", s.call("sum.dim_IntList", x, (0,))), [3.0, 3.0, 0.0])
    s.expect_values(s.call("to_dense", s.call("sum.dim_IntList", x, (1,))), [3.0, 3.0])
