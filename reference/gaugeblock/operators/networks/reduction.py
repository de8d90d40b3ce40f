"""The argument `reduction` of losses: 0 nothing, 1 the mean, 2 the sum."""

from __future__ import annotations

from ...tensor.tensor import Tensor
from ..invoke import apply

NONE, MEAN, SUM = range(3)


def reduced(loss: Tensor, reduction: int) -> Tensor:
    """The loss as it is, its mean or its sum."""
    if reduction == MEAN:
        return apply("mean", loss)
    return apply("sum", loss) if reduction == SUM else loss
