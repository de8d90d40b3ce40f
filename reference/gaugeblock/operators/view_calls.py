"""Views as composite operators make them: through the dispatcher, so that they are recorded for gradients."""

from __future__ import annotations

from collections.abc import Sequence

from ..tensor.tensor import Tensor
from .invoke import apply


def diagonal(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The diagonal over two dims, as a new last dim."""
    return apply("diagonal", self, offset, dim1, dim2)


def expand(self: Tensor, size: Sequence[int]) -> Tensor:
    """Size-1 dims repeated, and new leading dims."""
    return self if self.geometry.sizes == size else apply("expand", self, size)


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Dim k of the result is dim ``dims[k]``."""
    return apply("permute", self, dims)


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """Other sizes for the same elements, as a view or a copy."""
    return self if self.geometry.sizes == shape else apply("reshape", self, shape)


def squeeze(self: Tensor, dim: int) -> Tensor:
    """Without a dim of size 1."""
    return apply("squeeze.dim", self, dim)


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """With a dim of size 1 added."""
    return apply("unsqueeze", self, dim)
