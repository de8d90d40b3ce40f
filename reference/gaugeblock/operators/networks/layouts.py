"""Memory formats of images and volumes."""

from __future__ import annotations

from ...core.memory_format import channels_last, channels_last_3d, contiguous_format
from ...tensor.geometry import Geometry, contiguous_geometry, geometry_of
from ...tensor.strides import is_channels_last
from ...tensor.tensor import Tensor, new_like
from ..copy import format_strides


def empty_in_suggested_format(geometry: Geometry, sizes: tuple[int, ...] | None = None) -> Tensor:
    """A fresh tensor like one of `geometry`, of other sizes if given: channels last if that is, else row-major."""
    chosen = contiguous_format
    for format in (channels_last, channels_last_3d):
        if format.rank == geometry.ndim and not geometry.contiguous:
            chosen = format if is_channels_last(geometry.sizes, geometry.strides, format) else chosen
    wanted = geometry.sizes if sizes is None else sizes
    target = contiguous_geometry(wanted, geometry.dtype, geometry.device)
    if chosen is contiguous_format:
        return new_like(target)
    return new_like(geometry_of(wanted, format_strides(target, chosen), geometry.dtype, geometry.device))
