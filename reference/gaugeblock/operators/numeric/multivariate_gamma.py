"""The logarithm of the multivariate gamma function."""

from __future__ import annotations

import math

from ...core.dtype import DEFAULTS, bool_
from ...tensor.tensor import Tensor
from ..conversion import converted
from ..invoke import apply

MOST = 1 << 16
"""Dimensions for which the terms are added up one by one."""


def mvlgamma(self: Tensor, p: int) -> Tensor:
    """log of the gamma function of p dimensions: ``p (p - 1) / 4 log(pi)`` plus lgamma at self, self - 1/2, ...

    Raises RuntimeError for bool and for p below 1.
    """
    if self.meta.dtype is bool_:
        raise RuntimeError("mvlgamma: The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    if p > MOST:
        raise RuntimeError(f"mvlgamma: argument 'p' must be at most {MOST}, got {p}")
    source = converted(self, DEFAULTS.dtype) if self.meta.dtype.kind < 2 else self
    total = apply("lgamma", source)
    for k in range(1, p):
        total = apply("add.Tensor", total, apply("lgamma", apply("sub.Scalar", source, k * 0.5)))
    return apply("add.Scalar", total, p * (p - 1) / 4 * math.log(math.pi))


special_multigammaln = mvlgamma
