"""Operators of one tensor that keep zeros: they act on the values, and the layout stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..operators.invoke import apply
from ..operators.rows import rows
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from .coalescing import coalesced
from .coo_tensor import parts_of, with_values

LINEAR = ("deg2rad", "neg", "positive", "rad2deg")
"""Operators that may be applied to the values of equal indices one by one."""
KEEPING_ZERO = (
    *LINEAR, "abs", "angle", "asin", "asinh", "atan", "atanh", "ceil", "erf", "erfinv", "expm1", "floor", "frac",
    "log1p", "nan_to_num", "relu", "round", "round.decimals", "sgn", "sign", "sin", "sinh", "sqrt", "square", "tan",
    "tanh", "trunc",
)  # fmt: skip
"""Operators of which 0 gives 0."""
QUESTIONS = ("isinf", "isnan", "isneginf", "isposinf", "signbit")
"""Operators of which 0 gives False."""


def on_values(name: str) -> Callable[..., Tensor]:
    """Return the kernel that applies an operator to the values, coalesced unless it is linear."""
    linear = name in LINEAR

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        one = self if linear else coalesced(self)
        return with_values(one, apply(name, parts_of(one).values, *args, **kwargs))

    kernel.__name__ = kernel.__qualname__ = name.partition(".")[0]
    return kernel


def on_values_inplace(name: str) -> Callable[..., Tensor]:
    """Return the kernel that applies an operator to the values in place. It raises RuntimeError for a tensor that is
    not coalesced, unless the operator is linear."""
    base = name.partition(".")[0]
    written, linear = rows()[name].inplace_name or "", name in LINEAR

    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        parts = parts_of(self)
        if not (parts.coalesced or linear):
            raise RuntimeError(f"{base}_: a tensor that is not coalesced is not written to; call coalesce() first")
        apply(written, parts.values, *args, **kwargs)
        bump_version(self)
        return self

    kernel.__name__ = kernel.__qualname__ = f"{base}_"
    return kernel
