"""Dims added to reach a number of them, columns side by side: atleast_1d, column_stack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor.tensor import Tensor
from ..arguments import tensors_argument
from ..invoke import apply, invoke


def atleast_1d(self: Tensor) -> Tensor:
    """A view with one dim if there is none."""
    return apply("reshape", self, (1,)) if not self.meta.ndim else self


def atleast_2d(self: Tensor) -> Tensor:
    """A view with at least two dims; a vector becomes a row."""
    if self.meta.ndim > 1:
        return self
    return apply("unsqueeze", self, 0) if self.meta.ndim else apply("reshape", self, (1, 1))


def atleast_3d(self: Tensor) -> Tensor:
    """A view with at least three dims; a vector goes to the middle, a matrix in front."""
    ndim = self.meta.ndim
    if ndim > 2:
        return self
    if ndim == 2:
        return apply("unsqueeze", self, -1)
    return apply("unsqueeze", apply("unsqueeze", self, 0), -1) if ndim else apply("reshape", self, (1, 1, 1))


def atleast_1d_Sequence(tensors: Sequence[Tensor]) -> Any:
    """atleast_1d of each."""
    return tuple(apply("atleast_1d", tensor) for tensor in tensors)


def atleast_2d_Sequence(tensors: Sequence[Tensor]) -> Any:
    """atleast_2d of each."""
    return tuple(apply("atleast_2d", tensor) for tensor in tensors)


def atleast_3d_Sequence(tensors: Sequence[Tensor]) -> Any:
    """atleast_3d of each."""
    return tuple(apply("atleast_3d", tensor) for tensor in tensors)


def _public(name: str, tensors: tuple[Any, ...]) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return invoke(name, tensors[0])
    return invoke(f"{name}.Sequence", tensors_argument(name, tensors))


def public_atleast_1d(*tensors: Any) -> Any:
    """atleast_1d of one tensor, or a tuple for several."""
    return _public("atleast_1d", tensors)


def public_atleast_2d(*tensors: Any) -> Any:
    """atleast_2d of one tensor, or a tuple for several."""
    return _public("atleast_2d", tensors)


def public_atleast_3d(*tensors: Any) -> Any:
    """atleast_3d of one tensor, or a tuple for several."""
    return _public("atleast_3d", tensors)


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors as columns, and matrices, side by side. Raises RuntimeError for no tensors."""
    if not tensors:
        raise RuntimeError("column_stack expects a non-empty TensorList")
    columns = [
        apply("reshape", tensor, (tensor.meta.numel, 1)) if tensor.meta.ndim < 2 else tensor
        for tensor in tensors
    ]
    return apply("hstack", columns)
