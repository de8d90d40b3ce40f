"""What the overlap checks need to know of a tensor."""

from __future__ import annotations

from ..core.warn import warn
from ..iteration.overlap import PARTIAL_OVERLAP, Extent, Overlap, internal_overlap, pair_overlap
from ..tensor.tensor import Tensor


def extent_of(tensor: Tensor) -> Extent:
    """Identity of the storage, first element and layout."""
    meta = tensor.meta
    return Extent(id(tensor.storage_impl), tensor.offset, meta.sizes, meta.strides, meta.dtype.itemsize)


def check_no_overlap(written: Tensor, *read: Tensor) -> None:
    """Raise RuntimeError when a tensor that is read shares memory, even all of it, with the one written to."""
    for one in read:
        if one.storage_impl is written.storage_impl:
            verdict = pair_overlap(extent_of(written), extent_of(one))
            if one is written or verdict is Overlap.PARTIAL or verdict is Overlap.FULL:
                raise RuntimeError(PARTIAL_OVERLAP)


def warn_of_internal_overlap(operator: str, written: Tensor) -> None:
    """Warn when an indexed fill writes to a tensor whose indices share memory."""
    if internal_overlap(written.meta.sizes, written.meta.strides) is Overlap.YES:
        warn(f"Use of {operator} on expanded tensors is deprecated; clone() the tensor before writing to it")
