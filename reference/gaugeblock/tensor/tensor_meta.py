"""TensorMeta: everything about a tensor that does not change from one storage to the next, interned and immutable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeVar, cast

from ..core.device import Device, cpu
from ..core.dtype import DType
from ..core.errors import INT64_MAX, check_addressable, check_sizes
from ..core.memory_format import (
    MemoryFormat,
    channels_last,
    channels_last_3d,
    check_memory_format,
    contiguous_format,
    preserve_format,
)
from ..core.sealed import seal
from ..core.size import Size
from ..memory.host_allocator import NO_BLOCKS, SMALL_LIMIT, host_allocator, small_class

Ints = tuple[int, ...]
R = TypeVar("R")


def packed_strides(sizes: Ints, order: Iterable[int]) -> Ints:
    """Strides without gaps: along the first dim of `order` 1, along each other the elements of those before it."""
    strides = [0] * len(sizes)
    step = 1
    for dim in order:
        strides[dim] = step
        if sizes[dim] > 1:
            step *= sizes[dim]
    return tuple(strides)


def is_packed(sizes: Ints, strides: Ints, order: Iterable[int]) -> bool:
    """The strides are those of packed_strides, sizes 1 not counting."""
    step = 1
    for dim in order:
        size = sizes[dim]
        if size != 1:
            if strides[dim] != step:
                return False
            step *= size
    return True


def default_strides(sizes: Ints) -> Ints:
    """Row-major strides: the last is 1, each other the next stride times max(next size, 1)."""
    return packed_strides(sizes, range(len(sizes) - 1, -1, -1))


def is_contiguous(sizes: Ints, strides: Ints) -> bool:
    """Row-major and gapless, sizes 1 not counting; true whenever there are no elements."""
    return 0 in sizes or is_packed(sizes, strides, range(len(sizes) - 1, -1, -1))


def is_non_overlapping_and_dense(sizes: Ints, strides: Ints) -> bool:
    """Some order of the dims makes the tensor contiguous: every element once, no gaps."""
    return 0 in sizes or is_packed(sizes, strides, sorted(range(len(sizes)), key=strides.__getitem__))


def extent(sizes: Ints, strides: Ints) -> int:
    """One more than the largest element offset that is addressed; 0 without elements."""
    return 0 if 0 in sizes else 1 + sum([(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)])


_CHANNEL_ORDERS: dict[MemoryFormat, Ints] = {channels_last: (1, 3, 2, 0), channels_last_3d: (1, 4, 3, 2, 0)}


def channels_last_strides(sizes: Ints, memory_format: MemoryFormat = channels_last) -> Ints:
    """Strides with the channel dim (1) innermost; sizes must have the rank of the format."""
    return packed_strides(sizes, _CHANNEL_ORDERS[memory_format])


def is_channels_last(sizes: Ints, strides: Ints, memory_format: MemoryFormat = channels_last) -> bool:
    """The strides are those of channels_last_strides, sizes 1 not counting; false for another rank."""
    order = _CHANNEL_ORDERS[memory_format]
    return len(sizes) == len(order) and is_packed(sizes, strides, order)


def suggested_format(sizes: Ints, strides: Ints) -> MemoryFormat | None:
    """The channels-last format that the strides resemble, gaps allowed, which is that of results; None for none.

    Strides grow from the channel dim outwards, each at least what lies within it; those of a dim of size 1 count, by
    which tensors that are dense both ways are told apart. The batch dim alone decides nothing.
    """
    for memory_format, order in _CHANNEL_ORDERS.items():
        if len(order) == len(sizes) and 0 not in sizes and strides[1]:
            reached = 0
            for dim in order:
                if strides[dim] < reached or (dim == 0 and reached == strides[1]):
                    return None
                reached = strides[dim] * max(sizes[dim], 1)
            return memory_format
    return None


def view_strides(sizes: Ints, strides: Ints, new_sizes: Ints) -> Ints | None:
    """Strides that read the same elements in the same order under `new_sizes`, or None when only a copy can.

    The numels must agree. Old dims fall into runs with stride[k] == stride[k+1] * size[k+1]; each new dim has to
    lie inside one run.
    """
    numel = prod(sizes)
    if numel == 0:
        return strides if sizes == new_sizes else default_strides(new_sizes)
    if not sizes:
        return (1,) * len(new_sizes)
    result = [0] * len(new_sizes)
    target = len(new_sizes) - 1
    base = strides[-1]
    run = 1
    taken = 1
    for dim in range(len(sizes) - 1, -1, -1):
        run *= sizes[dim]
        if dim and (sizes[dim - 1] == 1 or strides[dim - 1] == run * base):
            continue
        while target >= 0 and (taken < run or new_sizes[target] == 1):
            result[target] = taken * base
            taken *= new_sizes[target]
            target -= 1
        if taken != run:
            return None
        if dim:
            base = strides[dim - 1]
            run = taken = 1
    return tuple(result) if target < 0 else None


def broadcast_strides(sizes: Ints, strides: Ints, new_sizes: Ints) -> Ints:
    """Strides of the tensor expanded to `new_sizes`: 0 on every enlarged dim and every new dim of size above 1. A new
    dim of size 1 gets the step over the dims after it."""
    if not sizes:
        return (0,) * len(new_sizes)
    lead = len(new_sizes) - len(sizes)
    result = [stride if size == new else 0 for size, stride, new in zip(sizes, strides, new_sizes[lead:], strict=True)]
    for dim in range(lead - 1, -1, -1):
        result.insert(0, new_sizes[dim + 1] * result[0] if new_sizes[dim] == 1 else 0)
    return tuple(result)


def permuted(values: Ints, order: Ints) -> Ints:
    """`values` with item ``order[k]`` at place k."""
    return tuple([values[dim] for dim in order])


def reorder_dimensions(shape: Ints, strides: Sequence[Ints | None], reduced_outputs: Sequence[bool] = ()) -> Ints:
    """The permutation that lists the dims of `shape` from innermost to outermost.

    `strides` holds the byte strides of each operand over `shape`, outputs first; None abstains (still to be
    allocated). `reduced_outputs` marks outputs of a reduction, whose stride-0 dims go innermost. An insertion sort:
    a dim moves inwards while the comparison asks for it, and an undecided comparison looks one dim further.
    """
    ndim = len(shape)
    order = list(range(ndim - 1, -1, -1))
    voters = [(steps, index < len(reduced_outputs) and reduced_outputs[index]) for index, steps in enumerate(strides)]
    for start in range(1, ndim):
        place = start
        for inner in range(start - 1, -1, -1):
            verdict = _compare(shape, voters, order[inner], order[place])
            if verdict > 0:
                order[inner], order[place] = order[place], order[inner]
                place = inner
            elif verdict < 0:
                break
    return tuple(order)


def _compare(shape: Ints, voters: Sequence[tuple[Ints | None, bool]], first: int, second: int) -> int:
    """Positive when `second` belongs inside of `first`; the first operand with an opinion decides."""
    for strides, reduced in voters:
        if strides is None:
            continue
        a, b = strides[first], strides[second]
        if reduced and (a == 0) != (b == 0):
            return 1 if b == 0 else -1
        if a == 0 or b == 0:
            continue
        if a != b:
            return 1 if a > b else -1
        if shape[first] > shape[second]:
            return 1
    return 0


def preserve_format_strides(sizes: Ints, strides: Ints) -> Ints:
    """Strides of a copy that keeps the layout: the same when dense and without overlap, else the same order packed."""
    if is_non_overlapping_and_dense(sizes, strides):
        return strides
    return packed_strides(sizes, reorder_dimensions(sizes, [strides]))


def meta_like(meta: TensorMeta, dtype: DType | None = None) -> TensorMeta:
    """The meta of a new tensor of the same sizes, whose strides keep the layout, of a dtype if that is given."""
    return meta_of(meta.sizes, preserve_format_strides(meta.sizes, meta.strides), dtype or meta.dtype, meta.device)


def format_strides(operator: str, sizes: Ints, strides: Ints, memory_format: MemoryFormat | None) -> Ints:
    """Strides in a memory format; None and preserve_format keep the layout of `strides`. Raises TypeError for what is
    no format, RuntimeError when the rank does not go with it."""
    if memory_format is None or memory_format is preserve_format:
        return preserve_format_strides(sizes, strides)
    if memory_format is contiguous_format:
        return default_strides(sizes)
    check_memory_format(operator, memory_format)
    if memory_format.rank != len(sizes):
        raise RuntimeError(
            f"{operator}(): required rank {memory_format.rank} tensor to use {memory_format.name} format"
        )
    return channels_last_strides(sizes, memory_format)


CONJUGATE = 1
NEGATIVE = 2
TABLE_LIMIT = 1 << 14
PLAN_LIMIT = 256

FIXED = tuple(
    "byte_strides contiguous dense device dtype lazy nbytes ndim numel pool shape sizes strides has_autograd".split()
)
"""The members of a TensorMeta set at construction; the others are caches."""


class TensorMeta:
    """Sizes, strides (in elements), dtype and device of a tensor, with what follows from them.

    Two equal metas are usually one object, so ``is`` may serve as a quick hint; it never proves a difference.
    `pool` is the free list for a block of a dense tensor (None when there is none), `calls` the call cache, `plans` a
    bounded cache for whoever works on tensors of this meta, `keys` the dispatch keys. `views` caches the
    metas of views, by the tuple of sizes for expand, the length for a slice of dim 0, "row" for one of its parts,
    and otherwise by a tuple that starts with the operator's name.
    `arrays` holds NumPy's views of a few addresses, kept for small tensors, whose blocks come again.
    `lazy` is 0, or the bits CONJUGATE and NEGATIVE when the elements in memory stand for their conjugate or negative.
    A tensor with the Autograd key has the `twin` of its meta, equal in every field but for its own empty caches and
    `has_autograd`: so what was learnt for the one never serves the other, and the fast paths pay nothing.
    """

    __slots__ = (
        *[f"_{name}" for name in FIXED], "arrays", "calls", "keys", "plans", "transposed", "twin", "views",
    )  # fmt: skip

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    byte_strides: tuple[int, ...]
    dtype: DType
    device: Device
    ndim: int
    numel: int
    nbytes: int
    contiguous: bool
    dense: bool
    lazy: int
    shape: Size
    keys: int | None
    pool: list[int] | None
    calls: dict[Any, Any]
    plans: dict[Any, Any]
    views: dict[Any, Any]
    transposed: TensorMeta | None
    arrays: dict[int, Any]
    twin: TensorMeta | None
    has_autograd: bool

    def __repr__(self) -> str:
        return f"TensorMeta({self.sizes}, {self.strides}, {self.dtype.name}, {str(self.device)!r})"


seal(TensorMeta, FIXED)

Key = tuple[tuple[int, ...], tuple[int, ...], DType, Device, int]
_TABLE: dict[Key, TensorMeta] = {}
_FRESH: dict[tuple[tuple[int, ...], DType, Device], TensorMeta] = {}


def meta_of(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device = cpu, lazy: int = 0
) -> TensorMeta:
    """The meta with exactly these members; sizes and strides are tuples of non-negative ints of equal length."""
    key = (sizes, strides, dtype, device, lazy)
    known = _TABLE.get(key)
    return known if known is not None else _build(key)


def meta_with(meta: TensorMeta, sizes: tuple[int, ...], strides: tuple[int, ...]) -> TensorMeta:
    """`meta` with other sizes and strides."""
    return meta_of(sizes, strides, meta.dtype, meta.device, meta.lazy)


def known_meta(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device = cpu
) -> TensorMeta | None:
    """The meta with these members if there is one already, which says that they are valid; else None."""
    return _TABLE.get((sizes, strides, dtype, device, 0))


def contiguous_meta(sizes: tuple[int, ...], dtype: DType, device: Device = cpu) -> TensorMeta:
    """The meta of a fresh row-major tensor. Raises RuntimeError for negative sizes."""
    key = (sizes, dtype, device)
    known = _FRESH.get(key)
    if known is None:
        if sizes and min(sizes) < 0:
            check_sizes("empty", sizes)
        known = meta_of(sizes, default_strides(sizes), dtype, device)
        if len(_FRESH) >= TABLE_LIMIT:
            _FRESH.clear()
        _FRESH[key] = known
    return known


def _build(key: Key) -> TensorMeta:
    sizes, strides, dtype, device, lazy = key
    numel = prod(sizes)
    if not 0 < numel <= INT64_MAX or (strides and max(strides) > INT64_MAX):
        check_addressable(sizes, strides)
    self: Any = TensorMeta()
    self._sizes = sizes
    self._strides = strides
    self._byte_strides = tuple([stride * dtype.itemsize for stride in strides])
    self._dtype = dtype
    self._device = device
    self._lazy = lazy
    self._ndim = len(sizes)
    self._numel = numel
    self._nbytes = self.numel * dtype.itemsize
    self._contiguous = is_contiguous(sizes, strides)
    self._dense = self.contiguous or is_non_overlapping_and_dense(sizes, strides)
    self._shape = tuple.__new__(Size, sizes)  # they are ints already
    self.keys = None
    poolable = device is cpu and not dtype.quantized  # a new quantized tensor needs a quantizer
    pooled = poolable and self.dense and 0 < self.nbytes <= SMALL_LIMIT
    self._pool = host_allocator.pools[small_class(self.nbytes)] if pooled else None
    if poolable and not self.nbytes:
        self._pool = NO_BLOCKS
    self.calls = {}
    self.plans = {}
    self.views = {}
    self.transposed = None
    self.arrays = {}
    self.twin = None
    self._has_autograd = False
    if len(_TABLE) >= TABLE_LIMIT:
        _TABLE.clear()
    _TABLE[key] = self
    return self  # type: ignore[no-any-return]


AUTOGRAD_KEY = 1 << 63
"""Beside the dispatch keys of a meta with autograd: calls with such a tensor go to autograd kernels."""


def with_autograd(meta: TensorMeta) -> TensorMeta:
    """Return the meta of a tensor that autograd watches, with the same fields as the one given."""
    twin = meta if meta.has_autograd else meta.twin
    if twin is None:
        made: Any = TensorMeta()
        for name in FIXED:
            setattr(made, f"_{name}", getattr(meta, name))
        made.keys = made._pool = made.transposed = None
        made.calls, made.plans, made.views, made.arrays = {}, {}, {}, {}
        made.twin = meta
        made._has_autograd = True
        meta.twin = twin = made
    return twin


def without_autograd(meta: TensorMeta) -> TensorMeta:
    """Return the meta of a tensor that does not require grad, with the same fields as the one given."""
    return meta.twin if meta.has_autograd else meta  # type: ignore[return-value]


_INTS = frozenset({int})


def only_ints(values: Iterable[Any]) -> bool:
    """Return whether all values are ints: what was kept for ints must not serve floats and bools, which are equal to
    them."""
    return _INTS.issuperset(map(type, values))


def remember(plans: dict[Any, Any], key: Any, value: Any) -> Any:
    """Put `value` into a meta's cache, emptying it first when it is full, and return it."""
    if len(plans) >= PLAN_LIMIT:
        plans.clear()
    plans[key] = value
    return value


def recalled(plans: dict[Any, Any], key: Any, make: Callable[..., R], *args: Any) -> R:
    """Return the value under `key` in a meta's cache; the first call computes it by ``make(*args)``."""
    found: R | None = plans.get(key)
    return cast("R", remember(plans, key, make(*args))) if found is None else found
