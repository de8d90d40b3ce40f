"""Views as composite operators make them: through the dispatcher where a mode or a gradient wants to know of them."""

from __future__ import annotations

from collections.abc import Sequence

from ..dispatch.state import SPECIAL
from ..tensor import reshaping, views
from ..tensor.tensor import Tensor
from .invoke import apply


def _unseen(tensor: Tensor) -> bool:
    """Return whether nobody would notice that a view is made without the dispatcher."""
    return tensor.__class__ is Tensor and not tensor.meta.watched and not SPECIAL


def diagonal(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    """The diagonal over two dims, as a new last dim."""
    return views.diagonal(self, offset, dim1, dim2) if _unseen(self) else apply("diagonal", self, offset, dim1, dim2)


def expand(self: Tensor, size: Sequence[int]) -> Tensor:
    """Size-1 dims repeated, and new leading dims."""
    return views.expand(self, size) if _unseen(self) else apply("expand", self, size)


def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Dim k of the result is dim ``dims[k]``."""
    return views.permute(self, dims) if _unseen(self) else apply("permute", self, dims)


def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    """Other sizes for the same elements, as a view or a copy."""
    if _unseen(self):
        return reshaping.reshape(self, shape)
    return self if self.meta.sizes == shape else apply("reshape", self, shape)


def squeeze(self: Tensor, dim: int) -> Tensor:
    """Without a dim of size 1."""
    return views.squeeze(self, dim) if _unseen(self) else apply("squeeze.dim", self, dim)


def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """With a dim of size 1 added."""
    return views.unsqueeze(self, dim) if _unseen(self) else apply("unsqueeze", self, dim)
