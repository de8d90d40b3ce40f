"""Tracing which loop body writes which element: every element once, vectors only along contiguous runs."""

from __future__ import annotations

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.kernels.isa import capability
from gaugeblock.operators.introspection import trace_paths, vector_width


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 31, 32, 33, 100, 300_000])
def test_each_element_is_written_once(n: int) -> None:
    trace = trace_paths("add.Tensor", gb.arange(n, dtype=gb.float32), 1.0)
    assert np.array_equal(trace.vector + trace.scalar, np.ones(n))
    left = 0 if capability() == "avx512" else n % trace.width  # AVX-512 stores the first lanes of a vector alone
    assert trace.vector_elements == n - left
    assert np.array_equal(trace.result.numpy(), np.arange(n) + np.float32(1))
    assert trace.capability == capability()


def test_vectors_meet_contiguous_operands_only() -> None:
    a = gb.ones(4, 128)
    strided = trace_paths("mul.Tensor", a[:, ::2], 2.0)
    assert strided.buffered
    assert strided.scalar_elements == 0
    short = trace_paths("mul.Tensor", a[:, ::50], 2.0)
    assert not short.buffered
    assert short.vector_elements == 0
    assert not trace_paths("mul.Tensor", a, gb.ones(128)).buffered
    assert trace_paths("mul.Tensor", a, gb.ones(128)).scalar_elements == 0
    assert trace_paths("mul.Tensor", a, gb.ones(4, 1)).scalar_elements == 0


def test_width_depends_on_the_dtype() -> None:
    assert vector_width(gb.float32) == 2 * vector_width(gb.float64)
    assert vector_width(gb.float32) * 4 in (16, 32, 64)
    assert trace_paths("add.Tensor", gb.ones(64, dtype=gb.float64), 1.0).width == vector_width(gb.float64)


def test_only_pointwise_operators() -> None:
    with pytest.raises(ValueError, match="must be a pointwise operator's name, got 'sum'"):
        trace_paths("sum", gb.ones(3))
