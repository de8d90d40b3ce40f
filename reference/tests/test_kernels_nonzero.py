"""The places of elements that are not zero, beside NumPy's."""

from __future__ import annotations

import math
from typing import Any

import gaugeblock as gb
import numpy as np
import pytest

KINDS = ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(7,), (5, 3), (2, 1, 9), (3, 2, 2, 4), (1, 1), (40, 50)])
def test_places_are_those_of_numpy(sizes: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(3)
    for share in (0.0, 0.1, 0.9, 1.0):
        array = (rng.random(sizes) < share).astype(np.float64)
        given = gb.from_numpy(array).to(getattr(gb, kind))
        layouts: list[tuple[Any, Any]] = [(given, array), (given[::2], array[::2]), (given[..., :1], array[..., :1])]
        layouts.append((given.transpose(0, -1), array.swapaxes(0, -1)))
        for tensor, values in layouts:
            for _ in range(2):
                found = tensor.nonzero()
                assert found.dtype is gb.int64 and found.tolist() == np.argwhere(values).tolist()
                assert [one.tolist() for one in gb.where(tensor)] == [one.tolist() for one in values.nonzero()]
            assert not found.numel() or found.stride() == (1, len(found))


def test_rare_values_and_sizes() -> None:
    assert gb.tensor([0.0, -0.0, math.nan, math.inf, 1e-45]).nonzero().tolist() == [[2], [3], [4]]
    assert gb.tensor([0j, 1j, -1 + 0j]).nonzero().tolist() == [[1], [2]]
    assert [tuple(gb.full((), one).nonzero().shape) for one in (0, 2)] == [(0, 0), (1, 0)]
    assert tuple(gb.ones(2, 0, 3).nonzero().shape) == (0, 3)
    assert gb.ones(3).expand(2, 3).nonzero().tolist() == [[i, j] for i in range(2) for j in range(3)]
    assert gb.ones([1] * 70).nonzero().tolist() == [[0] * 70]
