"""The stride laws, as pure functions on tuples: sizes and strides in elements, dims from the front."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..core.memory_format import MemoryFormat, channels_last, channels_last_3d

Ints = tuple[int, ...]


def default_strides(sizes: Ints) -> Ints:
    """Row-major strides: the last is 1, each other the next stride times max(next size, 1)."""
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        if size > 1:
            step *= size
    strides.reverse()
    return tuple(strides)


def is_contiguous(sizes: Ints, strides: Ints) -> bool:
    """Row-major and gapless, sizes 1 not counting; true whenever there are no elements."""
    if 0 in sizes:
        return True
    step = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_non_overlapping_and_dense(sizes: Ints, strides: Ints) -> bool:
    """Some order of the dims makes the tensor contiguous: every element once, no gaps."""
    if 0 in sizes:
        return True
    step = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size != 1):
        if stride != step:
            return False
        step *= size
    return True


def extent(sizes: Ints, strides: Ints) -> int:
    """One more than the largest element offset that is addressed; 0 without elements."""
    if 0 in sizes:
        return 0
    return 1 + sum([(size - 1) * stride for size, stride in zip(sizes, strides, strict=True)])


def has_internal_overlap(sizes: Ints, strides: Ints) -> bool:
    """A stride 0 on a size above 1: several indices meet in one element."""
    return any(stride == 0 and size > 1 for size, stride in zip(sizes, strides, strict=True))


_CHANNEL_ORDERS: dict[MemoryFormat, Ints] = {channels_last: (1, 3, 2, 0), channels_last_3d: (1, 4, 3, 2, 0)}


def channels_last_strides(sizes: Ints, memory_format: MemoryFormat = channels_last) -> Ints:
    """Strides with the channel dim (1) innermost; sizes must have the rank of the format."""
    strides = [0] * len(sizes)
    step = 1
    for dim in _CHANNEL_ORDERS[memory_format]:
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return tuple(strides)


def is_channels_last(sizes: Ints, strides: Ints, memory_format: MemoryFormat = channels_last) -> bool:
    """The strides are those of channels_last_strides, sizes 1 not counting; false for another rank."""
    order = _CHANNEL_ORDERS[memory_format]
    if len(sizes) != len(order):
        return False
    step = 1
    for dim in order:
        if sizes[dim] != 1:
            if strides[dim] != step:
                return False
            step *= sizes[dim]
    return True


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
    """Strides of the tensor expanded to `new_sizes`: 0 on every enlarged dim and every new dim of size above 1.

    A new dim of size 1 gets the step over the dims after it.
    """
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
    result = [0] * len(sizes)
    step = 1
    for dim in reorder_dimensions(sizes, [strides]):
        result[dim] = step
        if sizes[dim] > 1:
            step *= sizes[dim]
    return tuple(result)
