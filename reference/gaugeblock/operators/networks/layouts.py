"""Memory formats of images and volumes."""

from __future__ import annotations

from ...core.dtype import DType
from ...tensor.geometry import Geometry, contiguous_geometry, geometry_of, suggested_format
from ...tensor.tensor import Tensor, new_like
from ..copy import format_strides


def empty_row_major(geometry: Geometry, sizes: tuple[int, ...]) -> Tensor:
    """A fresh row-major tensor like one of `geometry`, of these sizes."""
    return new_like(contiguous_geometry(sizes, geometry.dtype, geometry.device))


def suggested(geometry: Geometry, sizes: tuple[int, ...] | None = None, dtype: DType | None = None) -> Geometry:
    """Return the meta of a new tensor like one of `geometry`, of other sizes and dtype if given: channels last if it
    resembles that."""
    chosen = suggested_format(geometry.sizes, geometry.strides)
    wanted, kind = geometry.sizes if sizes is None else sizes, dtype or geometry.dtype
    target = contiguous_geometry(wanted, kind, geometry.device)
    return target if chosen is None else geometry_of(wanted, format_strides(target, chosen), kind, geometry.device)


def empty_in_suggested_format(geometry: Geometry, sizes: tuple[int, ...] | None = None) -> Tensor:
    """A fresh tensor like one of `geometry`, of other sizes if given: channels last if it resembles that."""
    return new_like(suggested(geometry, sizes))
