"""Loops and branches inside formulas: each lane goes round as often as it alone would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gaugeblock.core.dtype import float64, int64
from gaugeblock.kernels.body import Formula
from gaugeblock.kernels.expression import F64, Expr, constant, select, when, while_loop
from gaugeblock.kernels.isa import supported_levels
from gaugeblock.kernels.pointwise import PointwiseKernel
from gaugeblock_testing import host_grid

Array = np.ndarray[Any, Any]
LEVELS = supported_levels()


def run(formula: Formula, dtype: Any, x: Array, level: int = -1, strided: bool = False) -> Array:
    kernel = PointwiseKernel("loop", formula, (dtype,), dtype, (dtype,), LEVELS[level])
    out = np.empty_like(x)
    if strided:
        kernel.strided(out.ctypes.data, x.ctypes.data, 1, x.size, x.itemsize, x.itemsize)
    else:
        kernel.contiguous(out.ctypes.data, x.ctypes.data, x.size)
    grid = np.empty_like(x)
    host_grid.run(kernel, (x.size,), [(x.itemsize,)] * 2, [grid.ctypes.data, x.ctypes.data])
    np.testing.assert_array_equal(grid, out)
    return out


def collatz(n: Expr) -> Expr:
    """Steps from n to 1."""

    def step(n: Expr, count: Expr) -> tuple[Expr, Expr]:
        return select((n & 1) == 0, n >> 1, n * 3 + 1), count + 1

    return while_loop(lambda n, count: n > 1, step, n, constant(0, n.type))[1]


@pytest.mark.parametrize("level", range(len(LEVELS)), ids=[level.name for level in LEVELS])
@pytest.mark.parametrize("strided", [False, True])
def test_lanes_go_round_on_their_own(level: int, strided: bool) -> None:
    def steps(n: int) -> int:
        return 0 if n <= 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    n = np.arange(-3, 60)
    assert run(collatz, int64, n, level, strided).tolist() == [steps(k) for k in n.tolist()]


def test_loops_in_loops_and_lanes_from_before() -> None:
    def formula(x: Expr) -> Expr:
        twice = x + x

        def inner(row: Expr) -> Expr:
            one = constant(1.0, F64)
            return while_loop(lambda k, total: k <= row, lambda k, total: (k + 1.0, total + twice), one, one * 0.0)[1]

        rows = while_loop(
            lambda row, total: row <= x, lambda row, total: (row + 1.0, total + inner(row)), x * 0.0 + 1.0, x * 0.0
        )
        return rows[1] + twice

    x = np.arange(20.0)
    assert run(formula, float64, x).tolist() == [k * (k + 1) / 2 * 2 * k + 2 * k for k in x.tolist()]


def test_a_branch_gives_the_other_value_where_the_condition_fails() -> None:
    x = np.array([3.0, -4.0, 0.0, np.nan, 9.0] * 5)
    found = run(lambda x: when(x > 0.0, lambda: 1.0 / x, x), float64, x)
    assert np.array_equal(found, np.where(x > 0, 1 / np.where(x > 0, x, 1), x), equal_nan=True)


def test_a_step_keeps_the_types() -> None:
    with pytest.raises(TypeError, match="lanes of the same types"):
        while_loop(lambda x: x > 0.0, lambda x: (x > 1.0,), constant(1.0, F64))
