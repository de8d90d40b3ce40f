"""Step: neighbouring dims that every operand walks in one stride become one dim."""

from __future__ import annotations

from collections.abc import Sequence

from .reorder import permute, reorder_dimensions

Ints = tuple[int, ...]


def coalesce_dimensions(shape: Ints, strides: Sequence[Ints]) -> tuple[Ints, tuple[Ints, ...]]:
    """Shape and byte strides (innermost first) with all mergeable neighbours merged.

    Dims merge when one has size 1, or when size times stride of the inner equals the stride of the outer for all.
    """
    if len(shape) <= 1:
        return shape, tuple(strides)
    sizes = [shape[0]]
    steps = [[operand[0]] for operand in strides]
    for dim in range(1, len(shape)):
        size = shape[dim]
        if sizes[-1] == 1:
            for merged, operand in zip(steps, strides, strict=True):
                merged[-1] = operand[dim]
            sizes[-1] = size
        elif size == 1:
            continue
        elif all(sizes[-1] * merged[-1] == operand[dim] for merged, operand in zip(steps, strides, strict=True)):
            sizes[-1] *= size
        else:
            sizes.append(size)
            for merged, operand in zip(steps, strides, strict=True):
                merged.append(operand[dim])
    return tuple(sizes), tuple(tuple(merged) for merged in steps)


def loop_dimensions(shape: Ints, strides: Sequence[Ints]) -> tuple[Ints, tuple[Ints, ...]]:
    """Return shape and byte strides, given in logical order and outputs first, reordered and coalesced for a loop."""
    order = reorder_dimensions(shape, strides)
    return coalesce_dimensions(permute(shape, order), [permute(operand, order) for operand in strides])
