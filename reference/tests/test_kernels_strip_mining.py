"""Rows of long bodies: the same bits whether a vector lies in memory or in buffers, and nothing else is written."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
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
