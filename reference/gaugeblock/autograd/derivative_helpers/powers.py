"""Gradients of powers, with the conventions where the base or the exponent is 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

Number = int | float | complex


def pow_base(grad: Tensor, base: Tensor, exponent: Tensor | Number) -> Tensor:
    """The gradient of ``base ** exponent`` by the base: 0 where the exponent is 0."""
    if not isinstance(exponent, Tensor):
        if exponent == 0:
            return gb.zeros_like(grad)
        if exponent == 1:
            return grad
        return grad * ((base if exponent == 2 else base.pow(exponent - 1)) * exponent).conj()
    slope = exponent * base.pow(exponent + -1)
    return gb.where(exponent == 0, 0, grad * slope.conj())


def pow_exponent(grad: Tensor, base: Tensor | Number, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of ``base ** exponent`` by the exponent; 0 for a base 0 and exponents 0 or of positive real part."""
    upward = (exponent.real > 0) | (exponent == 0) if exponent.is_complex() else exponent >= 0
    if isinstance(base, Tensor):
        still = (base == 0) & upward
        return grad * (result * base.to(result.dtype).masked_fill(still, 1).log()).conj()
    if base == 0:
        return grad * (result * gb.where(upward, 0.0, -math.inf)).conj()
    return grad * (result * _logarithm(base, result.is_complex())).conj()


def _logarithm(base: Number, complex_result: bool) -> Number:
    if not complex_result:
        assert not isinstance(base, complex)
        return math.log(base) if base > 0 else math.nan
    number: complex = gb.tensor(complex(base), dtype=gb.complex128).log().item()
    return number


HELPERS: dict[str, Callable[..., Any]] = {"pow_base": pow_base, "pow_exponent": pow_exponent}
