"""Python numbers in half-float arithmetic: float32 for products and quotients, rounded first elsewhere."""

from __future__ import annotations

from typing import Any

import gaugeblock as gb
import pytest

THIRD = gb.tensor([3.0], dtype=gb.bfloat16)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x * 0.3, 0.8984375),
        (lambda x: x / 0.3, 10.0),
        (lambda x: gb.addcmul(gb.zeros_like(x), x, x, value=0.3), 2.703125),
        (lambda x: gb.addcdiv(gb.zeros_like(x), x, x * x, value=0.3), 0.10009765625),
        (lambda x: gb.lerp(gb.zeros_like(x), x, 0.3), 0.8984375),
        (lambda x: x + 0.3, 3.296875),
        (lambda x: x - 0.30078125, 2.703125),
        (lambda x: gb.tensor([0.01], dtype=gb.float16) * 1e6, 10000.0),
    ],
)
def test_number(call: Any, expected: float) -> None:
    assert call(THIRD).item() == expected


def test_addcmul_takes_a_value_beyond_the_half_range() -> None:
    x = gb.tensor([0.01], dtype=gb.float16)
    assert gb.addcmul(x, x, gb.tensor([0.5], dtype=gb.float16), value=1e6).item() == 5000.0
    with pytest.raises(RuntimeError):
        gb.add(x, x, alpha=1e6)
