"""Conversions among all dtypes against NumPy, the 16-bit floats exhaustively."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gaugeblock.core.dtype import ALL_DTYPES, DType, bfloat16, complex32, float16, float32, float64, int32, uint64
from gaugeblock.core.rounding import complex_numbers, rounded
from gaugeblock.kernels.isa import supported_levels
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock.operators.formulas import FORMULAS

Array = np.ndarray[Any, Any]
LEVELS = supported_levels()


def cast(array: Array, source: DType, target: DType, level: int = -1) -> Array:
    function = FORMULAS["identity"]
    kernel = PointwiseKernel("identity", function, (source,), target, (target,), LEVELS[level])
    out = np.empty(array.shape, target.numpy)
    kernel.contiguous(out.ctypes.data, array.ctypes.data, array.size)
    return out


@pytest.mark.parametrize("target", ALL_DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("source", ALL_DTYPES, ids=lambda d: d.name)
def test_values_in_range_convert_as_in_numpy(source: DType, target: DType) -> None:
    rng = np.random.default_rng(5)
    small = rng.integers(0, 100, 203)
    values = small % 2 == 0 if source.category == "bool" else small.astype(np.float64)
    if source.kind >= 2:
        values += 0.75
    if source.is_signed and target.is_signed:
        values[::5] *= -1
    array = rounded(values + 2j * values if source.is_complex else values, source)
    got = cast(array, source, target)
    numbers = complex_numbers(array) if source is complex32 else array
    expected = rounded(numbers.real if source.is_complex and not target.is_complex else numbers, target)
    if source.is_complex and target.category == "bool":
        expected = numbers != 0
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("dtype", [float16, bfloat16], ids=lambda d: d.name)
def test_all_half_patterns_survive_and_widen_exactly(dtype: DType, level: int) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    half = bits.view(dtype.numpy)
    np.testing.assert_array_equal(cast(half, dtype, dtype, level).view(np.uint16), bits)
    wide = cast(half, dtype, float32, level)
    expected = half.astype(np.float32)
    nan = np.isnan(expected)
    assert wide[~nan].tobytes() == expected[~nan].tobytes()
    assert np.isnan(wide[nan]).all()
    back = cast(wide, float32, dtype, level)
    assert back[~nan].tobytes() == half[~nan].tobytes()


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("source", [float32, float64], ids=lambda d: d.name)
def test_narrowing_rounds_once_to_nearest_even(source: DType, level: int) -> None:
    rng = np.random.default_rng(6)
    exponent = rng.integers(-30, 20, 4000)
    array = (rng.standard_normal(4000) * 2.0**exponent).astype(source.numpy)
    array[:9] = [0.0, -0.0, np.inf, -np.inf, 65520.0, 65519.996, 2.0**-25, 2.0**-24, 1e38]
    ties = np.arange(1024, 2048) * 2.0**-10 + 2.0**-11
    array = np.concatenate([array, ties.astype(source.numpy), (ties * (1 + 2.0**-30)).astype(source.numpy)])
    with np.errstate(over="ignore"):
        assert cast(array, source, float16, level).tobytes() == array.astype(np.float16).tobytes()
    if source is float32:
        assert cast(array, source, bfloat16, level).tobytes() == array.astype(ml_dtypes.bfloat16).tobytes()
    with np.errstate(over="ignore"):
        assert cast(array, source, float32, level).tobytes() == array.astype(np.float32).tobytes()


def test_float64_to_bfloat16_does_not_round_twice() -> None:
    above_tie = np.array([1.0 + 2.0**-8 + 2.0**-40])
    assert float(cast(above_tie, float64, bfloat16)[0]) == 1.0 + 2.0**-7


def test_out_of_range_floats_convert_to_some_int_without_a_trap() -> None:
    array = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30] * 13)
    for target in (int32, uint64):
        assert cast(array, float64, target).dtype == target.numpy


def test_large_unsigned_values_convert() -> None:
    array = np.array([2.0**63, 2.0**64 - 2048, 3.0])
    assert cast(array, float64, uint64).tolist() == [2**63, 2**64 - 2048, 3]
    assert cast(np.array([2**64 - 1], np.uint64), uint64, float64)[0] == 2.0**64
