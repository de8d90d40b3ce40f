"""positive: the operand itself."""

from __future__ import annotations

from ..tensor.tensor import Tensor
from .registration import kernel


@kernel("positive", "CompositeExplicitAutograd")
def positive(self: Tensor) -> Tensor:
    """`self`. Raises RuntimeError for bool."""
    if self.meta.dtype.kind == 0:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self
