"""Memory formats of images and volumes."""

from __future__ import annotations

from ...tensor.geometry import Geometry, contiguous_geometry, geometry_of
from ...tensor.strides import suggested_format
from ...tensor.tensor import Tensor, new_like
from ..copy import format_strides


def empty_row_major(geometry: Geometry, sizes: tuple[int, ...]) -> Tensor:
    """A fresh row-major tensor like one of `geometry`, of these sizes."""
    return new_like(contiguous_geometry(sizes, geometry.dtype, geometry.device))


def empty_in_suggested_format(geometry: Geometry, sizes: tuple[int, ...] | None = None) -> Tensor:
    """A fresh tensor like one of `geometry`, of other sizes if given: channels last if it resembles that."""
    chosen = suggested_format(geometry.sizes, geometry.strides)
    wanted = geometry.sizes if sizes is None else sizes
    target = contiguous_geometry(wanted, geometry.dtype, geometry.device)
    if chosen is None:
        return new_like(target)
    return new_like(geometry_of(wanted, format_strides(target, chosen), geometry.dtype, geometry.device))
