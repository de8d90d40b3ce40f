"""What the overlap checks need to know of a tensor."""

from __future__ import annotations

from ..iteration.overlap import Extent
from ..tensor.tensor import Tensor


def extent_of(tensor: Tensor) -> Extent:
    """Identity of the storage, first element and layout."""
    geometry = tensor.geometry
    return Extent(id(tensor.storage), tensor.offset, geometry.sizes, geometry.strides, geometry.dtype.itemsize)
