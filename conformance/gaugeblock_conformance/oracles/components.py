"""Parts of numbers: mantissa and exponent, length and angle, real and imaginary part, powers in double."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .moves import Oracle
from .near import Near, exactly


def mantissa_and_exponent(x: Array) -> tuple[Near, Near]:
    mantissa, exponent = np.frexp(x)
    return exactly(mantissa, "input"), exactly(exponent, "int32")


def polar(size: Array, angle: Array) -> Near:
    return Near(size * (np.cos(angle) + 1j * np.sin(angle)), np.abs(size) + 0 * angle, 4, "complex")


def float_power(x: Any, exponent: Any) -> Near:
    """Computed in double, whatever the operands are."""
    several = any(np.asarray(v).dtype.kind == "c" for v in (x, exponent))
    base, power = (np.asarray(v).astype(np.clongdouble if several else np.longdouble) for v in (x, exponent))
    value = np.power(base, power)
    steps = np.where(base == 0, 0, np.abs(power * np.log(np.where(base == 0, 1, np.abs(base)))))
    scale = np.where(np.isfinite(value), np.abs(value) * (1 + steps + np.abs(power)), 0)
    if not several:
        return Near(value, np.where(np.isfinite(value), np.abs(value), 0), 4, "float64")
    return Near(value, scale, 4, "complex128", open={"power_of_zero": (base == 0) & ~(power.real > 0)})


COMPONENTS: dict[str, Oracle] = {
    "frexp": mantissa_and_exponent,
    "complex": lambda real, imag: Near(real + 1j * imag, kind="complex"),
    "polar": polar,
    "isreal": lambda x: np.isreal(x),
    "float_power": float_power,
    "conj_physical": lambda x: x.conj(),
}
