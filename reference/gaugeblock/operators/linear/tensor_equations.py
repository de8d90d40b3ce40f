"""Inverses and solutions of square linear maps between tensors: linalg.tensorinv and linalg.tensorsolve."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...core.errors import wrap_dims
from ...tensor.tensor import Tensor
from ..invoke import apply
from ..view_calls import permute, reshape


def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """The inverse of the map from the dims behind the first `ind` to those. Raises RuntimeError unless it is square."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', got {ind}")
    sizes = self.meta.sizes
    first, rest = sizes[:ind], sizes[ind:]
    if prod(first) != prod(rest):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(rest)} != {prod(first)}"
        )
    found = apply("linalg_inv", reshape(self, (prod(first), prod(rest))))
    return reshape(found, (*rest, *first))


def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with ``tensordot(self, X, X.ndim) == other``; `dims` of `self` are moved to the end first.

    Raises RuntimeError unless the map is square.
    """
    source = self
    if dims is not None:
        moved = wrap_dims("linalg.tensorsolve", dims, self.meta.ndim)
        source = permute(self, (*(d for d in range(self.meta.ndim) if d not in moved), *moved))
    wanted = source.meta.sizes[other.meta.ndim :]
    if prod(wanted) != prod(source.meta.sizes[: other.meta.ndim]):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {prod(wanted)} != {prod(source.meta.sizes[: other.meta.ndim])}"
        )
    matrix = reshape(source, (prod(wanted), prod(wanted)))
    return reshape(apply("linalg_solve", matrix, reshape(other, (prod(wanted),))), wanted)
