"""The walk of grid kernels: layouts, tails, division of indices, strides, 64-bit indices, numbers, faults."""

from __future__ import annotations

import ctypes
import mmap
import random
import struct
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import (
    BY_NAME,
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
)
from gaugeblock.cuda import ptx
from gaugeblock.cuda.ptx.layout import divided, layout_of, magic
from gaugeblock.iteration.dimensions import INT32_MAX
from gaugeblock.iteration.tensor_iterator import COMPARISON
from gaugeblock.kernels.conversion import Immediate
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock.operators.pointwise import formula_kernel
from gaugeblock_testing import host_grid
from gaugeblock_testing.ptx_emulator import Machine

Array = np.ndarray[Any, Any]
ADD = {dtype: formula_kernel("add", (dtype, dtype), dtype, dtype) for dtype in (int8, float16, float32, complex64)}


def numbers(count: int, dtype: Any) -> Array:
    rng = np.random.default_rng(count)
    values: Array = rng.integers(-40, 40, count) * (1 + 2j if np.dtype(dtype).kind == "c" else 1)
    return values.astype(dtype)


def run(kernel: PointwiseKernel, out: Array, *inputs: Array, **options: Any) -> None:
    """Over arrays of one shape, innermost dim first."""
    arrays = (out, *(np.broadcast_to(one, out.shape) for one in inputs))
    strides = [array.strides[::-1] for array in arrays]
    host_grid.run(kernel, out.shape[::-1], strides, [array.ctypes.data for array in arrays], **options)


@pytest.mark.parametrize("divisor", [1, 2, 3, 5, 7, 10, 641, 65535, 65536, 65537, 46341, 2**30, 2**31 - 2, 2**31 - 1])
def test_division_by_multiplication(divisor: int) -> None:
    multiplier, shift = magic(divisor)
    assert 0 < multiplier < 1 << 32
    rng = random.Random(divisor)
    near = [divisor * k + move for k in (1, 2, 3, INT32_MAX // divisor) for move in (-1, 0, 1)]
    for index in (0, 1, INT32_MAX, *near, *(rng.randrange(1 << 31) for _ in range(300))):
        if 0 <= index <= INT32_MAX:
            assert divided(index, multiplier, shift) == index // divisor


@pytest.mark.parametrize("dtype", list(ADD), ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("blocks", [None, 1, 3])
def test_every_length_alignment_and_grid(dtype: Any, blocks: int | None) -> None:
    for count in (1, 2, 3, 15, 16, 17, 255, 1027, 5000):
        for offset in (0, 1, 2):
            a, b = (numbers(count + offset, dtype.numpy)[offset:] for _ in range(2))
            out = np.full(count + 8, 77, dtype.numpy)
            run(ADD[dtype], out[4 : count + 4], a, b, blocks=blocks)
            np.testing.assert_array_equal(out[4 : count + 4], a + b)
            assert (out[:4] == 77).all() and (out[count + 4 :] == 77).all()


def view(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Array:
    """A view of some strides, negative, permuted or 0, of a fresh array."""
    order = list(range(len(shape)))
    rng.shuffle(order)
    steps = [rng.choice([1, 1, 2, -1]) for _ in shape]
    own = [1 if rng.random() < 0.2 else size for size in shape]
    base = numbers(int(np.prod([own[d] * abs(steps[d]) for d in order])), dtype)
    base = base.reshape([own[d] * abs(steps[d]) for d in order]).transpose(np.argsort(order))
    return base[tuple(slice(None, None, step) for step in steps)]


@pytest.mark.parametrize("seed", range(30))
def test_any_strides(seed: int) -> None:
    rng = random.Random(seed)
    shape = tuple(rng.choice([1, 2, 3, 5, 9]) for _ in range(rng.choice([1, 2, 3, 4, 6])))
    first, second, result = (rng.choice([int8, int32, float32, float64, complex128]) for _ in range(3))
    out = np.zeros([size * 2 for size in shape], result.numpy)[tuple(slice(None, None, 2) for _ in shape)]
    a, b = view(rng, shape, first.numpy), view(rng, shape, second.numpy)
    run(formula_kernel("mul", (first, second), complex128, result), out, a, b, blocks=rng.choice([None, 1]))
    expected = np.broadcast_to(a.astype(complex) * b, shape)
    if not result.is_complex:
        expected = expected.real
    whole = np.dtype(np.int64 if result.category == "int" else result.numpy)
    np.testing.assert_array_equal(out, expected.astype(whole).astype(result.numpy))


KINDS = ("whole", "row", "column", "gapped", "turned", "one")


def row_view(kind: str, rows: int, columns: int, dtype: Any, offset: int) -> Array:
    """Elements for `rows` by `columns`, lying as `kind` says, from an offset on."""
    if kind == "turned":
        return numbers(rows * columns + offset, dtype)[offset:].reshape(columns, rows).T
    pitch = columns + (4 if kind == "gapped" else 0)
    tall, wide = (1 if kind in ("row", "one") else rows), (1 if kind in ("column", "one") else columns)
    own = numbers(rows * pitch + offset, dtype)[offset:].reshape(rows, pitch)[:tall, :wide]
    return np.broadcast_to(own, (rows, columns))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtypes", [(float32, float32), (int8, float16), (complex64, float64), (float64, int8)])
def test_wide_rows(kind: str, dtypes: tuple[Any, Any]) -> None:
    """Rows whose sizes and alignments leave steps of 16 bytes, fewer and one element: on the host and as PTX."""
    first, second = dtypes
    result = complex64 if complex64 in dtypes else float64
    kernel = formula_kernel("mul", dtypes, result, result)
    for columns, offset in ((16, 0), (8, 1), (6, 0), (5, 0), (32, 2)):
        for rows in (1, 3):
            a = row_view("gapped", rows, columns, first.numpy, 0)
            b = row_view(kind, rows, columns, second.numpy, offset)
            out = np.full((rows, columns + 2), 77, result.numpy)
            run(kernel, out[:, :columns], a, b, blocks=1)
            expected = a.astype(result.numpy) * b
            np.testing.assert_array_equal(out[:, :columns], expected)
            assert (out[:, columns:] == 77).all()
            target = np.zeros((rows, columns), result.numpy)
            arrays = (target, a, b)
            plan = ptx.launch_plan(
                kernel, target.shape[::-1], [one.strides[::-1] for one in arrays], [one.ctypes.data for one in arrays]
            )
            Machine(plan.image).run(plan.name, (1, 1, 1), (8, 1, 1), plan.arguments)
            np.testing.assert_array_equal(target, expected)


@pytest.mark.parametrize("step", [1, 2])
def test_each_element_is_computed_once(step: int) -> None:
    a, b = numbers(10000, np.float32)[::step], np.ones(10000 // step, np.float32)
    expected = a + b
    run(ADD[float32], a, a, b, blocks=3)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize(("shape", "steps"), [((), ()), ((1,), (0,)), ((1,), (4,)), ((1, 1), (0, 0))])
def test_single_elements(shape: tuple[int, ...], steps: tuple[int, ...]) -> None:
    a, out = np.array([3.0], np.float32), np.zeros(1, np.float32)
    host_grid.run(ADD[float32], shape, [steps] * 3, [out.ctypes.data, a.ctypes.data, a.ctypes.data])
    assert out[0] == 6.0


def test_strides_of_the_iteration_plan() -> None:
    a, b = gb.arange(60, dtype=gb.float32).reshape(3, 4, 5).permute(2, 0, 1), gb.arange(4, dtype=gb.int64)
    build: Any = gb.iteration.plan
    plan = build(a, b, config=COMPARISON, static_dtype=gb.float32)
    out = gb.empty_like(a)
    strides = [operand.strides for operand in (*plan.outputs, *plan.inputs)]
    kernel = formula_kernel("add", (float32, int64), float32, float32)
    host_grid.run(kernel, plan.shape, strides, [out.data_ptr(), a.data_ptr(), b.data_ptr()])
    assert gb.equal(out, a + b)


def test_64_bit_indices_reach_everything() -> None:
    step = 3 << 30
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)
    with mmap.mmap(-1, 2 * step + 4096, flags=flags) as memory:
        for place in range(3):
            struct.pack_into("4f", memory, place * step, *(place * 4.0 + k for k in range(4)))
        buffer = ctypes.c_char.from_buffer(memory)
        out = np.zeros((3, 4), np.float32)
        shape, strides = (4, 3), [(4, 16), (4, step), (0, 0)]
        assert layout_of(shape, strides, [4] * 3, 1).bits == 64
        one = np.ones(1, np.float32)
        values = [out.ctypes.data, ctypes.addressof(buffer), one.ctypes.data]
        host_grid.run(ADD[float32], shape, strides, values, blocks=2)
        emulated = np.zeros_like(out)
        plan = ptx.launch_plan(ADD[float32], shape, strides, [emulated.ctypes.data, *values[1:]])
        Machine(plan.image).run(plan.name, (2, 1, 1), (3, 1, 1), plan.arguments)
        del buffer
    np.testing.assert_array_equal(emulated, out)
    np.testing.assert_array_equal(out, np.arange(12, dtype=np.float32).reshape(3, 4) + 1)


def test_flat_loops_with_64_bit_indices() -> None:
    layout = layout_of((1 << 31,), [(1,)] * 3, [1] * 3, 1)
    assert (layout.bits, layout.width, layout.ndim) == (64, 16, 0)
    assert layout_of((INT32_MAX,), [(1,)] * 3, [1] * 3, 1).bits == 32


@pytest.mark.parametrize(
    ("dtype", "number"),
    [("int8", 300), ("uint8", -1), ("uint64", 2**64 - 1), ("float32", 0.1), ("float16", 0.1), ("bfloat16", 3),
     ("complex64", 1 + 2j), ("bool", True), ("int64", -(2**63))],
)  # fmt: skip
def test_numbers_are_converted_as_on_the_cpu(dtype: str, number: complex) -> None:
    own = BY_NAME[dtype]
    kernel = formula_kernel("add", (own, Immediate(own)), own, own)
    data = np.arange(40 * own.itemsize, dtype=np.uint8) % 2
    out, other = np.zeros_like(data), np.zeros_like(data)
    host_grid.run(kernel, (40,), [(own.itemsize,)] * 2, [out.ctypes.data, data.ctypes.data, number])
    kernel.contiguous(other.ctypes.data, data.ctypes.data, number, 40)
    np.testing.assert_array_equal(out, other)


@pytest.mark.parametrize("width", [1, 16])
def test_division_by_zero_is_reported_where_asked(width: int) -> None:
    kernel = formula_kernel("floor_divide", (int8, int8), int8, int8)
    a, b, out = np.arange(100, dtype=np.int8), np.ones(100, np.int8), np.zeros(100, np.int8)
    fault = ctypes.c_int32(0)
    step = slice(None, None, 1 if width > 1 else 2)
    run(kernel, out[step], a[step], b[step], fault=ctypes.addressof(fault))
    assert fault.value == 0
    np.testing.assert_array_equal(out[step], a[step])
    b[98] = 0
    run(kernel, out[step], a[step], b[step])
    run(kernel, out[step], a[step], b[step], fault=ctypes.addressof(fault))
    assert fault.value == 1


def test_several_inputs_and_dtypes_in_one_kernel() -> None:
    kernel = formula_kernel("where", (bool_, float16, int32), float64, uint8)
    condition = np.arange(1000) % 3 == 0
    a, b, out = np.full(1000, 7, np.float16), np.arange(1000, dtype=np.int32), np.zeros(1000, np.uint8)
    run(kernel, out, condition, a, b)
    np.testing.assert_array_equal(out, np.where(condition, 7, b).astype(np.uint8))
    run(kernel, out, condition, a, np.array(5, np.int32))
    np.testing.assert_array_equal(out, np.where(condition, 7, 5))
