"""Memory formats of images and volumes."""

from __future__ import annotations

from ...core.memory_format import channels_last, channels_last_3d, contiguous_format
from ...tensor.geometry import Geometry, geometry_of
from ...tensor.strides import is_channels_last
from ...tensor.tensor import Tensor, new_like
from ..copy import format_strides


def empty_in_suggested_format(geometry: Geometry) -> Tensor:
    """A fresh tensor like one of `geometry`: channels last if that is, else row-major."""
    chosen = contiguous_format
    for format in (channels_last, channels_last_3d):
        if format.rank == geometry.ndim and not geometry.contiguous:
            chosen = format if is_channels_last(geometry.sizes, geometry.strides, format) else chosen
    strides = format_strides(geometry, chosen)
    return new_like(geometry_of(geometry.sizes, strides, geometry.dtype, geometry.device))
