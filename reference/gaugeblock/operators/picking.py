"""Copying elements from the places that an index tensor names along one dim: what gather and index_select do."""

from __future__ import annotations

from typing import NamedTuple

from ..iteration.dimensions import iteration_strides, loop_dimensions
from ..kernels.gather import gather_kernel
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .launch import Launch

Ints = tuple[int, ...]


class Picking(NamedTuple):
    """A launch over the elements of the result, the source's stride along the dim in bytes, and that dim's size."""

    launch: Launch
    step: int
    size: int

    def run(self, out: Tensor, source: Tensor, index: Tensor) -> bool:
        """Copy; False, with the contents of `out` undefined, when an index lies outside [0, size)."""
        if not self.size and self.launch.count:
            return False
        try:
            self.launch.run([out.pointer, source.pointer, index.pointer, self.step, self.size])
        except RuntimeError:
            return False
        return True


def picking(out: TensorMeta, source: TensorMeta, index: TensorMeta, dim: int, index_sizes: Ints) -> Picking:
    """The picking of ``out[..i..] = source[..index[..i..]..]``, the index along `dim`.

    `index_sizes` are the sizes that the index has among the dims of `out`, with ones where it is repeated; the
    source may be larger than `out` outside `dim`.
    """
    shape = out.sizes or (1,)
    itemsize = out.dtype.itemsize
    steps = source.strides or (1,)
    along = steps[dim] * itemsize
    walked = tuple(0 if d == dim else step * itemsize for d, step in enumerate(steps))
    if source.sizes:
        walked = tuple(0 if size == 1 else step for size, step in zip(shape, walked, strict=True))
    index_strides = _expanded(index, index_sizes)
    strides = [
        iteration_strides(shape, out.strides or (1,), shape, itemsize),
        walked,
        iteration_strides(index_sizes, index_strides, shape, index.dtype.itemsize),
    ]
    merged, moved = loop_dimensions(shape, strides)
    kernel = gather_kernel(itemsize, index.dtype)
    launch = Launch(kernel, merged, moved, (itemsize, itemsize, index.dtype.itemsize), (0, 1, 2))
    return Picking(launch, along, (source.sizes or (1,))[dim])


def _expanded(index: TensorMeta, sizes: Ints) -> Ints:
    """The strides of the index with its own dims where `sizes` is not 1."""
    if index.ndim == len(sizes):
        return index.strides
    own = index.strides[0] if index.ndim else 1
    return tuple(own if size != 1 else 0 for size in sizes)
