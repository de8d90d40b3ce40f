"""Gradients through tensors in coordinate form, and gradients that are such tensors."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as hs

from ..autograd.leaves import backward, leaf
from ..backend import Array
from ..forall import forall
from ..requirement import requirement
from ..session import Handle, Session
from . import drawing
from .test_arithmetic import expect_sparse, is_sparse


def looked_up(s: Session, weight: Handle, indices: Array, sparse: bool = True) -> Handle:
    """The rows that an embedding looks up."""
    made: Handle = s.call("embedding", weight, s.tensor(indices), -1, False, sparse)
    return made


def summed(sizes: tuple[int, ...], indices: Array, rows: Array) -> Array:
    """Zeros with rows added at indices."""
    made = np.zeros(sizes)
    np.add.at(made, indices.reshape(-1), rows.reshape(-1, *sizes[1:]))
    return made


@hs.composite
def lookups(draw: hs.DrawFn) -> tuple[int, Array, Array]:
    """The height of a table of two columns, indices, and what flows back to the rows that they name."""
    height = draw(hs.integers(1, 5))
    dims = draw(hs.lists(hs.integers(0, 3), min_size=1, max_size=2))
    count = int(np.prod(dims))
    indices = np.array(draw(hs.lists(hs.integers(0, height - 1), min_size=count, max_size=count)), np.int64)
    flow = draw(hs.lists(hs.integers(-3, 3), min_size=2 * count, max_size=2 * count))
    return height, indices.reshape(dims), np.array(flow, np.float64).reshape(*dims, 2)


@requirement("layouts/embedding-gradient-is-sparse")
@forall(case=lookups())
def test_embeddings(s: Session, case: tuple[int, Array, Array]) -> None:
    height, indices, flow = case
    weight = leaf(s, np.ones((height, 2)))
    backward(s, s.call("mul.Tensor", looked_up(s, weight, indices), s.tensor(flow)))
    grad = s.call("grad", weight)
    expect_sparse(s, grad, summed((height, 2), indices, flow))
    s.expect_of_last(s.call("sparse_dim", grad), 1, "sparse_dim of the gradient", "{}")


@requirement("layouts/embedding-gradient-is-sparse")
def test_golden_embedding(s: Session) -> None:
    weight = leaf(s, np.ones((4, 2)))
    indices = np.array([1, 2, 1])
    backward(s, looked_up(s, weight, indices))
    expect_sparse(s, s.call("grad", weight), np.array([[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [0.0, 0.0]]))
    weight = leaf(s, np.ones((4, 2)))
    backward(s, looked_up(s, weight, indices, sparse=False))
    is_sparse(s, s.call("grad", weight), False)


@requirement("layouts/sparse-gradients-accumulate")
@forall(steps=hs.lists(hs.booleans(), min_size=1, max_size=4))
def test_accumulation(s: Session, steps: list[bool]) -> None:
    weight = leaf(s, np.ones((3, 2)))
    want = np.zeros((3, 2))
    for place, sparse in enumerate(steps):
        if sparse:
            backward(s, looked_up(s, weight, np.array([place % 3, 1])))
            want[[place % 3, 1]] += 1 if place % 3 != 1 else 0
            want[1] += 2 if place % 3 == 1 else 0
        else:
            backward(s, s.call("mul.Scalar", weight, 2.0))
            want += 2
        grad = s.call("grad", weight)
        if all(steps[: place + 1]):
            expect_sparse(s, grad, want)
        else:
            is_sparse(s, grad, False)
            s.expect_values(grad, want)


@requirement("layouts/sparse-gradients-accumulate")
def test_both_kinds_in_one_pass(s: Session) -> None:
    for first in (True, False):
        weight = leaf(s, np.ones((2, 1)))
        rows = s.call("sum", looked_up(s, weight, np.array([1])))
        whole = s.call("sum", s.call("mul.Scalar", weight, 2.0))
        backward(s, s.call("add.Tensor", *((rows, whole) if first else (whole, rows))))
        grad = s.call("grad", weight)
        is_sparse(s, grad, False)
        s.expect_values(grad, [[2.0], [3.0]], dtype="float64")


@requirement("layouts/sparse-gradient-steps-a-dense-parameter")
@forall(x=drawing.coo_cases(dtype="float64"), alpha=hs.integers(-2, 3))
def test_steps(s: Session, x: drawing.CooCase, alpha: int) -> None:
    start = np.arange(float(np.prod(x.sizes))).reshape(x.sizes)
    made = s.call("add_.Tensor", s.tensor(start), x.build(s), alpha=alpha)
    s.expect_values(made, start + alpha * x.dense, signed_zero=False)


@requirement("layouts/sparse-gradient-steps-a-dense-parameter")
def test_golden_step(s: Session) -> None:
    x = s.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    rows = s.call("sparse_coo_tensor", [[2, 0, 2]], s.tensor([[1.0, 1.0], [10.0, 10.0], [1.0, 3.0]]), (3, 2))
    s.call("add_.Tensor", x, rows, alpha=-0.5)
    s.expect_values(x, [[-4.0, -3.0], [3.0, 4.0], [4.0, 4.0]])


@requirement("layouts/gradients-reach-what-is-specified")
@forall(x=drawing.coo_cases(dtype="float64"))
def test_gradients_of_values(s: Session, x: drawing.CooCase) -> None:
    flow = np.arange(1.0, np.prod(x.sizes) + 1).reshape(x.sizes)
    values = leaf(s, x.values)
    made = s.call("sparse_coo_tensor", s.tensor(x.indices), values, x.sizes)
    backward(s, s.call("mul.Tensor", s.call("to_dense", made), s.tensor(flow)))
    want = flow[tuple(x.indices)] if x.sparse_dim else np.broadcast_to(flow, x.values.shape)
    s.expect_values(s.call("grad", values), want)


@requirement("layouts/gradients-reach-what-is-specified")
def test_gradients_of_dense_tensors(s: Session) -> None:
    x = leaf(s, np.array([[0.0, 2.0], [3.0, 0.0]]))
    values = s.call("values", s.call("to_sparse", x))
    backward(s, s.call("mul.Tensor", values, values))
    s.expect_values(s.call("grad", x), [[0.0, 4.0], [6.0, 0.0]], dtype="float64")
    x = leaf(s, np.array([[0.0, 2.0], [3.0, 0.0]]))
    back = s.call("to_dense", s.call("to_sparse", x))
    backward(s, s.call("mul.Tensor", back, s.tensor([[1.0, 2.0], [3.0, 4.0]], "float64")))
    s.expect_values(s.call("grad", x), [[0.0, 2.0], [3.0, 0.0]], dtype="float64")


@requirement("layouts/gradients-reach-what-is-specified")
def test_gradients_of_sums(s: Session) -> None:
    values = leaf(s, np.array([1.0, 2.0, 3.0]))
    made = s.call("sparse_coo_tensor", [[0, 0, 1], [1, 1, 0]], values, (2, 2))
    s.call("backward", s.call("sum", made))
    s.expect_values(s.call("grad", values), [1.0, 1.0, 1.0], dtype="float64")


@requirement("layouts/sparse-products-have-gradients")
@forall(data=hs.data())
def test_gradients_of_products(s: Session, data: hs.DataObject) -> None:
    rows, inner, cols = (data.draw(hs.integers(1, 4)) for _ in range(3))
    x = data.draw(drawing.coo_cases(shape=(rows, inner), dtype="float64"))
    y = data.draw(drawing.matrices(inner, cols))
    flow = np.arange(1.0, rows * cols + 1).reshape(rows, cols)
    values, dense = leaf(s, x.values), leaf(s, y)
    made = s.call("mm", s.call("sparse_coo_tensor", s.tensor(x.indices), values, x.sizes), dense)
    backward(s, s.call("mul.Tensor", made, s.tensor(flow)))
    s.expect_values(s.call("grad", dense), x.dense.T @ flow, signed_zero=False)
    s.expect_values(s.call("grad", values), (flow @ y.T)[tuple(x.indices)], signed_zero=False)


@requirement("layouts/sparse-products-have-gradients")
def test_golden_gradients_of_products(s: Session) -> None:
    values, dense = leaf(s, np.array([2.0, 3.0])), leaf(s, np.array([[1.0], [5.0]]))
    x = s.call("sparse_coo_tensor", [[0, 1], [1, 0]], values, (2, 2))
    backward(s, s.call("matmul", x, dense))
    s.expect_values(s.call("grad", values), [5.0, 1.0], dtype="float64")
    s.expect_values(s.call("grad", dense), [[3.0], [2.0]], dtype="float64")
