"""Functions of gaugeblock.sparse: softmax over specified elements, sampled products, matrices of diagonals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st


def matrix() -> Any:
    return gb.sparse_coo_tensor([[0, 0, 1, 0], [1, 2, 0, 1]], [0.0, 0.0, 3.0, 0.0], (2, 3))


def test_softmax_of_rows_and_columns() -> None:
    by_rows = gb.sparse.softmax(matrix(), 1)
    assert by_rows.is_coalesced()
    assert by_rows.to_dense().tolist() == [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    assert gb.sparse.softmax(matrix(), -2).values().tolist() == [1.0, 1.0, 1.0]
    assert gb.sparse.log_softmax(matrix(), 0).values().tolist() == [0.0, 0.0, 0.0]
    assert gb.sparse.softmax(matrix().int(), 1, dtype=gb.float64).values().tolist() == [0.5, 0.5, 1.0]


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3), nnz=st.integers(0, 8), log=st.booleans(),
    seed=st.integers(0, 2**32 - 1), data=st.data(),
)  # fmt: skip
def test_softmax_is_that_of_a_strided_tensor_with_minus_infinity_elsewhere(
    sizes: list[int], nnz: int, log: bool, seed: int, data: st.DataObject
) -> None:
    split, dim = data.draw(st.integers(1, len(sizes))), data.draw(st.integers(-len(sizes), len(sizes) - 1))
    random = np.random.default_rng(seed)
    indices = np.stack([random.integers(0, size, nnz) for size in sizes[:split]])
    numbers = random.normal(size=(nnz, *sizes[split:]))
    x = gb.sparse_coo_tensor(gb.from_numpy(indices), gb.from_numpy(numbers), sizes).coalesce()
    known = gb.sparse_coo_tensor(x.indices(), gb.ones_like(x.values()), sizes).to_dense().bool()
    expected = x.to_dense().masked_fill(~known, -np.inf).requires_grad_()
    function: Callable[..., Any] = gb.log_softmax if log else gb.softmax
    wanted = function(expected, dim).masked_fill(~known, 0.0)
    x = x.detach().requires_grad_()
    made = (gb.sparse.log_softmax if log else gb.sparse.softmax)(x, dim)
    np.testing.assert_allclose(made.detach().to_dense().numpy(), wanted.detach().numpy(), rtol=1e-12, atol=1e-12)
    weights = gb.arange(1.0, known.numel() + 1, dtype=gb.float64).reshape(sizes)
    (made.to_dense() * weights).sum().backward()
    (wanted * weights).sum().backward()
    gradient = expected.grad.masked_fill(~known, 0.0).numpy()
    np.testing.assert_allclose(x.grad.to_dense().numpy(), gradient, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: gb.sparse.softmax(matrix(), 2), IndexError, r"expected to be in range of \[-2, 1\], but got 2"),
        (lambda: gb.sparse.softmax(matrix().int(), 1), NotImplementedError, "takes float32 and float64, got Int"),
        (lambda: gb.sparse.softmax(gb.eye(2), 1), NotImplementedError, "takes tensors in coordinate form"),
        (lambda: gb.sparse.log_softmax(gb.eye(2).to_sparse_csr(), 1), NotImplementedError, "in coordinate form"),
        (lambda: gb.sparse.softmax([1.0], 0), TypeError, "sparse.softmax"),
    ],
)
def test_softmax_refuses(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_product_where_elements_are_specified() -> None:
    pattern = gb.tensor([[1.0, 0.0], [0.0, 2.0]]).to_sparse_csr().requires_grad_()
    first = gb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    second = gb.ones(3, 2)
    made = gb.sparse.sampled_addmm(pattern, first, second, beta=2, alpha=0.5)
    assert made.layout is gb.sparse_csr
    assert made.detach().to_dense().tolist() == [[5.0, 0.0], [0.0, 11.5]]
    made.to_dense().sum().backward()
    assert first.grad.tolist() == [[0.5] * 3] * 2
    assert pattern.grad.to_dense().tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_products_of_a_batch() -> None:
    pattern = gb.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]]).to_sparse_csr()
    first, second = gb.arange(12.0).reshape(2, 2, 3), gb.arange(12.0).reshape(2, 3, 2)
    whole = (first @ second).numpy() * pattern.to_dense().numpy()
    made = gb.sparse.sampled_addmm(pattern, first, second, beta=0)
    np.testing.assert_array_equal(made.to_dense().numpy(), whole)


@pytest.mark.parametrize(
    ("sizes", "dtype", "message"),
    [
        (((2, 3), (2, 2)), gb.float32, "cannot be multiplied"), (((2, 3), (3, 3)), gb.float32, "does not fit"),
        (((1, 2, 3), (3, 2)), gb.float32, "the same batch size"), (((2, 3), (3, 2)), gb.float64, "the same dtype"),
    ],
)  # fmt: skip
def test_products_that_do_not_fit_are_refused(sizes: Any, dtype: Any, message: str) -> None:
    first, second = [gb.ones(*one, dtype=dtype) for one in sizes]
    with pytest.raises(RuntimeError, match=message):
        gb.sparse.sampled_addmm(gb.eye(2).to_sparse_csr(), first, second)
    with pytest.raises(NotImplementedError, match="'input' must be of layout sparse_csr, got strided"):
        gb.sparse.sampled_addmm(gb.eye(2), first, second)


def test_diagonals_lie_in_the_columns_of_their_elements() -> None:
    rows = gb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    made = gb.sparse.spdiags(rows, gb.tensor([0, -1]), (4, 4))
    assert made.to_dense().tolist() == [[1, 0, 0, 0], [4, 2, 0, 0], [0, 5, 3, 0], [0, 0, 6, 0]]
    (made.to_dense() * gb.arange(16.0).reshape(4, 4)).sum().backward()
    assert rows.grad.tolist() == [[0.0, 5.0, 10.0], [4.0, 9.0, 14.0]]
    compressed = gb.sparse.spdiags(gb.tensor([1.0, 2.0]), gb.tensor(1), (2, 2), gb.sparse_csc)
    assert (compressed.layout, compressed.to_dense().tolist()) == (gb.sparse_csc, [[0.0, 2.0], [0.0, 0.0]])


@given(st.integers(0, 6), st.tuples(st.integers(0, 6), st.integers(0, 6)), st.sets(st.integers(-8, 8), max_size=4))
def test_every_diagonal_is_where_it_belongs(width: int, shape: tuple[int, int], offsets: set[int]) -> None:
    given_rows = np.arange(1.0, len(offsets) * width + 1).reshape(len(offsets), width)
    expected = np.zeros(shape)
    for row, offset in zip(given_rows, offsets, strict=True):
        for column in range(min(width, shape[1])):
            if 0 <= column - offset < shape[0]:
                expected[column - offset, column] = row[column]
    made = gb.sparse.spdiags(gb.from_numpy(given_rows), gb.tensor(list(offsets), dtype=gb.int64), shape)
    np.testing.assert_array_equal(made.to_dense().numpy(), expected)
    assert made._nnz() == np.count_nonzero(expected)


@pytest.mark.parametrize(
    ("offsets", "shape", "layout", "message"),
    [
        ([0, 0], (2, 2), None, r"offsets contain duplicate values: \[0, 0\]"),
        ([0], (2, 2), None, r"number of diagonals \(2\) does not match the number of offsets \(1\)"),
        ([0.0, 1.0], (2, 2), None, "offsets must have dtype Long but got Float"),
        ([0, 1], (2, 2, 2), None, r"shape must have two sizes, got \[2, 2, 2\]"),
        ([0, 1], (2, -2), None, "spdiags"),
        ([0, 1], (2, 2), gb.strided, "layout must be sparse_coo, sparse_csr or sparse_csc"),
        ([[0, 1]], (2, 2), None, "offsets must be a scalar or a vector"),
    ],
)
def test_diagonals_that_do_not_fit_are_refused(offsets: Any, shape: Any, layout: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        gb.sparse.spdiags(gb.ones(2, 2), gb.tensor(offsets), shape, layout)


@pytest.mark.parametrize("form", ["to_sparse", "to_sparse_csr"])
def test_conjugates(form: str) -> None:
    z = getattr(gb.tensor([[1 + 1j, 0], [3j, 2]]), form)()
    for made in (z.conj(), z.conj_physical(), z.clone().conj_physical_(), z.conj().resolve_conj()):
        assert (made.layout, made.is_conj()) == (z.layout, False)
        assert made.to_dense().tolist() == [[1 - 1j, 0], [-3j, 2]]
    assert z.adjoint().to_dense().tolist() == [[1 - 1j, -3j], [0, 2]]
    real = getattr(gb.eye(2), form)().requires_grad_()
    assert real.conj() is real
    z = z.detach().requires_grad_()
    (z.conj().to_dense() * 1j).sum().real.backward()
    assert z.grad.to_dense().tolist() == [[1j, 0], [1j, 1j]]
