"""Products of matrices in CSR form with strided ones: as by their dense forms, and refused where indices are wrong."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def products(draw: st.DrawFn) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Two matrices of small integers whose product is defined; most elements of the first are zero."""
    rows, inner, columns = (draw(st.integers(0, 9)) for _ in range(3))
    seed, share = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from((0.0, 0.2, 0.9)))
    numbers = np.random.default_rng(seed)
    sparse = numbers.integers(-4, 5, (rows, inner)) * (numbers.random((rows, inner)) < share)
    return sparse.astype(np.float64), numbers.integers(-4, 5, (inner, columns)).astype(np.float64)


@given(pair=products(), dtype=st.sampled_from((gb.float32, gb.float64, gb.int64)), turned=st.booleans())
def test_products_are_those_of_the_dense_forms(pair: tuple[Any, Any], dtype: gb.dtype, turned: bool) -> None:
    sparse, dense = (gb.tensor(array.tolist(), dtype=dtype).reshape(array.shape) for array in pair)
    given_dense = dense.t().contiguous().t() if turned else dense
    for form in (sparse.to_sparse_csr(), sparse.to_sparse_csc(), sparse.to_sparse()):
        made = form @ given_dense
        assert made.dtype is dtype
        assert made.shape == (pair[0].shape[0], pair[1].shape[1])
        np.testing.assert_array_equal(made.numpy(), pair[0] @ pair[1])


def test_a_row_with_an_infinite_factor_leaves_the_others() -> None:
    matrix = gb.sparse_csr_tensor(gb.tensor([0, 1, 1, 2]), gb.tensor([1, 0]), gb.tensor([2.0, 3.0]), (3, 2))
    dense = gb.tensor([[1.0, 2.0, 3.0, 4.0], [float("inf"), -0.0, 1.0, 0.5]])
    assert (matrix @ dense).tolist() == [[float("inf"), 0.0, 2.0, 1.0], [0.0] * 4, [3.0, 6.0, 9.0, 12.0]]


@pytest.mark.parametrize(
    ("part", "place", "value", "error", "message"),
    [
        ("col_indices", 0, 99, IndexError, r"col_indices must be in \[0, 5\), got 1 to 99"),
        ("col_indices", 1, -1, IndexError, r"col_indices must be in \[0, 5\), got -1 to 0"),
        ("crow_indices", 0, 1, RuntimeError, "crow_indices must begin with 0"),
        ("crow_indices", 1, 3, RuntimeError, r"end with nnz \(=2\) and not decrease"),
        ("crow_indices", 2, 9, RuntimeError, r"end with nnz \(=2\) and not decrease"),
    ],
)
@pytest.mark.parametrize("columns", [1, 6])
def test_indices_changed_to_wrong_ones_are_refused(
    part: str, place: int, value: int, error: type[Exception], message: str, columns: int
) -> None:
    matrix = gb.sparse_csr_tensor(gb.tensor([0, 1, 2]), gb.tensor([0, 1]), gb.tensor([1.0, 2.0]), (2, 5))
    getattr(matrix, part)()[place] = value
    with pytest.raises(error, match=message):
        matrix @ gb.ones(5, columns)


def test_gradients_of_both_factors() -> None:
    dense = gb.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    sparse = dense.to_sparse_csr().requires_grad_()
    other = gb.ones(3, 5, requires_grad=True)
    (sparse @ other).sum().backward()
    assert other.grad.tolist() == [[1.0] * 5, [3.0] * 5, [2.0] * 5]
    assert sparse.grad.layout is gb.strided  # as PyTorch's: elements that are not specified have a gradient too
    assert sparse.grad.tolist() == [[5.0] * 3] * 2
