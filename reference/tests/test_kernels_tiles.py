"""Strided operands through tiles: the same values as NumPy for all item sizes, shapes around the tile, and layouts."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.tiles import COLUMNS, MOST_ROWS, ROWS

DTYPES = ("bool", "int8", "int16", "float32", "float64", "complex64", "complex128")
SHAPES = (
    (ROWS, COLUMNS), (ROWS + 1, COLUMNS + 1), (3, 9), (5, 8), (2 * ROWS - 1, 2 * COLUMNS + 7), (3, ROWS + 2, 20),
    (2, 3, 40, 17), (MOST_ROWS + 1, COLUMNS + 3), (2 * MOST_ROWS + 3, 11), (2 * ROWS + 1, COLUMNS // 2 + 1),
)  # fmt: skip


def drawn(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:  # type: ignore[type-arg]
    return (np.random.default_rng(seed).random(shape) * 50).astype(dtype)


def apart(array: np.ndarray, step: int) -> tuple[gb.Tensor, np.ndarray]:  # type: ignore[type-arg]
    """The array's values `step` elements apart, and the array that holds them."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * step), array.dtype)
    wide[..., ::step] = array
    return gb.from_numpy(wide)[..., ::step], wide


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_layouts(shape: tuple[int, ...], dtype: str) -> None:
    x, y = drawn(shape, dtype, 0), drawn(shape, dtype, 1)
    axes = tuple(range(len(shape)))
    for order in (axes, axes[::-1], (*axes[1:], axes[0])):
        moved = gb.from_numpy(np.ascontiguousarray(x.transpose(order))).permute(*np.argsort(order).tolist())
        for step in (1, 2, 3):
            other, _ = apart(y, step)
            assert np.array_equal((moved + other).numpy(), x + y)
            assert np.array_equal(gb.empty_like(moved).copy_(other).numpy(), y)


@pytest.mark.parametrize("rows", [ROWS - 1, 2 * ROWS + 1, MOST_ROWS + 9])
def test_operands_of_many_item_sizes(rows: int) -> None:
    """Buffers of unlike item sizes lie side by side."""
    shape = (rows, COLUMNS + 1)
    chosen, x, y = drawn(shape, "int8", 0) > 24, drawn(shape, "complex128", 1), drawn(shape, "complex128", 2)
    mask, one, other = (gb.from_numpy(np.ascontiguousarray(array.T)).t() for array in (chosen, x, y))
    assert np.array_equal(gb.where(mask, one, other).numpy(), np.where(chosen, x, y))
    wide = gb.empty(shape[::-1], dtype=gb.complex128).t()
    assert np.array_equal(wide.copy_(mask).numpy(), chosen.astype("complex128"))
    narrow = gb.empty(shape[::-1], dtype=gb.int8).t()
    assert np.array_equal(narrow.copy_(gb.from_numpy(x.real.copy())).numpy(), x.real.astype("int8"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_strided_outputs_leave_the_gaps_alone(dtype: str) -> None:
    shape = (ROWS + 3, COLUMNS + 5)
    x, y = drawn(shape, dtype, 0), drawn(shape, dtype, 1)
    out, held = apart(np.zeros(shape, dtype), 2)
    held[..., 1::2] = 1
    gb.add(gb.from_numpy(np.ascontiguousarray(x.T)).t(), gb.from_numpy(y), out=out)
    assert np.array_equal(held[..., ::2], x + y)
    assert held[..., 1::2].all()
    turned = np.ascontiguousarray(x.T)
    gb.from_numpy(turned).t().add_(gb.from_numpy(y))
    assert np.array_equal(turned.T, x + y)


def test_nothing_beyond_the_last_element_is_read() -> None:
    held = gb.zeros(4 * 1024, dtype=gb.float32)
    tail = held[-2 * 201 + 1 :: 2]
    assert tail.numel() == 201
    assert (tail + 1).sum().item() == 201


def test_faults_are_raised() -> None:
    zeros = gb.zeros(20, 60, dtype=gb.int32)[:, ::2]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        gb.div(gb.ones(20, 30, dtype=gb.int32), zeros, rounding_mode="trunc")


@pytest.mark.parametrize("columns", [1, 2, 3, 7])
def test_short_rows_lie_across(columns: int) -> None:
    x, row, column = drawn((200, columns), "float32", 0), drawn((columns,), "float32", 1), drawn((200, 1), "float32", 2)
    tensor = gb.from_numpy(x)
    assert np.array_equal((tensor + gb.from_numpy(row)).numpy(), x + row)
    assert np.array_equal((tensor * gb.from_numpy(column)).numpy(), x * column)
    strided, wide = apart(x, 2)
    strided.mul_(gb.from_numpy(row))
    assert np.array_equal(wide[:, ::2], x * row)
    assert not wide[:, 1::2].any()
