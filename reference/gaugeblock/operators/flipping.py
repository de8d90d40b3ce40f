"""Moving elements around within the same sizes: roll, flip, rot90 and the triangles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.device import cpu
from ..core.errors import wrap_dim
from ..core.memory_format import contiguous_format
from ..iteration.dimensions import loop_dimensions
from ..kernels.pointwise import Launch
from ..memory.elements import store_bytes
from ..tensor.array_view import FEW, array_of, kept_array
from ..tensor.reshaping import reshape
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, meta_of, preserve_format_strides
from ..tensor.views import transpose
from .arrays import Array, outline, values
from .copy import clone
from .fresh_fill import fill_zeros
from .many_dims import along, has_many_dims
from .plan import Planned, plannable
from .pointwise import formula_kernel
from .registration import kernel


@kernel("roll")
@plannable
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor | Planned[Tensor]:
    """Each dim of `dims` shifted cyclically towards higher indices; without `dims` the flattened elements.

    Raises RuntimeError unless there are as many shifts as dims, IndexError for a dim out of range.
    """
    shifts, dims = _ints(shifts), _ints(dims)
    meta = self.meta
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(dims) != len(shifts) and not (not dims and len(shifts) == 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if dims and not meta.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    places = tuple([wrap_dim("roll", dim, meta.ndim) for dim in dims])
    if has_many_dims(meta):
        return _rolled(self, shifts, dims)
    result, target = outline(meta.sizes, meta.dtype, meta.device)
    if target is not None:
        _roll_into(target, values(self), shifts, places)
        if len(shifts) == 1 and (not dims or meta.ndim == 1) and meta.contiguous and not meta.lazy:
            return Planned(result, _turning(meta, shifts[0])) if meta.numel else result
    return result


def _rolled(self: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """Roll along one dim after the other."""
    if not dims:
        return reshape(roll(reshape(self, (-1,)), shifts), self.meta.sizes)
    for shift, dim in zip(shifts, dims, strict=True):
        self = along("roll", self, dim, partial(roll, shifts=(shift,), dims=(1,)))
    return self


def _turning(meta: TensorMeta, shift: int) -> Callable[[Tensor], Tensor]:
    """Return a function that copies row-major elements `shift` places on, the last ones to the front."""
    size, itemsize = meta.numel, meta.dtype.itemsize
    moved = shift % size
    kernel = formula_kernel("identity", [meta.dtype], meta.dtype, meta.dtype).contiguous

    def run(self: Tensor) -> Tensor:
        result = new_like(meta)
        kernel(result.pointer + moved * itemsize, self.pointer, size - moved)
        if moved:
            kernel(result.pointer, self.pointer + (size - moved) * itemsize, moved)
        return result

    return run


def _roll_into(target: Array, array: Array, shifts: tuple[int, ...], dims: tuple[int, ...]) -> None:
    if not dims:
        target, array, dims = target.reshape(-1), array.reshape(-1), (0,)
    if len(dims) > 1 or not array.size:
        target[...] = np.roll(array, shifts, dims)
        return
    size = array.shape[dims[0]]
    shift = shifts[0] % size
    before = (slice(None),) * dims[0]
    target[(*before, slice(shift, None))] = array[(*before, slice(None, size - shift))]
    target[(*before, slice(None, shift))] = array[(*before, slice(size - shift, None))]


@kernel("flip")
@plannable
def flip(self: Tensor, dims: Sequence[int]) -> Tensor | Planned[Tensor]:
    """A copy with the order along `dims` reversed, in strides like the input's.

    Raises RuntimeError for a repeated dim, IndexError for one out of range.
    """
    meta = self.meta
    places = [wrap_dim("flip", dim, meta.ndim) for dim in _ints(dims)]
    for place in places:
        if places.count(place) > 1:
            raise RuntimeError(f"dim {place} appears multiple times in the list of dims")
    strides = preserve_format_strides(meta.sizes, meta.strides)
    result = new_like(meta_of(meta.sizes, strides, meta.dtype, meta.device))
    if meta.device is cpu and meta.numel:
        if meta.lazy:
            array_of(result)[...] = np.flip(values(self), tuple(places) if meta.ndim else ())
        else:
            runner = _reversing(meta, result.meta, places)
            runner(self, result)
            return Planned(result, runner)
    return result


def _reversing(meta: TensorMeta, out: TensorMeta, dims: Sequence[int]) -> Callable[..., Tensor]:
    """Return a function that copies a tensor with `dims` reversed into one of meta `out`, new or given."""
    itemsize = meta.dtype.itemsize
    steps = [-step if d in dims else step for d, step in enumerate(meta.strides)]
    start = itemsize * sum((meta.sizes[d] - 1) * meta.strides[d] for d in dims if meta.ndim)
    strides = [tuple(step * itemsize for step in operand) for operand in (out.strides, steps)]
    shape, moved = loop_dimensions(meta.sizes, strides)
    kernel = formula_kernel("identity", [meta.dtype], meta.dtype, meta.dtype)
    launch = Launch(kernel, shape, moved, (itemsize, itemsize), (0, 1))

    def run(self: Tensor, result: Tensor | None = None) -> Tensor:
        made = new_like(out) if result is None else result
        launch.run([made.pointer, self.pointer + start])
        return made

    return run


@kernel("fliplr")
def fliplr(self: Tensor) -> Tensor:
    """flip along dim 1. Raises RuntimeError below 2-D."""
    if self.meta.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(self, (1,))


@kernel("flipud")
def flipud(self: Tensor) -> Tensor:
    """flip along dim 0. Raises RuntimeError for a 0-dim tensor."""
    if self.meta.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(self, (0,))


@kernel("rot90")
def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy turned `k` times by 90 degrees from the first of two dims towards the second.

    Raises RuntimeError unless `dims` are two different dims of a tensor of at least 2-D.
    """
    meta = self.meta
    dims = _ints(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if meta.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {meta.ndim}")
    first, second = (wrap_dim("rot90", dim, meta.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    if k % 4 == 1:
        return transpose(flip(self, (second,)), first, second)
    if k % 4 == 3:
        return transpose(flip(self, (first,)), first, second)
    return flip(self, (first, second)) if k % 4 else clone(self, memory_format=contiguous_format)


def _triangle(operator: str, self: Tensor, diagonal: int, keep: Any) -> Tensor | Planned[Tensor]:
    meta = self.meta
    if meta.ndim < 2:
        raise RuntimeError(f"{operator}: input tensor must have at least 2 dimensions")
    result, target = outline(meta.sizes, meta.dtype, meta.device)
    if target is None or not meta.numel:
        return result
    rows, columns = meta.sizes[-2:]
    if columns >= LONG_ROWS:
        fill_zeros(result)
        source = values(self)
        for row in range(rows):
            end = min(max(row + diagonal + (1 if operator == "tril" else 0), 0), columns)
            part = (..., row, slice(0, end) if operator == "tril" else slice(end, columns))
            target[part] = source[part]
        return result
    kept = keep(np.arange(columns) - np.arange(rows)[:, None], diagonal)
    target[...] = np.where(kept, values(self), _zero(target))
    if meta.numel <= FEW and not meta.lazy:
        return Planned(result, _triangle_call(meta, result.meta, kept))
    return result


LONG_ROWS = 128
"""Elements of a row from which rows are copied one by one."""


def _triangle_call(meta: TensorMeta, out: TensorMeta, kept: Array) -> Callable[[Tensor], Tensor]:
    zeros = bytes(out.nbytes)

    def run(self: Tensor) -> Tensor:
        result = new_like(out)
        store_bytes(result.pointer, zeros)
        np.copyto(kept_array(out, result.pointer), kept_array(meta, self.pointer), where=kept)
        return result

    return run


def _zero(array: Array) -> Array:
    return np.zeros((), array.dtype)


@kernel("tril")
@plannable
def tril(self: Tensor, diagonal: int = 0) -> Tensor | Planned[Tensor]:
    """The elements on and below a diagonal of the last two dims, zero elsewhere. Raises RuntimeError below 2-D."""
    return _triangle("tril", self, diagonal, np.less_equal)


@kernel("triu")
@plannable
def triu(self: Tensor, diagonal: int = 0) -> Tensor | Planned[Tensor]:
    """The elements on and above a diagonal of the last two dims, zero elsewhere. Raises RuntimeError below 2-D."""
    return _triangle("triu", self, diagonal, np.greater_equal)


def _ints(value: int | Sequence[int]) -> tuple[int, ...]:
    return (value,) if isinstance(value, int) else tuple(value)
