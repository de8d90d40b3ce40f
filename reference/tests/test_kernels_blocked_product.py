"""Products in blocks of registers: every height and width of a block, and every way the operands may lie."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import float32, float64
from gaugeblock.kernels.matrix_product import blocked_product

DTYPES = {np.float32: float32, np.float64: float64}
pytestmark = pytest.mark.skipif(blocked_product(float32) is None, reason="no fused multiply-add at this level")


def product(left: Any, right: Any) -> Any:
    """The product by the kernel, into memory that held NaN and has NaN behind it."""
    rows, columns = left.shape[0], right.shape[1]
    memory = np.full(rows * columns + 64, np.nan, left.dtype)
    kernel = blocked_product(DTYPES[left.dtype.type])
    assert kernel is not None
    addresses = (memory.ctypes.data, left.ctypes.data, right.ctypes.data)
    kernel(*addresses, rows, columns, left.shape[1], *left.strides, *right.strides)
    assert np.isnan(memory[rows * columns :]).all()
    return memory[: rows * columns].reshape(rows, columns)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_whole_numbers_are_exact(dtype: Any, turned: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(0)
    for rows in (1, 2, 3, 5, 7, 8, 9, 15, 17):
        for inner in (1, 2, 7, 8, 15, 16, 17, 33):
            for columns in (1, 3, 8, 15, 16, 17, 31, 32, 33, 65):
                left = rng.integers(-9, 9, (rows, inner)).astype(dtype)
                right = rng.integers(-9, 9, (inner, columns)).astype(dtype)
                want = left @ right
                if turned[0]:
                    left = np.asfortranarray(left)
                if turned[1]:
                    right = np.asfortranarray(right)
                np.testing.assert_array_equal(product(left, right), want)


def test_rows_may_lie_apart() -> None:
    wide = np.arange(40.0).reshape(4, 10)
    right = np.arange(60.0).reshape(5, 12)
    np.testing.assert_array_equal(product(wide[:, 2:7], right[:, 1:9]), wide[:, 2:7] @ right[:, 1:9])


def test_nan_and_infinity_stay_in_their_rows_and_columns() -> None:
    left, right = np.ones((9, 20), np.float32), np.ones((20, 35), np.float32)
    left[3, 5], right[7, 34] = np.inf, np.nan
    found = product(left, right)
    assert np.isinf(found[3, :34]).all()
    assert np.isnan(found[:, 34]).all()
    assert np.delete(found, 3, 0)[:, :34].tolist() == [[20.0] * 34] * 8


@pytest.mark.parametrize("threads", [1, 2])
def test_matmul_takes_it_for_matrices_of_moderate_size(threads: int) -> None:
    before = gb.get_num_threads()
    gb.set_num_threads(threads)
    try:
        left = gb.arange(64 * 200).reshape(64, 200).remainder(7).to(gb.float64)
        right = gb.arange(200 * 96).reshape(96, 200).remainder(5).to(gb.float64)
        for _ in range(2):
            found = (left @ right.t()).numpy()
            np.testing.assert_array_equal(found, left.numpy() @ right.numpy().T)
    finally:
        gb.set_num_threads(before)


def test_wrong_number_of_arguments() -> None:
    kernel = blocked_product(float32)
    assert kernel is not None
    with pytest.raises(TypeError, match="matrix product got 3 arguments"):
        kernel(1, 2, 3)
