"""Reduction and scan kernels against NumPy: dims, strides, dtypes, precision, specials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import DType, bool_, complex128, float16, float32, float64, int8, int32, int64, uint8
from gaugeblock.kernels import reduction_ops, scan
from gaugeblock.kernels.isa import supported_levels
from gaugeblock.kernels.reduction import ReductionKernel
from gaugeblock.kernels.reduction_phases import Reduction
from gaugeblock.kernels.scan import scan_kernel

Array = np.ndarray[Any, Any]
LEVELS = supported_levels()
CASES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((7,), (0,)), ((1000,), (0,)), ((0,), (0,)), ((7, 33), (0,)), ((7, 33), (1,)), ((3, 40, 50), (1,)),
    ((3, 40, 50), (0, 2)), ((3, 40, 50), (0, 1, 2)), ((4, 5), ()), ((0, 3), (0,)), ((3, 0, 2), (0, 1)),
    ((100, 3), (0,)),
]  # fmt: skip


def reduced(
    reduction: Reduction, array: Array, dims: tuple[int, ...], input: DType, results: Sequence[DType],
    numbers: Sequence[float] = (), level: int = -1,
) -> list[Array]:  # fmt: skip
    kept = [d for d in range(array.ndim) if d not in dims][::-1]
    inner = sorted(dims, reverse=True)
    outs = [np.empty([array.shape[d] for d in kept[::-1]], dtype.numpy) for dtype in results]
    arguments: list[Any] = [out.ctypes.data for out in outs] + [array.ctypes.data, *numbers, len(kept), len(inner)]
    for d in (*kept, *inner):
        arguments.append(array.shape[d])
    for d in (*kept, *inner):
        arguments.append(array.strides[d])
    for out in outs:
        arguments += out.strides[::-1]
    ReductionKernel("test", reduction, input, input, tuple(results), LEVELS[level]).reduce(*arguments)
    return outs


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize(("shape", "dims"), CASES, ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_sum_over_any_dims(shape: tuple[int, ...], dims: tuple[int, ...], order: Any, level: int) -> None:
    array = np.asarray(np.random.default_rng(1).standard_normal(shape).astype(np.float32), order=order)
    (got,) = reduced(reduction_ops.sum_reduction(float32), array, dims, float32, [float32], level=level)
    np.testing.assert_array_equal(got, array.astype(np.longdouble).sum(axis=dims).astype(np.float32))


@pytest.mark.parametrize("dtype", [bool_, uint8, int8, int32, int64], ids=lambda d: d.name)
def test_integer_sums_and_products_wrap_in_int64(dtype: DType) -> None:
    array = np.random.default_rng(2).integers(0, 2 if dtype is bool_ else 100, (30, 41)).astype(dtype.numpy)
    for dims in ((0,), (1,), (0, 1)):
        (total,) = reduced(reduction_ops.sum_reduction(int64 if dtype is bool_ else dtype), array, dims, dtype, [int64])
        np.testing.assert_array_equal(total, array.sum(axis=dims, dtype=np.int64))
        (product,) = reduced(reduction_ops.prod_reduction(dtype), array, dims, dtype, [int64])
        np.testing.assert_array_equal(product, array.prod(axis=dims, dtype=np.int64))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dims", [(0,), (1,)])
def test_positions_take_the_first_and_nan_wins(largest: bool, dims: tuple[int, ...]) -> None:
    array = np.random.default_rng(3).integers(0, 5, (33, 70)).astype(np.float32)
    array[3, 5] = array[3, 60] = np.nan
    positions = reduction_ops.position_reduction(float32, largest, False)
    values, index = reduced(positions, array, dims, float32, [float32, int64])
    np.testing.assert_array_equal(index, (np.argmax if largest else np.argmin)(array, dims[0]))
    np.testing.assert_array_equal(values, (np.max if largest else np.min)(array, dims[0]))


def test_positions_of_all_lowest_values() -> None:
    for array, dtype in ((np.full(100, -np.inf), float64), (np.full(100, -128, np.int8), int8)):
        _, index = reduced(reduction_ops.position_reduction(dtype, True, False), array, (0,), dtype, [dtype, int64])
        assert index == 0


@pytest.mark.parametrize("dtype", [bool_, int8, float16, float64], ids=lambda d: d.name)
def test_extremes_truth_and_counts(dtype: DType) -> None:
    array = (np.random.default_rng(4).standard_normal((45, 67)) * 2).astype(np.int8).astype(dtype.numpy)
    for dims in ((0,), (1,), (0, 1)):
        for largest in (True, False):
            (got,) = reduced(reduction_ops.extreme_reduction(dtype, largest), array, dims, dtype, [dtype])
            np.testing.assert_array_equal(got, (array.max if largest else array.min)(axis=dims))
        for every in (True, False):
            (got,) = reduced(reduction_ops.truth_reduction(every), array, dims, dtype, [bool_])
            np.testing.assert_array_equal(got, ((array != 0).all if every else (array != 0).any)(axis=dims))
        (got,) = reduced(reduction_ops.count_reduction(False), array, dims, dtype, [int64])
        np.testing.assert_array_equal(got, (array != 0).sum(axis=dims))


def test_half_sums_do_not_saturate() -> None:
    (total,) = reduced(reduction_ops.sum_reduction(float16), np.ones(3000, np.float16), (0,), float16, [float16])
    (mean,) = reduced(reduction_ops.mean_reduction(float16), np.ones(70000, np.float16), (0,), float16, [float16])
    assert total == 3000.0 and mean == 1.0


def test_float64_sums_are_compensated() -> None:
    array = np.array([1e16, 1.0, -1e16] * 1000)
    (total,) = reduced(reduction_ops.sum_reduction(float64), array, (0,), float64, [float64])
    assert total == 1000.0
    infinite = np.array([np.inf, 1.0, 1.0] * 50)
    (total,) = reduced(reduction_ops.sum_reduction(float64), infinite, (0,), float64, [float64])
    assert total == np.inf


def test_nan_is_ignored_by_nansum_and_nanmean() -> None:
    array = np.array([1.0, np.nan, 3.0] * 40)
    assert reduced(reduction_ops.nansum_reduction(float64), array, (0,), float64, [float64])[0] == 160.0
    assert gb.from_numpy(array).nanmean().item() == 2.0


def test_nanmean_takes_elements_in_the_dtype_that_is_asked_for() -> None:
    """In float16 the last element is -0.0 and the mean 0.0; to convert only the result would give -0.0."""
    x = gb.tensor([0.5, -1.0, 0.5, -1.1754943508222875e-38])
    for mean in (gb.nanmean(x, dtype=gb.float16), gb.nanmean(x, dtype=gb.float16, out=gb.empty((), dtype=gb.float16))):
        assert mean.item() == 0 and not np.signbit(mean.item())


@pytest.mark.parametrize("correction", [0.0, 1.0, 2.0])
def test_variance_is_accurate_far_from_zero(correction: float) -> None:
    array = np.random.default_rng(5).standard_normal((50, 70)) + 1e6
    for dims in ((0,), (1,), (0, 1)):
        value, mean = reduced(
            reduction_ops.variance_reduction(float64, False, True), array, dims, float64, [float64, float64],
            [correction],
        )
        np.testing.assert_allclose(value, array.astype(np.longdouble).var(axis=dims, ddof=correction), rtol=1e-12)
        np.testing.assert_allclose(mean, array.mean(axis=dims), rtol=1e-14)


def test_complex_variance_and_norms() -> None:
    rng = np.random.default_rng(6)
    array = rng.standard_normal((20, 9)) + 1j * rng.standard_normal((20, 9))
    variance = reduction_ops.variance_reduction(complex128, True, False)
    (value,) = reduced(variance, array, (0,), complex128, [float64], [1.0])
    np.testing.assert_allclose(value, array.std(axis=0, ddof=1), rtol=1e-13)
    for order, number in (("0", 0.0), ("1", 1.0), ("2", 2.0), ("inf", np.inf), ("-inf", -np.inf), ("p", 3.5)):
        numbers = [number] if order == "p" else []
        (norm,) = reduced(reduction_ops.norm_reduction(complex128, order), array, (1,), complex128, [float64], numbers)
        np.testing.assert_allclose(norm, np.linalg.norm(array, number, 1), rtol=1e-13)


def test_logsumexp_is_stable() -> None:
    array = np.array([[1000.0, 1000.0], [-1000.0, -1000.0], [-np.inf, -np.inf]])
    (got,) = reduced(reduction_ops.exponentials_reduction(float64, True), array, (1,), float64, [float64])
    np.testing.assert_allclose(got, [1000.0 + np.log(2.0), -1000.0 + np.log(2.0), -np.inf])


def scanned(name: str, array: Array, dim: int, dtype: DType, results: Sequence[DType]) -> list[Array]:
    phase = {
        "sum": scan.running_sum(dtype), "prod": scan.running_product(dtype),
        "max": scan.running_extreme(dtype, True),
    }[name]  # fmt: skip
    outs = [np.empty(array.shape, result.numpy) for result in results]
    order = [dim, *(d for d in range(array.ndim) if d != dim)]
    arrays = [*outs, array]
    strides = [a.strides[d] for a in arrays for d in order]
    kernel = scan_kernel(name, phase, dtype, dtype, tuple(results))
    kernel(*[a.ctypes.data for a in arrays], array.ndim, *[array.shape[d] for d in order], *strides)
    return outs


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_running_results_follow_index_order(dim: int) -> None:
    array = np.random.default_rng(8).integers(-4, 5, (3, 7, 11)).astype(np.int32)
    np.testing.assert_array_equal(scanned("sum", array, dim, int32, [int64])[0], array.cumsum(dim, dtype=np.int64))
    np.testing.assert_array_equal(scanned("prod", array, dim, int32, [int64])[0], array.cumprod(dim, dtype=np.int64))
    values, index = scanned("max", array, dim, int32, [int32, int64])
    np.testing.assert_array_equal(values, np.maximum.accumulate(array, dim))
    np.testing.assert_array_equal(np.take_along_axis(array, index, dim), values)


def test_running_maximum_keeps_nan_and_the_last_of_equals() -> None:
    array = np.array([1.0, 3.0, 3.0, np.nan, 5.0])
    values, index = scanned("max", array, 0, float64, [float64, int64])
    np.testing.assert_array_equal(values, [1.0, 3.0, 3.0, np.nan, np.nan])
    assert index.tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("dtype", [float32, float64, int8, complex128], ids=lambda d: d.name)
def test_rows_of_every_length(dtype: DType, level: int) -> None:
    array = np.random.default_rng(5).integers(-9, 9, (150, 3)).astype(dtype.numpy)
    total = int64 if dtype is int8 else dtype
    for count in range(array.shape[0]):
        rows = np.ascontiguousarray(array[:count].T)
        (found,) = reduced(reduction_ops.sum_reduction(dtype), rows, (1,), dtype, [total], level=level)
        np.testing.assert_array_equal(found, rows.sum(axis=1))
        if dtype in (float32, int8):
            where = reduction_ops.position_reduction(dtype, True, False)
            found, place = reduced(where, rows, (1,), dtype, [dtype, int64], level=level)
            if count:
                np.testing.assert_array_equal(found, rows.max(axis=1))
                np.testing.assert_array_equal(place, rows.argmax(axis=1))


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
def test_adjacent_outputs_of_every_number(level: int) -> None:
    array = np.random.default_rng(6).integers(-9, 9, (5, 150)).astype(np.float32)
    for count in range(1, array.shape[1]):
        columns = np.ascontiguousarray(array[:, :count])
        (found,) = reduced(reduction_ops.sum_reduction(float32), columns, (0,), float32, [float32], level=level)
        np.testing.assert_array_equal(found, columns.sum(axis=0))


def test_nan_wins_in_every_lane() -> None:
    for count in (1, 15, 16, 33, 70):
        for place in range(count):
            row = np.arange(count, dtype=np.float32)
            row[place] = np.nan
            for largest in (True, False):
                reduction = reduction_ops.extreme_reduction(float32, largest)
                (found,) = reduced(reduction, row[None], (1,), float32, [float32])
                assert np.isnan(found[0])
