"""Writing in row-major order, in place and on a copy: put and masked_scatter."""

from __future__ import annotations

import numpy as np

from ..core.dtype import bool_, int64
from ..core.memory_format import contiguous_format
from ..iteration.broadcast import broadcast_shapes
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version
from ..tensor.views import expand
from .arrays import values
from .copy import clone
from .gathering import check_take, index_values
from .registration import kernel
from .scattering import add_at, check_same_dtype, writable, writing


@writing("put", "put_")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write `source` at positions `index` (int64) of the flattened tensor; with `accumulate` add.

    Raises IndexError out of range, RuntimeError for dtypes or counts that differ.
    """
    places = index_values("put_", index, allowed=(int64,)).reshape(-1)
    check_same_dtype("put_", self, source, "source")
    if places.size != source.geometry.numel:
        raise RuntimeError(
            f"put_(): Expected source and index to have the same number of elements, but got "
            f"{source.geometry.numel} and {places.size}"
        )
    check_take("put_", places, self.geometry.numel)
    target = writable(self)
    if places.size:
        key = np.unravel_index(places % target.size, target.shape)
        given = values(source).reshape(-1).copy()
        if accumulate:
            add_at(target, key, given)
        else:
            target[key] = given
    bump_version(self)
    return self


@kernel("masked_scatter", "CPU", derive=False)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """masked_scatter_ on a copy, which has the sizes that self and mask broadcast to."""
    sizes = broadcast_shapes((self.geometry.sizes, mask.geometry.sizes))
    target = self if sizes == self.geometry.sizes else expand(self, sizes)
    return masked_scatter_(clone(target, memory_format=contiguous_format), mask, source)


@kernel("masked_scatter_", "CPU", derive=False)
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the first elements of `source` where `mask` is true, in row-major order.

    Raises RuntimeError for a mask that is not bool, dtypes that differ and too few elements.
    """
    if mask.geometry.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.geometry.dtype}"
        )
    check_same_dtype("masked_scatter_", self, source, "source")
    if broadcast_shapes((self.geometry.sizes, mask.geometry.sizes)) != self.geometry.sizes:
        raise RuntimeError(
            f"masked_scatter_(): mask of shape {list(mask.geometry.sizes)} does not broadcast to self "
            f"{list(self.geometry.sizes)}"
        )
    target = writable(self)
    chosen = np.broadcast_to(values(mask), self.geometry.sizes).reshape(target.shape)
    count = int(np.count_nonzero(chosen))
    if count > source.geometry.numel:
        raise RuntimeError(
            f"masked_scatter_: Number of elements of source < number of ones in mask: {source.geometry.numel} < {count}"
        )
    target[chosen] = values(source).reshape(-1)[:count].copy()
    bump_version(self)
    return self
