"""Gradients of variances and deviations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gaugeblock as gb
from gaugeblock import Tensor

from .spreading import Dims, count, reduced_dims, restored

Correction = int | float | None


def var_back(grad: Tensor, self: Tensor, dim: Dims, correction: Correction, keepdim: bool) -> Tensor:
    """``2 (x - mean) / (n - correction)`` times `grad`; a missing correction is 1.

    A variance of all elements without a degree of freedom has inf in place of the slope, and nan where x is the mean.
    """
    freedom = count(self.shape, dim) - (1 if correction is None else correction)
    grad = restored(grad, self.shape, dim, keepdim)
    centred = self - self.mean(reduced_dims(self.ndim, dim), True)
    if freedom <= 0 and dim in (None, ()):
        return grad * gb.full_like(centred, math.inf).masked_fill(centred == 0, math.nan)
    return grad * (2 / freedom if freedom else math.inf) * centred


def std_back(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, correction: Correction, keepdim: bool) -> Tensor:
    """The gradient of a standard deviation, 0 where that is 0."""
    return var_back((grad / (result * 2)).masked_fill(result == 0, 0), self, dim, correction, keepdim)


HELPERS: dict[str, Callable[..., Any]] = {"var_back": var_back, "std_back": std_back}
