"""Elements put back where max pooling found them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...core.device import cpu
from ...core.dtype import int64
from ...tensor.reshaping import contiguous
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, meta_of
from ..arrays import values
from ..fresh_fill import fill_zeros
from ..placement.placing import placing
from ..plan import Planned, plannable
from ..reduce_call import coalesced
from .calls import check_dtype
from .layouts import suggested

Ints = Sequence[int]


def _unpooled(operator: str, self: Tensor, indices: Tensor, output_size: Ints, dims: int) -> Tensor | Planned[Tensor]:
    own = self.meta.sizes
    if len(output_size) != dims:
        raise RuntimeError(
            f"{operator}(): There should be exactly {dims} elements in output_size, but got {len(output_size)}"
        )
    if indices.meta.dtype is not int64:
        raise RuntimeError(
            f"{operator}(): elements in indices should be type int64 but got: {indices.meta.dtype.name}"
        )
    if len(own) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{operator}(): Input to {operator} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{len(own)} dimensions."
        )
    if indices.meta.sizes != own:
        raise RuntimeError(
            f"{operator}(): Expected shape of indices to be same as that of the input tensor ({list(own)}) but got "
            f"indices tensor with shape: {list(indices.meta.sizes)}"
        )
    if 0 in own[-dims - 1 :]:
        raise RuntimeError(
            f"{operator}(): Expected input to have non-zero size for non-batch dimensions, but got {list(own)}"
        )
    check_dtype(operator, self)
    meta = suggested(self.meta, (*own[:-dims], *output_size))
    if meta.device is not cpu:
        return new_like(meta)
    operands = [one if _flat(one.meta, dims) else contiguous(one) for one in (self, indices)]
    target, source, index = (_flat(one, dims) for one in (meta, *(one.meta for one in operands)))
    assert target is not None and index is not None
    scatter = placing(target, source, index, target.ndim - 1, add=False)
    assert scatter is not None

    def unpool(self: Tensor, indices: Tensor) -> Tensor:
        result = new_like(meta)
        fill_zeros(result)
        if self.meta.numel and not scatter.run(result.pointer, self.pointer, indices.pointer):
            found, area = values(indices), prod(output_size)
            raise RuntimeError(
                f"{operator}(): Found an invalid max index: {found[(found < 0) | (found >= area)][0]} (output volumes "
                f"are of size {'x'.join(map(str, output_size))})"
            )
        return result

    kept = operands[0] is self and operands[1] is indices
    return Planned(unpool(*operands), unpool if kept else None, (self, indices))


def _flat(meta: TensorMeta, dims: int) -> TensorMeta | None:
    """Return the meta with its last dims as one, if their strides let them be."""
    lead, size = meta.ndim - dims, prod(meta.sizes[-dims:])
    ((_, step), *more) = coalesced([*zip(meta.sizes[lead:], meta.strides[lead:], strict=True)][::-1]) or [(1, 1)]
    return None if more else meta_of((*meta.sizes[:lead], size), (*meta.strides[:lead], step), meta.dtype)


@plannable
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Ints) -> Tensor | Planned[Tensor]:
    """self at the places `indices` of images of `output_size`, else 0. Raises RuntimeError for what does not fit."""
    return _unpooled("max_unpool2d", self, indices, output_size, 2)


@plannable
def max_unpool3d(
    self: Tensor, indices: Tensor, output_size: Ints, stride: Ints, padding: Ints
) -> Tensor | Planned[Tensor]:
    """The same for volumes. Raises RuntimeError for what does not fit, and for a stride not above 0."""
    for name, value in (("stride", stride), ("padding", padding)):
        if len(value) != 3:
            raise RuntimeError(
                f"max_unpool3d(): There should be exactly three elements (depth, height, width) in {name}, but got: "
                f"{len(value)} elements."
            )
    if min(stride) <= 0:
        raise RuntimeError(f"max_unpool3d(): strides should be greater than zero, but got stride: {list(stride)}")
    return _unpooled("max_unpool3d", self, indices, output_size, 3)
