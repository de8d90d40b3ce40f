"""Writing in row-major order, in place and on a copy: put and masked_scatter."""

from __future__ import annotations

import numpy as np

from ..core.device import cpu
from ..core.dtype import bool_, int64
from ..core.memory_format import contiguous_format
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_internal_overlap
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from ..tensor.views import expand
from .arrays import Array, values
from .copy import clone
from .extents import check_no_overlap
from .gathering import check_index_dtype, check_not_empty, check_take, index_values
from .registration import kernel
from .scattering import add_at, check_same_dtype, writable, writing


@writing("put", "put_")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write `source` at positions `index` (int64) of the flattened tensor; with `accumulate` add.

    Raises IndexError out of range, RuntimeError for dtypes or counts that differ, and for tensors that share memory.
    """
    check_index_dtype("put_", index, (int64,))
    check_same_dtype("put_", self, source, "source")
    if index.meta.numel != source.meta.numel:
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got "
            f"{source.meta.numel} and {index.meta.numel}"
        )
    check_not_empty("put_", self, index)
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    check_no_overlap(self, index, source)
    if index.meta.numel and self.meta.device is cpu:
        _put_into(writable(self), index_values(index).reshape(-1), values(source).reshape(-1).copy(), accumulate)
    bump_version(self)
    return self


def _put_into(target: Array, places: Array, given: Array, accumulate: bool) -> None:
    check_take("put_", places, target.size)
    key = np.unravel_index(places % target.size, target.shape)
    if accumulate:
        add_at(target, key, given)
    else:
        target[key] = given


@kernel("masked_scatter", derive=False)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter_ on a copy, which has the sizes that self and mask broadcast to."""
    sizes = broadcast_shapes((self.meta.sizes, mask.meta.sizes))
    target = self if sizes == self.meta.sizes else expand(self, sizes)
    return masked_scatter_(clone(target, memory_format=contiguous_format), mask, source)


@kernel("masked_scatter_", derive=False)
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the first elements of `source` where `mask` is true, in row-major order.

    Raises RuntimeError for a mask that is not bool, dtypes that differ and too few elements.
    """
    if mask.meta.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.meta.dtype}"
        )
    check_same_dtype("masked_scatter_", self, source, "source")
    if broadcast_shapes((self.meta.sizes, mask.meta.sizes)) != self.meta.sizes:
        raise RuntimeError(
            f"masked_scatter_(): mask of shape {list(mask.meta.sizes)} does not broadcast to self "
            f"{list(self.meta.sizes)}"
        )
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    if self.meta.device is cpu:
        target = writable(self)
        chosen = np.broadcast_to(values(mask), self.meta.sizes).reshape(target.shape)
        _write_chosen(target, chosen, values(source).reshape(-1))
    bump_version(self)
    return self


def _write_chosen(target: Array, chosen: Array, source: Array) -> None:
    count = int(np.count_nonzero(chosen))
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter_: Number of elements of source < number of ones in mask: {source.size} < {count}"
        )
    target[chosen] = source[:count].copy()
