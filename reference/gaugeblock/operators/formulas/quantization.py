"""Formulas of quantization: numbers to integers by a scale and a zero point, back, and both at once.

They take the reciprocal of the scale, as float32, where PyTorch multiplies by it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...kernels.body import VECTORS
from ...kernels.expression import F32, F64, INT, Expr, constant, select
from ...kernels.functions import cast, fused, intrinsic, nearest_int, rint

LIMITS = {"qint8": (-128, 127), "quint8": (0, 255)}
"""Dtype of eight bits -> the least and the greatest integer."""
LEAST, GREATEST = -(1 << 31), (1 << 31) - 1


def nearest(value: Expr, dtype: str) -> Expr:
    """The integer of eight bits nearest to a value, halves to even, within the limits; NaN becomes any."""
    lowest, highest = LIMITS[dtype]
    # Processors convert what is too small for int32, as -inf, to its least value, which the last line raises.
    whole = nearest_int(select(value > highest, highest, value))
    return intrinsic("smin", intrinsic("smax", whole, constant(lowest, INT[32])), constant(highest, INT[32]))


def quantize_once(x: Expr, inverse: Expr, zero_point: Expr, *, dtype: str) -> Expr:
    """x * inverse + zero_point, rounded once to float32, then to an integer."""
    return nearest(fused(x, inverse, zero_point), dtype)


def quantize(x: Expr, inverse: Expr, zero_point: Expr, *, dtype: str) -> Expr:
    """The product of x and inverse, rounded to float32, and the zero point, rounded to an integer."""
    if dtype != "qint32":
        return nearest(x * inverse + zero_point, dtype)
    value = rint(x * inverse + zero_point)
    above, below = value >= -float(LEAST), value < float(LEAST)
    inside = cast(select(above, 0.0, value), INT[32])
    return select(above, constant(GREATEST, INT[32]), select(below, LEAST, inside))


def dequantize(value: Expr, zero_point: Expr, scale: Expr) -> Expr:
    """(value - zero_point) * scale of 8-bit integers in float32, which holds them all."""
    return (value - zero_point) * scale


def dequantize_wide(value: Expr, zero_point: Expr, scale: Expr) -> Expr:
    """(value - zero_point) * scale of int32, with the exact difference, which float64 holds."""
    return cast(cast(value, F64) - cast(zero_point, F64), F32) * cast(scale, F32)


def dequantize_channel(value: Expr, zero_point: Expr, scale: Expr) -> Expr:
    """(value - zero_point) * scale with the difference in float32 and the product in float64."""
    return cast(cast(cast(value, F32) - cast(zero_point, F32), F64) * cast(scale, F64), F32)


def fake_quantize(
    x: Expr, inverse: Expr, zero_point: Expr, scale: Expr, lowest: Expr, highest: Expr, *, single: bool = False
) -> tuple[Expr, Expr]:  # fmt: skip
    """x quantized and dequantized, and whether it was within the limits. The zero point is added after rounding. With
    `single` the result is rounded to float32."""
    value = rint(x * inverse) + zero_point
    inside = (value >= lowest) & (value <= highest)
    above = select(value < highest, value, select(value == value, highest, lowest))
    result = (select(above > lowest, above, lowest) - zero_point) * scale
    return cast(cast(result, F32), x.type) if single else result, inside


FORMULAS: dict[str, Callable[..., Any]] = {
    **{f"quantize_once.{dtype}": partial(quantize_once, dtype=dtype) for dtype in LIMITS},
    **{f"quantize.{dtype}": partial(quantize, dtype=dtype) for dtype in (*LIMITS, "qint32")},
    "dequantize": partial(dequantize), "dequantize.wide": dequantize_wide, "dequantize.channel": dequantize_channel,
    "fake_quantize": fake_quantize, "fake_quantize.single": partial(fake_quantize, single=True),
}  # fmt: skip
for _name in ("dequantize", *[f"{kind}.{dtype}" for kind in ("quantize", "quantize_once") for dtype in LIMITS]):
    setattr(FORMULAS[_name], VECTORS, 2)
