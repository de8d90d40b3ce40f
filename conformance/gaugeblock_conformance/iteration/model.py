"""Models of the iterator's rules on plain tuples, written from the chapter and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from ..case import TensorCase, default_strides, is_contiguous

Sizes = tuple[int, ...]


def broadcast(*shapes: Sizes) -> Sizes | None:
    """The broadcast shape, or None when there is none."""
    result: list[int] = []
    for k in range(1, max(map(len, shapes), default=0) + 1):
        others = {shape[-k] for shape in shapes if len(shape) >= k} - {1}
        if len(others) > 1:
            return None
        result.append(others.pop() if others else 1)
    return tuple(reversed(result))


def broadcast_strides(case: TensorCase, result: Sizes) -> Sizes:
    """The strides with which an operand is read over the result's dims: 0 where it is stretched or has no dim."""
    lead = len(result) - len(case.sizes)
    return (0,) * lead + tuple(
        0 if size == 1 and wide != 1 else stride
        for size, stride, wide in zip(case.sizes, case.strides, result[lead:], strict=True)
    )


def is_dense(sizes: Sizes, strides: Sizes) -> bool:
    """No gap and no overlap: in some order of the dims the strides are the row-major ones."""
    order = sorted((k for k in range(len(sizes)) if sizes[k] != 1), key=lambda k: -strides[k])
    return is_contiguous(tuple(sizes[k] for k in order), tuple(strides[k] for k in order))


def is_channels_last(sizes: Sizes, strides: Sizes) -> bool:
    """The stride order NHWC of a 4-D tensor; dims of size 1 may have any stride."""
    if len(sizes) != 4:
        return False
    step = 1
    for k in (1, 3, 2, 0):
        if sizes[k] != 1:
            if strides[k] != step:
                return False
            step *= sizes[k]
    return True


def channels_last_strides(sizes: Sizes) -> Sizes:
    _, channels, height, width = sizes
    return (height * width * channels, 1, width * channels, channels)


def _must_swap(inner: int, outer: int, sizes: Sizes, operands: Sequence[Sizes]) -> int:
    """1: ``outer`` belongs further in than ``inner``; -1: it does not; 0: no operand decides."""
    for strides in operands:
        near, far = strides[inner], strides[outer]
        if near == 0 or far == 0:
            continue
        if near != far:
            return 1 if near > far else -1
        if sizes[inner] > sizes[outer]:
            return 1
    return 0


def sorted_dims(sizes: Sizes, operands: Sequence[Sizes]) -> list[int]:
    """Dims from the innermost loop outward: insertion sort from the reversed order, skipping undecided pairs."""
    order = list(range(len(sizes)))[::-1]
    for start in range(1, len(order)):
        at = start
        for k in range(start - 1, -1, -1):
            verdict = _must_swap(order[k], order[at], sizes, operands)
            if verdict > 0:
                order[k], order[at] = order[at], order[k]
                at = k
            elif verdict < 0:
                break
    return order


def output_strides(cases: Sequence[TensorCase]) -> Sizes:
    """Strides of a result that the operator allocates (ITER-007)."""
    shapes = [case.sizes for case in cases]
    result = broadcast(*shapes)
    assert result is not None
    if all(shape == result for shape in shapes):
        if all(is_contiguous(c.sizes, c.strides) for c in cases):
            return default_strides(result)
        if all(is_channels_last(c.sizes, c.strides) for c in cases):
            return channels_last_strides(result)
        first = cases[0]
        if all(c.strides == first.strides and is_dense(c.sizes, c.strides) for c in cases):
            return first.strides
    strides = [0] * len(result)
    step = 1
    for k in sorted_dims(result, [broadcast_strides(c, result) for c in cases]):
        strides[k] = step
        step *= max(result[k], 1)
    return tuple(strides)


def collapse(sizes: Sizes, operands: Sequence[Sizes]) -> tuple[list[int], list[list[int]]]:
    """Sizes of the loops, innermost first, and each operand's strides over them, after joining dims (ITER-009)."""
    order = sorted_dims(sizes, operands)
    loops: list[int] = []
    steps: list[list[int]] = [[] for _ in operands]
    for k in order:
        joins = bool(loops) and (
            loops[-1] == 1 or sizes[k] == 1
            or all(loops[-1] * own[-1] == operand[k] for own, operand in zip(steps, operands, strict=True))
        )  # fmt: skip
        if joins:
            for own, operand in zip(steps, operands, strict=True):
                if loops[-1] == 1:
                    own[-1] = operand[k]
            loops[-1] *= sizes[k]
        else:
            loops.append(sizes[k])
            for own, operand in zip(steps, operands, strict=True):
                own.append(operand[k])
    return loops, steps
