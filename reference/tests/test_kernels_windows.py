"""Small convolutions against sums over windows: strides, padding, dilation, groups, dims, the call repeated."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.calls.functions import ops


def convolved(source: Any, weight: Any, bias: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """The sums in float64, one output after the other."""
    dims, kernel = source.ndim - 2, weight.shape[2:]
    wide = np.pad(source.astype(np.float64), [(0, 0), (0, 0), *[(padding, padding)] * dims])
    counts = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(wide.shape[2:], kernel, strict=True)]
    result = np.empty((source.shape[0], weight.shape[0], *counts))
    inputs, outputs = weight.shape[1], weight.shape[0] // groups
    for sample, channel, *place in np.ndindex(result.shape):
        first = channel // outputs * inputs
        begins = [p * stride for p in place]
        window = tuple(slice(b, b + dilation * k, dilation) for b, k in zip(begins, kernel, strict=True))
        part = wide[(sample, slice(first, first + inputs), *window)]
        result[(sample, channel, *place)] = (part * weight[channel]).sum() + bias[channel]
    return result


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [(1, 0, 1, 1), (2, 1, 1, 2), (1, 2, 2, 1), (3, 1, 2, 2)])
def test_sums_over_windows(dims: int, dtype: str, options: tuple[int, int, int, int]) -> None:
    random, groups = np.random.default_rng(dims), options[3]
    source = random.standard_normal((2, 4, *(7, 6, 5)[:dims])).astype(dtype)
    weight = random.standard_normal((6, 4 // groups, *(3, 2, 2)[:dims])).astype(dtype)
    bias = random.standard_normal(6).astype(dtype)
    function = getattr(ops, f"conv{dims}d")
    for added in (np.zeros(6, dtype), bias):
        wanted = convolved(source, weight, added, *options)
        given = gb.from_numpy(added) if added.any() else None
        found = [function(gb.from_numpy(source), gb.from_numpy(weight), given, *options) for _ in range(3)]
        assert np.allclose(found[0].numpy(), wanted, rtol=1e-5, atol=1e-5)
        assert all(gb.equal(found[0], again) for again in found[1:])


def test_padding_is_multiplied_too() -> None:
    source, weight = gb.ones(1, 1, 2, 2), gb.full((1, 1, 3, 3), float("inf"))
    for _ in range(2):
        assert ops.conv2d(source, weight, None, 1, 1).isnan().all()


def test_operands_that_do_not_lie_row_major() -> None:
    source, weight = gb.arange(32.0).reshape(1, 2, 4, 4), gb.arange(8.0).reshape(1, 2, 2, 2)
    plain = ops.conv2d(source, weight)
    for other in (source.transpose(2, 3).contiguous().transpose(2, 3), source.to(memory_format=gb.channels_last)):
        for _ in range(2):
            assert gb.allclose(ops.conv2d(other, weight), plain)
