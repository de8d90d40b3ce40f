"""Making a view: another geometry on the storage of a tensor."""

from __future__ import annotations

from ..memory.storage import new_object
from .geometry import Geometry, geometry_of
from .tensor import Tensor


def make_view(self: Tensor, geometry: Geometry, offset: int) -> Tensor:
    """The view of `self` with `geometry` at `offset`; it shares the storage, the version and the root tensor.

    Raises RuntimeError when the storage of `self` was resized under it.
    """
    view = new_object(Tensor)
    view._geometry = geometry
    view._storage_impl = storage = self.storage_impl
    view._offset = offset
    view._pointer = self.pointer and storage.pointer + offset * geometry.dtype.itemsize
    base = self.base
    if base is None:
        base = self
        self.viewed = True
    view.base = base
    view.counter = self.counter
    view.autograd = None
    view.requires_grad_flag = False
    return view


def view_at_same_place(self: Tensor, geometry: Geometry) -> Tensor:
    """The view of `self` with `geometry` that starts at the same element."""
    view = new_object(Tensor)
    view._geometry = geometry
    view._storage_impl = self.storage_impl
    view._offset = self.offset
    view._pointer = self.pointer
    base = self.base
    if base is None:
        base = self
        self.viewed = True
    view.base = base
    view.counter = self.counter
    view.autograd = None
    view.requires_grad_flag = False
    return view


def regeometry(geometry: Geometry, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Geometry:
    """`geometry` with other sizes and strides."""
    return geometry_of(sizes, strides, geometry.dtype, geometry.device, geometry.lazy)
