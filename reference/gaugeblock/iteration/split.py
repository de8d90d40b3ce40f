"""Step: pieces small enough for 32-bit offsets, and shares for threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

Ints = tuple[int, ...]
INT32_MAX = (1 << 31) - 1
GRAIN_SIZE = 32768


class Piece(NamedTuple):
    """A box of the iteration space: its shape, and where each operand starts in bytes."""

    shape: Ints
    offsets: Ints


def fits_32bit(shape: Ints, strides: Sequence[Ints]) -> bool:
    """Whether the count and every operand's last byte offset stay within a signed 32-bit number."""
    if prod(shape) > INT32_MAX:
        return False
    return all(
        1 + sum((size - 1) * abs(step) for size, step in zip(shape, operand, strict=True)) <= INT32_MAX
        for operand in strides
    )


def dim_to_split(shape: Ints, strides: Sequence[Ints]) -> int:
    """The dim over which some operand reaches furthest; ties go to the outermost."""
    best, furthest = len(shape) - 1, -1
    for dim in range(len(shape) - 1, -1, -1):
        reach = max((abs(operand[dim]) * (shape[dim] - 1) for operand in strides), default=0)
        if reach > furthest and shape[dim] > 1:
            best, furthest = dim, reach
    return best


def split_32bit(shape: Ints, strides: Sequence[Ints]) -> Iterator[Piece]:
    """Pieces that each fit 32-bit offsets, covering `shape` once, by halving the furthest-reaching dim."""
    pending = [Piece(shape, (0,) * len(strides))]
    while pending:
        piece = pending.pop()
        if fits_32bit(piece.shape, strides):
            yield piece
            continue
        dim = dim_to_split(piece.shape, strides)
        low = piece.shape[dim] // 2
        for begin, count in ((low, piece.shape[dim] - low), (0, low)):
            offsets = tuple(
                offset + begin * operand[dim] for offset, operand in zip(piece.offsets, strides, strict=True)
            )
            pending.append(Piece((*piece.shape[:dim], count, *piece.shape[dim + 1 :]), offsets))


def thread_shares(count: int, grain: int, threads: int) -> list[tuple[int, int]]:
    """Disjoint ``(begin, end)`` that cover range(count); one share when it is below the grain or one thread."""
    if count <= 0:
        return []
    if threads <= 1 or count <= grain:
        return [(0, count)]
    shares = min(threads, -(-count // grain))
    chunk = -(-count // shares)
    return [(begin, min(begin + chunk, count)) for begin in range(0, count, chunk)]
