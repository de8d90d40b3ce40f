"""Step: giving a wrong-shaped out= tensor the right shape."""

from __future__ import annotations

from ..core.warn import warn
from ..tensor.changing import change_metadata
from ..tensor.geometry import Geometry
from ..tensor.refresh import grow_own_storage
from ..tensor.tensor import Tensor


def resize_output(tensor: Tensor, geometry: Geometry, *, silent: bool = False) -> None:
    """Make `tensor` have `geometry`, growing its storage where needed; warns when it had elements, unless `silent`."""
    if not silent and tensor.geometry.numel > 0:
        warn(
            f"An output with one or more elements was resized since it had shape {list(tensor.geometry.sizes)}, which "
            f"does not match the required output shape {list(geometry.sizes)}. This behavior is deprecated: give an "
            f"output of the right shape, or resize it to zero elements first."
        )
    needed = (tensor.offset * geometry.dtype.itemsize) + geometry.nbytes
    if geometry.nbytes:
        grow_own_storage(tensor, needed)
    change_metadata(tensor, geometry, tensor.storage_impl, tensor.offset)
