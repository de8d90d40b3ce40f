"""Rows: the same bits whether a vector lies in memory or in buffers, and nothing else is read or written."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.dtype import bfloat16, float32
from gaugeblock.kernels import pointwise
from gaugeblock.kernels.isa import current_level
from gaugeblock.operators.formulas import FORMULAS

COUNTS = (0, 1, 2, 15, 16, 17, 31, 33, 64, 65)


def test_long_bodies_are_written_once() -> None:
    kernels = {
        name: pointwise.PointwiseKernel(name, FORMULAS[name], (float32,), float32, (float32,), current_level())
        for name in ("neg", "digamma")
    }
    texts = {name: kernel.text(kernel.body()) for name, kernel in kernels.items()}
    assert "%v1_i0" in texts["neg"]
    if current_level().vector_bytes > 8:
        assert "%v1_i0" not in texts["digamma"]


@pytest.mark.parametrize("name", ["digamma", "erfinv", "tan"])
@pytest.mark.parametrize("dtype", [float32, gb.float64, bfloat16])
def test_one_operand_in_every_layout(name: str, dtype: Any) -> None:
    values = gb.linspace(-0.95, 0.95, 3 * max(COUNTS), dtype=gb.float64).to(dtype)
    whole = getattr(gb, name)(values)
    for count in COUNTS:
        for step in (1, 2, 3):
            found = getattr(gb, name)(values[: count * step : step])
            assert found.tolist() == whole[: count * step : step].tolist()


@pytest.mark.parametrize("count", COUNTS)
def test_outputs_in_between_stay_as_they_are(count: int) -> None:
    base, exponent = gb.rand(count, dtype=gb.float64), gb.rand(1, dtype=gb.float64)
    out = gb.full((2 * count + 3,), -7.0, dtype=gb.float64)
    gb.pow(base, exponent, out=out[: 2 * count : 2])
    assert out[: 2 * count : 2].tolist() == gb.pow(base, exponent.expand(count).contiguous()).tolist()
    assert out[1 : 2 * count : 2].tolist() + out[2 * count :].tolist() == [-7.0] * (count + 3)


@pytest.mark.parametrize("count", COUNTS)
def test_a_row_may_be_computed_in_place(count: int) -> None:
    values = gb.linspace(0.1, 0.9, 2 * count + 3, dtype=gb.float64)
    expected, rest = gb.digamma(values[:count]).tolist(), values[count:].tolist()
    values[:count].digamma_()
    assert values[:count].tolist() == expected
    assert values[count:].tolist() == rest


@pytest.mark.parametrize("columns", COUNTS)
@pytest.mark.parametrize("exponents", ["row", "column", "number"])
def test_rows_of_every_length_and_repeated_operands(columns: int, exponents: str) -> None:
    base = gb.rand(7, columns, dtype=gb.float64)
    shape = {"row": (columns,), "column": (7, 1), "number": ()}[exponents]
    exponent = gb.rand(shape, dtype=gb.float64)
    out = gb.full((9, columns), -7.0, dtype=gb.float64)
    gb.pow(base, exponent, out=out[1:8])
    assert out[1:8].tolist() == gb.pow(base, exponent.expand(7, columns).contiguous()).tolist()
    assert out[0].tolist() + out[8].tolist() == [-7.0] * (2 * columns)


DTYPES = (gb.bool, gb.uint8, gb.int16, float32, bfloat16, gb.complex64, gb.complex128)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("columns", COUNTS)
def test_elements_are_repeated_along_rows_and_along_tiles(dtype: Any, turned: bool, columns: int) -> None:
    values = gb.randint(0, 2, (columns, 7) if turned else (7, columns)).to(dtype)
    whole, ones = values.t() if turned else values, [0, 1, 1, 0, 1, 0, 1]
    column = gb.tensor(ones).to(dtype).unsqueeze(1)
    rows = list(zip(whole.tolist(), ones, strict=True))
    assert (whole == column).tolist() == (column == whole).tolist() == [[a == b for a in row] for row, b in rows]
    picked = gb.where(column == gb.tensor(1, dtype=dtype), whole, column)
    assert picked.tolist() == [row if b else [b] * columns for row, b in rows]


ALL_DTYPES = [*DTYPES, gb.float16, gb.int64, gb.float64]


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_the_last_elements_of_a_row_are_all_that_is_written(dtype: Any) -> None:
    values = (gb.arange(140) % 3 == 1).to(dtype)
    for count in range(140):
        out = gb.full((143,), 1, dtype=dtype)
        gb.logical_not(values[:count], out=out[1 : count + 1])
        assert out.tolist() == [1, *(1 - k for k in values[:count].tolist()), *[1] * (142 - count)]
        changed = values.clone()
        changed[:count].mul_(changed[:count])
        assert changed.tolist() == values.tolist()


@pytest.mark.skipif(not hasattr(mmap, "PROT_READ"), reason="pages are protected by POSIX's mprotect")
def test_the_last_elements_may_end_a_page() -> None:
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    libc = ctypes.CDLL(None)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if libc.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 0):
        pytest.skip("pages cannot be protected")
    try:
        whole = np.frombuffer(memory, np.float32, page // 4)
        for count in range(1, 70):
            tail = gb.from_numpy(whole[-count:])
            tail.fill_(2.0)
            assert (tail + tail).tolist() == [4.0] * count
            assert tail.sum().item() == 2.0 * count and tail.amax().item() == 2.0
            assert gb.softmax(tail, 0).sum().item() == pytest.approx(1.0)
            tail.mul_(tail)
            assert tail.tolist() == [4.0] * count
    finally:
        libc.mprotect(ctypes.c_void_p(start + page), ctypes.c_size_t(page), 3)
