"""Numbers are rounded to bfloat16 once, in every call that takes numbers."""

from __future__ import annotations

from collections.abc import Callable

import gaugeblock as gb
import numpy as np
import pytest
from gaugeblock.core.rounding import rounded

# Its float32 value lies halfway between 1 and 1.0078125.
NUMBER = 1 + 2.0**-8 + 2.0**-40
WAYS: dict[str, Callable[[float], gb.Tensor]] = {
    "full": lambda v: gb.full((1,), v, dtype=gb.bfloat16),
    "full_like": lambda v: gb.full_like(gb.zeros(1, dtype=gb.bfloat16), v),
    "long full": lambda v: gb.full((5000,), v, dtype=gb.bfloat16)[-1:],
    "tensor": lambda v: gb.tensor([v], dtype=gb.bfloat16),
    "array": lambda v: gb.tensor(np.array([v]), dtype=gb.bfloat16),
    "scalar_tensor": lambda v: gb.scalar_tensor(v, dtype=gb.bfloat16).reshape(1),
    "fill_": lambda v: gb.zeros(1, dtype=gb.bfloat16).fill_(v),
    "index_fill_": lambda v: gb.zeros(1, dtype=gb.bfloat16).index_fill_(0, gb.tensor([0]), v),
    "to": lambda v: gb.tensor([v], dtype=gb.float64).to(gb.bfloat16),
}


@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_rounded_once(way: str) -> None:
    assert WAYS[way](NUMBER).tolist() == [1.0078125]
    assert WAYS[way](-NUMBER).tolist() == [-1.0078125]
    assert WAYS[way](1 + 2.0**-8 - 2.0**-40).tolist() == [1.0]


def test_extremes_keep_their_kind() -> None:
    values = [0.0, -0.0, float("inf"), -float("inf"), 3.4e38, 3.3962e38, 1e308, 1e-40, 2.0**-134, 2.0**-133, 5e-324]
    found = rounded(np.array([*values, float("nan")]), gb.bfloat16).astype(np.float64)
    inf = float("inf")
    assert found[:-1].tolist()[:4] == [0.0, -0.0, inf, -inf]
    assert found[4:7].tolist() == [inf, inf, inf]
    assert found[8:11].tolist() == [0.0, 2.0**-133, 0.0]
    assert np.signbit(found[1])
    assert np.isnan(found[-1])
