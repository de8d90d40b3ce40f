"""Elements where something is true: nonzero, argwhere, masked_select."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import FLOAT8, DType, bool_, int64, uint8
from ..iteration.dimensions import broadcast_shapes, iteration_strides
from ..iteration.tensor_iterator import TensorIterator
from ..kernels.bound_call import Fresh, nothing
from ..kernels.true_elements import count_kernel, places_kernel, take_kernel
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, recalled
from .fill import fill_number
from .operand_checks import check_implemented
from .plan import Filling, Planned, plannable
from .registration import kernel

Ints = tuple[int, ...]
Loop = Callable[..., None]
NONE_YET = bytes(16)
_ADDRESS = attrgetter("pointer")


class Finder:
    """Finds what belongs to the true elements of its last operand: kernels that count them and fill the result, with
    their tails, and the meta of a result for so many."""

    __slots__ = ("_count", "_count_tail", "_fill", "_last", "_meta", "_tail")

    def __init__(
        self, count: Loop, count_tail: Ints, fill: Loop, tail: Ints, meta: Callable[[int], TensorMeta]
    ) -> None:
        self._count, self._count_tail, self._fill, self._tail, self._meta = count, count_tail, fill, tail, meta
        self._last: tuple[int, TensorMeta, Callable[..., Any] | None] = -1, contiguous_meta((), bool_), None

    def counted(self, last: Tensor) -> array[int]:
        """Return the cells of the kernels: how many elements are true, and 0."""
        cells = array("q", NONE_YET)
        self._count(cells.buffer_info()[0], last.pointer, *self._count_tail)
        return cells

    def __call__(self, *operands: Tensor) -> Tensor:
        """Return the result."""
        cells = array("q", NONE_YET)
        at = cells.buffer_info()[0]
        self._count(at, operands[-1].pointer, *self._count_tail)
        many = cells[0]
        known, meta, make = self._last
        if known == many:
            if make is None:
                make = Fresh(self._fill if many else nothing, (meta,), self._tail).native()
                self._last = many, meta, make
            found: Tensor | None = make(at, *operands)
            if found is not None:
                return found
        else:
            meta = self._meta(many)
            self._last = many, meta, None
        result = new_like(meta)
        if many:
            self._fill(result.pointer, at, *map(_ADDRESS, operands), *self._tail)
        return result

    def write(self, operands: Sequence[Tensor], cells: array[int], result: Tensor) -> None:
        """Fill the result, once for the cells."""
        if cells[0]:
            self._fill(result.pointer, cells.buffer_info()[0], *map(_ADDRESS, operands), *self._tail)

    def planned(self, *operands: Tensor) -> Planned[Tensor]:
        """Return the plan of the result."""
        cells = self.counted(operands[-1])
        filling = Filling((self._meta(cells[0]),), partial(self.write, operands, cells))
        return Planned.unrun(filling, operands, self, operands)


def row_major_walk(sizes: Ints, strides: Sequence[Ints]) -> Ints:
    """Return the dims, sizes and byte strides of operands in row-major order, as kernels take them."""
    laid = [one or (0,) for one in strides]
    steps = TensorIterator.restrided(sizes or (1,), laid, [uint8] * len(laid), linear=True)
    return (len(steps.dims), *chain.from_iterable(zip(*steps.dims, strict=True)))


def expanded_strides(meta: TensorMeta, sizes: Ints) -> Ints:
    """Return the byte strides of a tensor that is expanded to some sizes."""
    return iteration_strides(meta.sizes, meta.strides, sizes, meta.dtype.itemsize)


def _loop(meta: TensorMeta, kernel: Loop) -> Loop:
    return long_call(meta.numel, kernel)


def _places_meta(columns: int, count: int) -> TensorMeta:
    return meta_of((count, columns), (1, max(count, 1)), int64)


def _places_loop(meta: TensorMeta, by_rows: bool) -> tuple[Loop, Ints]:
    """Return the kernel that notes places, and its tail."""
    sizes, still = meta.sizes, (0,) * meta.ndim
    along = [tuple([int(d == dim) for d in range(meta.ndim)]) for dim in range(meta.ndim)]
    tail = (*still, *row_major_walk(sizes, [still, still, expanded_strides(meta, sizes), *along]))
    return _loop(meta, places_kernel(meta.dtype, meta.ndim, by_rows)), tail


def _places_finder(meta: TensorMeta) -> Finder:
    check_implemented("nonzero", meta.dtype, meta.dtype not in FLOAT8)
    count, still = _loop(meta, count_kernel(meta.dtype)), (0,) * meta.ndim
    count_tail = row_major_walk(meta.sizes, [still, expanded_strides(meta, meta.sizes)])
    return Finder(count, count_tail, *_places_loop(meta, False), partial(_places_meta, meta.ndim))


def places_finder(meta: TensorMeta) -> Finder:
    """Return what finds the places of the elements that are not zero."""
    return recalled(meta.plans, "nonzero", _places_finder, meta)


@kernel("argwhere", "CPU")
@kernel("nonzero", "CPU")
@plannable
def nonzero(self: Tensor) -> Tensor | Planned[Tensor]:
    """Return the indices of the elements that are not zero, row-major, as int64 of sizes (count, ndim)."""
    return places_finder(self.meta).planned(self)


@plannable
def nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor | Planned[Tensor]:
    """Return the first `size` rows of nonzero, filled up with `fill_value`. Raises RuntimeError for a negative size."""
    if size < 0:
        raise RuntimeError(f"nonzero_static: 'size' must be an non-negative integer, got {size}")
    made = contiguous_meta((size, self.meta.ndim), int64, self.meta.device)
    note, tail = _places_loop(self.meta, True) if made.numel and made.device is cpu else (nothing, ())

    def fill(result: Tensor, given: Tensor = self) -> None:
        if note is not nothing:
            fill_number(result, fill_value)
            cells = array("q", (size, 0))
            note(result.pointer, cells.buffer_info()[0], given.pointer, *tail)

    def call(given: Tensor) -> Tensor:
        result = new_like(made)
        fill(result, given)
        return result

    return Planned.unrun(Filling((made,), fill), (self,), call, (self,))


def _vector_meta(dtype: DType, count: int) -> TensorMeta:
    return contiguous_meta((count,), dtype)


def _masked_finder(meta: TensorMeta, mask: TensorMeta) -> Finder:
    sizes = broadcast_shapes((meta.sizes, mask.sizes))
    still, mine, chosen = (0,) * len(sizes), expanded_strides(meta, sizes), expanded_strides(mask, sizes)
    work = contiguous_meta(sizes, bool_)
    count, fill = _loop(work, count_kernel(bool_)), _loop(work, take_kernel(meta.dtype.itemsize))
    walks = [row_major_walk(sizes, strides) for strides in ([still, chosen], [still, still, mine, chosen])]
    return Finder(count, walks[0], fill, walks[1], partial(_vector_meta, meta.dtype))


def masked_finder(meta: TensorMeta, mask: TensorMeta) -> Finder:
    """Return what takes the elements of a tensor where a mask is true; both broadcast."""
    return recalled(meta.plans, ("masked_select", mask), _masked_finder, meta, mask)


@kernel("masked_select", "CPU")
@plannable
def masked_select(self: Tensor, mask: Tensor) -> Tensor | Planned[Tensor]:
    """Return the elements where `mask` is true, in row-major order; both broadcast. Raises RuntimeError unless it is
    bool."""
    if mask.meta.dtype is not bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {mask.meta.dtype.name}")
    return masked_finder(self.meta, mask.meta).planned(self, mask)
