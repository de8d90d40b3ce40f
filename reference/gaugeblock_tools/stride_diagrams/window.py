"""Which part of a large tensor is drawn: a run of cells, and blocks of elements over its last two dims."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from .placement import Placement, count, letters


@dataclass(frozen=True)
class Block:
    """Elements that differ in the last two dims alone: cell numbers and ordinals, row by row, with what is left out."""

    label: str
    rows: tuple[tuple[int, ...], ...]
    ordinals: tuple[tuple[int, ...], ...]
    more_rows: int
    more_columns: int


def shown_cells(placement: Placement, most: int) -> range:
    """At most so many cells: all, or a run that begins just before the first one that is read."""
    if placement.cells <= most:
        return range(placement.cells)
    first = min(placement.readers, default=0)
    start = max(0, min(first - 1, placement.cells - most))
    return range(start, start + most)


def left_out(placement: Placement, shown: range) -> str:
    """A word about cells that are not drawn; empty if all are."""
    hidden = placement.cells - len(shown)
    if not hidden:
        return ""
    return f"cells {shown.start:,} to {shown.stop - 1:,} are shown, {count(hidden, 'other')} not"


def blocks(placement: Placement, rows: int, columns: int, most: int) -> tuple[list[Block], str]:
    """At most `most` blocks of at most `rows` by `columns` elements, and a word about what is left out."""
    sizes = placement.sizes
    outer, inner = sizes[:-2], (1, 1, *sizes)[-2:]
    tall, wide = min(inner[0], rows), min(inner[1], columns)
    found = []
    if placement.numel:
        flat = placement.places.reshape((-1, *inner))
        for number, prefix in enumerate(itertools.islice(itertools.product(*map(range, outer)), most)):
            label = f"[{', '.join([*map(str, prefix), ':', ':'])}]" if outer else ""
            cells = tuple(tuple(map(int, row[:wide])) for row in flat[number, :tall])
            start = number * inner[0] * inner[1]
            ordinals = tuple(tuple(start + i * inner[1] + j for j in range(wide)) for i in range(tall))
            found.append(Block(label, cells, ordinals, inner[0] - tall, inner[1] - wide))
    shown = len(found) * tall * wide
    hidden = placement.numel - shown
    return found, f"{shown:,} of {count(placement.numel, 'element')} shown" if hidden else ""


def axes(placement: Placement) -> tuple[str, str]:
    """The letters of the last two dims; empty where there is none."""
    names = ["", "", *letters(len(placement.sizes))]
    return names[-2], names[-1]
