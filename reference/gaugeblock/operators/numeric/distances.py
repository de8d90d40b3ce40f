"""The distance of two tensors."""

from __future__ import annotations

from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..invoke import apply


def dist(self: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    """The vector norm of order `p` of the difference; operands broadcast and promote. Raises RuntimeError for ints."""
    return apply("norm.Scalar", apply("sub.Tensor", self, other), p)
