"""Pointwise kernels against NumPy: dtypes, lengths around the vector width, strides, broadcasts, numbers, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gaugeblock.core.dtype import (
    ALL_DTYPES,
    DType,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint64,
)
from gaugeblock.kernels.conversion import Immediate
from gaugeblock.kernels.expression import Expr, select
from gaugeblock.kernels.isa import current_level
from gaugeblock.kernels.pointwise import PointwiseKernel, pointwise_kernel
from gaugeblock.operators.formulas import FORMULAS

Array = np.ndarray[Any, Any]
INTS = [dtype for dtype in ALL_DTYPES if dtype.category == "int"]
FLOATS = [dtype for dtype in ALL_DTYPES if dtype.category == "float"]


def formula(name: str, operands: Sequence[DType | Immediate], compute: DType, result: DType) -> PointwiseKernel:
    return pointwise_kernel(name, FORMULAS[name], operands, compute, (result,))


def strided(kernel: PointwiseKernel, out: Array, *inputs: Array) -> None:
    arrays = [out, *(np.broadcast_to(array, out.shape) for array in inputs)]
    strides = [step for array in arrays for step in array.strides[::-1]]
    kernel.strided(*[array.ctypes.data for array in arrays], out.ndim, *out.shape[::-1], *strides)


def sample(dtype: DType, n: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    if dtype.category == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if dtype.category == "int":
        info = np.iinfo(dtype.numpy)
        return rng.integers(info.min, info.max, n, dtype=dtype.numpy, endpoint=True)
    real = rng.standard_normal(n) * 4.0
    return (real + 1j * rng.standard_normal(n) if dtype.is_complex else real).astype(dtype.numpy)


def width(dtype: DType) -> int:
    return max(1, current_level().vector_bytes // dtype.itemsize)


@pytest.mark.parametrize("dtype", [float32, float64, int8, int64, uint8, complex64], ids=lambda d: d.name)
def test_every_length_around_the_vector_width_writes_each_element_once(dtype: DType) -> None:
    kernel = formula("add", (dtype, dtype), dtype, dtype)
    w = width(dtype)
    for n in (0, 1, 2, w - 1, w, w + 1, 2 * w - 1, 2 * w, 2 * w + 1, 5 * w + 3):
        a, b = sample(dtype, n), sample(dtype, n, 1)
        guarded = np.full(n + 2, 7, dtype.numpy)
        kernel.contiguous(guarded[1:].ctypes.data, a.ctypes.data, b.ctypes.data, n)
        np.testing.assert_array_equal(guarded[1 : n + 1], a + b)
        assert guarded[0] == 7 and guarded[n + 1] == 7


@pytest.mark.parametrize("dtype", INTS, ids=lambda d: d.name)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_integers_wrap_as_in_numpy(name: str, dtype: DType) -> None:
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply}.get(name) or getattr(np, name)
    a, b = sample(dtype, 301), sample(dtype, 301, 1)
    out = np.empty_like(a)
    formula(name, (dtype, dtype), dtype, dtype).contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, a.size)
    np.testing.assert_array_equal(out, function(a, b))


@pytest.mark.parametrize("dtype", [d for d in ALL_DTYPES if not d.is_complex], ids=lambda d: d.name)
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_give_bools_and_treat_nan_as_unordered(name: str, dtype: DType) -> None:
    words = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    function = getattr(np, words[name])
    a, b = sample(dtype, 133), sample(dtype, 133, 1)
    b[::3] = a[::3]
    if dtype.category == "float":
        a[::7] = np.nan
    out = np.empty(a.size, bool)
    formula(name, (dtype, dtype), dtype, bool_).contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, a.size)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, function(a, b))
    assert set(out.view(np.uint8)) <= {0, 1}


def test_any_nonzero_byte_reads_as_true() -> None:
    raw = np.arange(256, dtype=np.uint8)
    out = np.empty(256, np.uint8)
    kernel = formula("identity", (bool_,), int32, uint8)
    kernel.contiguous(out.ctypes.data, raw.ctypes.data, 256)
    assert out.tolist() == [0] + [1] * 255


@pytest.mark.parametrize("dtype", [float32, int8, complex128, float16], ids=lambda d: d.name)
def test_strided_transposed_and_broadcast_operands_equal_contiguous_ones(dtype: DType) -> None:
    kernel = formula("add", (dtype, dtype), dtype, dtype)
    base = sample(dtype, 2 * 5 * 3 * 64).reshape(2, 5, 3, 64)
    for a, b in (
        (base[0], base[1]),
        (base[0, :, :, ::2], base[1, :, :, 1::2]),
        (base[0].transpose(2, 1, 0), base[1].transpose(2, 1, 0)),
        (base[0], base[1, :1, :1, :1]),
        (base[0], base[1, 0, 0]),
        (base[0, :, :, :1], base[1]),
        (base[0, 0, 0, 0], base[1, 0, 0, 0]),
    ):
        expected = np.asarray(np.add(a, b))
        out = np.empty(expected.shape, dtype.numpy)
        strided(kernel, out, a, b)
        np.testing.assert_array_equal(out, expected)
        gapped = np.zeros((*expected.shape, 2), dtype.numpy)[..., 0]
        strided(kernel, gapped, a, b)
        np.testing.assert_array_equal(gapped, expected)


def test_mixed_dtypes_are_converted_in_the_loop() -> None:
    a, b = sample(int32, 100), sample(float32, 100)
    out = np.empty(100, np.float64)
    kernel = formula("add", (int32, float32), float64, float64)
    kernel.contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, 100)
    np.testing.assert_array_equal(out, a.astype(np.float64) + b)


def test_integer_operands_are_rounded_to_the_half_compute_dtype_first() -> None:
    a, b = np.array([2049], np.int64), np.array([1.0], np.float16)
    out = np.empty(1, np.float32)
    formula("mul", (int64, float16), float16, float32).contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, 1)
    assert out[0] == 2048.0


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)
def test_half_arithmetic_is_computed_in_float32_and_rounded_once(dtype: DType) -> None:
    a, b = sample(dtype, 200), sample(dtype, 200, 3)
    wide = np.float64 if dtype is float64 else np.float32
    out = np.empty_like(a)
    for name, function in (("add", np.add), ("mul", np.multiply), ("div", np.divide)):
        formula(name, (dtype, dtype), dtype, dtype).contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, 200)
        expected = function(a.astype(wide), b.astype(wide)).astype(dtype.numpy)
        assert out.tobytes() == expected.tobytes()


def test_numbers_are_converted_at_every_call() -> None:
    a = np.array([1, 2, 3], np.int8)
    out = np.empty(3, np.int8)
    kernel = formula("add", (int8, Immediate(int8)), int8, int8)
    for number, first in ((1000, -23), (-1, 0), (True, 2), (2**40 + 5, 6), (2**63 + 5, 6), (2**64 - 1, 0)):
        kernel.contiguous(out.ctypes.data, a.ctypes.data, number, 3)
        assert out[0] == first
    for number in (2**64, -(2**63) - 1):
        with pytest.raises(OverflowError):
            kernel.contiguous(out.ctypes.data, a.ctypes.data, number, 3)
    with pytest.raises(TypeError):
        kernel.contiguous(out.ctypes.data, a.ctypes.data, 1.5, 3)


def test_numbers_of_every_kind() -> None:
    out32, out64, whole = np.empty(2, np.float32), np.empty(2, np.complex64), np.empty(2, np.uint64)
    one = np.ones(2, np.float32)
    scale = formula("mul", (float32, Immediate(float32)), float32, float32)
    scale.contiguous(out32.ctypes.data, one.ctypes.data, 0.1, 2)
    assert out32[0] == np.float32(0.1)
    fill = pointwise_kernel("fill", FORMULAS["identity"], (Immediate(complex64),), complex64, (complex64,))
    fill.contiguous(out64.ctypes.data, 1 - 2j, 2)
    assert out64[1] == 1 - 2j
    fill = pointwise_kernel("fill", FORMULAS["identity"], (Immediate(uint64),), uint64, (uint64,))
    fill.contiguous(whole.ctypes.data, 2**64 - 1, 2)
    assert whole[0] == 2**64 - 1


def test_wrong_arguments_raise_type_error() -> None:
    kernel = formula("add", (float32, float32), float32, float32)
    for function in (kernel.contiguous, kernel.strided):
        for arguments in ((), (1, 2), (0, 0, 0, "x"), (None, 0, 0, 0), (0, 0, 0, 1, 1)):
            with pytest.raises(TypeError):
                function(*arguments)
    with pytest.raises(TypeError):
        kernel.strided(0, 0, 0, 65, *[1] * 65, *[4] * 195)


@pytest.mark.parametrize("dtype", INTS, ids=lambda d: d.name)
def test_integer_division_family(dtype: DType) -> None:
    a, b = sample(dtype, 500), sample(dtype, 500, 1)
    small = np.random.default_rng(2).integers(1, 9, 500).astype(dtype.numpy)
    b = np.where(np.arange(500) % 2, b, small)
    b[b == 0] = 3
    if dtype.is_signed:
        a[:2], b[:2] = np.iinfo(dtype.numpy).min, -1
        b[2:40:3] = -small[2:40:3]
    out = np.empty_like(a)
    with np.errstate(all="ignore"):
        floor = np.floor_divide(a, b)
        rest = np.remainder(a, b)
    for name, expected in (("floor_divide", floor), ("remainder", rest), ("fmod", np.fmod(a, b))):
        formula(name, (dtype, dtype), dtype, dtype).contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, 500)
        if dtype.is_signed:
            expected[:2] = np.iinfo(dtype.numpy).min if name == "floor_divide" else 0
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "div.trunc"])
@pytest.mark.parametrize("dtype", [int8, int32, int64, uint64], ids=lambda d: d.name)
def test_integer_division_by_zero_raises(name: str, dtype: DType) -> None:
    kernel = formula(name, (dtype, dtype), dtype, dtype)
    a, out = np.ones(200, dtype.numpy), np.empty(200, dtype.numpy)
    for position in (0, 63, 199):
        b = np.ones(200, dtype.numpy)
        b[position] = 0
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            kernel.contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, 200)
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            strided(kernel, out, a, b)
    kernel.contiguous(out.ctypes.data, a.ctypes.data, a.ctypes.data, 200)


def test_a_formula_must_not_branch_on_lanes_or_mix_types() -> None:
    def branching(x: Expr) -> Expr:
        return x if x > 0.0 else -x

    def mixing(x: Expr) -> Expr:
        return select(x > 0.0, x, x) + (x > 0.0)

    for function in (branching, mixing):
        with pytest.raises(TypeError):
            _ = pointwise_kernel(function.__name__, function, (float32,), float32, (float32,)).contiguous


def test_large_calls_release_the_interpreter_lock_and_agree() -> None:
    n = 1_000_003
    a, b = sample(float32, n), sample(float32, n, 1)
    out = np.empty(n, np.float32)
    formula("add", (float32, float32), float32, float32).contiguous(out.ctypes.data, a.ctypes.data, b.ctypes.data, n)
    np.testing.assert_array_equal(out, a + b)
