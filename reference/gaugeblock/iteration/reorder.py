"""Step: the order of visiting the dims, smallest stride innermost."""

from __future__ import annotations

from collections.abc import Sequence

Ints = tuple[int, ...]


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


def permute(values: Ints, order: Ints) -> Ints:
    """`values` listed in `order`."""
    return tuple([values[dim] for dim in order])


def unpermute(values: Ints, order: Ints) -> Ints:
    """The inverse of `permute`."""
    result = [0] * len(order)
    for place, dim in enumerate(order):
        result[dim] = values[place]
    return tuple(result)
