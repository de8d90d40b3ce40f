"""How a kernel walks: over flat memory with wide loads, or over nested strides; what is chosen by sizes and addresses.

A *flat* kernel reads operands that are contiguous or a single element, `width` elements at a time. A *strided* one
takes an index apart into the iteration plan's coalesced dims, innermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ...iteration.split import INT32_MAX, fits_32bit

Ints = tuple[int, ...]
LOAD_BYTES = 16


class Layout(NamedTuple):
    """Which kernel runs: index bits (32 or 64), number of dims (0: flat), elements per step, operands with one element.

    `single` marks the memory operands, outputs first, of which a flat kernel reads one element.
    """

    bits: int
    ndim: int
    width: int
    single: tuple[bool, ...]


def layout_of(shape: Ints, strides: Sequence[Ints], itemsizes: Sequence[int], outputs: int) -> Layout:
    """The layout for coalesced sizes and byte strides, innermost first, operand by operand, the `outputs` first.

    It is flat with the widest steps where each operand is contiguous, or an input of one element, else strided.
    Indices have 32 bits where these reach every byte.
    """
    count = prod(shape)
    single = tuple([place >= outputs and not any(steps) for place, steps in enumerate(strides)])
    long = [itemsize for itemsize, one in zip(itemsizes, single, strict=True) if not one]
    flat = count == 1 or all(
        one or steps == (itemsize,) for steps, itemsize, one in zip(strides, itemsizes, single, strict=True)
    )
    if flat:
        return Layout(32 if count * max(long) <= INT32_MAX else 64, 0, max(1, LOAD_BYTES // max(long)), single)
    return Layout(32 if fits_32bit(shape, strides) else 64, len(shape), 1, (False,) * len(strides))


def fitting_width(layout: Layout, addresses: Sequence[int], itemsizes: Sequence[int]) -> int:
    """The widest step of a layout at which every contiguous operand's loads are aligned."""
    width = layout.width
    if not any(address % LOAD_BYTES for address in addresses):
        return width
    for address, itemsize, single in zip(addresses, itemsizes, layout.single, strict=True):
        while width > 1 and not single and address % (width * itemsize):
            width //= 2
    return width
