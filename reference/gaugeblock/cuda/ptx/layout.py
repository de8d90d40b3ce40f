"""How a kernel walks: over flat memory with wide loads, or over nested strides; what is chosen by sizes and addresses.

A *flat* kernel reads operands that are contiguous or a single element, `width` elements at a time. A *strided* one
takes an index apart into the iteration plan's coalesced dims, innermost first; its steps have `width` elements of the
innermost dim where the outputs are contiguous in it and its size can be shared out evenly. Of an input they then read
all elements at once, one for all of them, or one by one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from ...iteration.dimensions import INT32_MAX, fits_32bit
from ...kernels.lower import Emitter

Ints = tuple[int, ...]
LOAD_BYTES = 16
WIDE, ONCE, EACH = "wide", "once", "each"
"""In steps of several elements an operand is read at once, or its one element is, or its elements one by one."""


class Layout(NamedTuple):
    """Which kernel runs: index bits (32 or 64), number of dims (0: flat), elements per step, operands with one element.

    `single` marks the memory operands, outputs first, of which a kernel reads one element, before its first step.
    `inner` says for those of a strided kernel of wide steps how they lie in one: WIDE, ONCE or EACH.
    """

    bits: int
    ndim: int
    width: int
    single: tuple[bool, ...]
    inner: tuple[str, ...] = ()

    def of_width(self, width: int) -> Layout:
        """The same with fewer elements per step."""
        return self._replace(width=width, inner=self.inner if width > 1 else ())


def layout_of(shape: Ints, strides: Sequence[Ints], itemsizes: Sequence[int], outputs: int) -> Layout:
    """The layout for coalesced sizes and byte strides, innermost first, operand by operand, the `outputs` first.

    It is flat with the widest steps where each operand is contiguous, or an input of one element, else strided, with
    the widest steps at which what is contiguous in the innermost dim can be aligned. Indices have 32 bits where these
    reach every byte.
    """
    count = prod(shape)
    single = tuple([place >= outputs and not any(steps) for place, steps in enumerate(strides)])
    long = [itemsize for itemsize, one in zip(itemsizes, single, strict=True) if not one]
    flat = count == 1 or all(
        one or steps == (itemsize,) for steps, itemsize, one in zip(strides, itemsizes, single, strict=True)
    )
    if flat:
        return Layout(32 if count * max(long) <= INT32_MAX else 64, 0, max(1, LOAD_BYTES // max(long)), single)
    bits = 32 if fits_32bit(shape, strides) else 64
    inner = tuple([{0: ONCE, size: WIDE}.get(steps[0], EACH) for steps, size in zip(strides, itemsizes, strict=True)])
    width = _strided_width(shape[0], strides, itemsizes, inner) if set(inner[:outputs]) == {WIDE} else 1
    return Layout(bits, len(shape), width, single, inner).of_width(width)


def _strided_width(size: int, strides: Sequence[Ints], itemsizes: Sequence[int], inner: Sequence[str]) -> int:
    """The widest step that divides the innermost dim's size and at which the rows of all WIDE operands are aligned."""
    wide = [(steps, itemsize) for steps, itemsize, how in zip(strides, itemsizes, inner, strict=True) if how == WIDE]
    width = max(1, LOAD_BYTES // max(itemsize for _, itemsize in wide))
    while width > 1 and (
        size % width or any(step % (width * itemsize) for steps, itemsize in wide for step in steps[1:])
    ):
        width //= 2
    return width


def fitting_width(layout: Layout, addresses: Sequence[int], itemsizes: Sequence[int]) -> int:
    """The widest step of a layout at which every contiguous operand's loads are aligned."""
    width = layout.width
    if not any(address % LOAD_BYTES for address in addresses):
        return width
    for place, (address, itemsize) in enumerate(zip(addresses, itemsizes, strict=True)):
        wide = layout.inner[place] == WIDE if layout.inner else not layout.single[place]
        while width > 1 and wide and address % (width * itemsize):
            width //= 2
    return width


def magic(divisor: int) -> tuple[int, int]:
    """(m, s) for a divisor."""
    shift = (divisor - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift


def divided(index: int, multiplier: int, shift: int) -> int:
    """index // divisor by its (multiplier, shift), as kernels compute it."""
    return ((index * multiplier >> 32) + index) >> shift


def layout_length(layout: Layout, operands: int) -> int:
    """Numbers in the meta of a strided layout."""
    return (layout.ndim - 1) * (3 if layout.bits == 32 else 1) + layout.ndim * operands


def meta(layout: Layout, shape: Ints, strides: Sequence[Ints]) -> Any:
    """The meta of an iteration space: an array of ctypes, numbers modulo the width of indices."""
    inner = (shape[0] // layout.width, *shape[1:])[:-1]
    numbers = [*inner]
    if layout.bits == 32:
        factors = [magic(size) for size in inner]
        numbers += [multiplier for multiplier, _ in factors]
        numbers += [shift for _, shift in factors]
    numbers += [step for steps in strides for step in steps]
    type = ctypes.c_uint32 if layout.bits == 32 else ctypes.c_uint64
    return (type * layout_length(layout, len(strides)))(*[number & ((1 << layout.bits) - 1) for number in numbers])


class Places(NamedTuple):
    """Of a step, by operand: the address of its first element, and how far the next one in the innermost dim is."""

    addresses: dict[str, str]
    steps: dict[str, str]


def strided_places(code: Emitter, layout: Layout, names: Sequence[str], index: str, space: str) -> Places:
    """The places of the operands of which more than one element is read, in a kernel with the parameter %meta."""
    type, ndim = f"i{layout.bits}", layout.ndim
    length = layout_length(layout, len(names))

    def number(place: int) -> str:
        at = code.register(f"getelementptr [{length} x {type}], ptr %meta, i64 0, i64 {place}")
        return code.register(f"load {type}, ptr {at}, align {layout.bits // 8}")

    left, coordinates = index, []
    for dim in range(ndim - 1):
        size = number(dim)
        if layout.bits == 64:
            above = code.register(f"udiv i64 {left}, {size}")
        else:
            above = _divided(code, left, number(ndim - 1 + dim), number(2 * (ndim - 1) + dim))
        coordinates.append(code.register(f"sub {type} {left}, {code.register(f'mul {type} {above}, {size}')}"))
        left = above
    coordinates.append(left)
    if layout.width > 1:
        coordinates[0] = code.register(f"shl {type} {coordinates[0]}, {layout.width.bit_length() - 1}")
    start = layout_length(layout, 0)
    places = Places({}, {})
    for position, name in enumerate(names):
        if layout.single[position]:
            continue
        strides = [number(start + position * ndim + dim) for dim in range(ndim)]
        offset = "0"
        for coordinate, stride in zip(coordinates, strides, strict=True):
            moved = code.register(f"mul {type} {coordinate}, {stride}")
            offset = moved if offset == "0" else code.register(f"add {type} {offset}, {moved}")
        places.addresses[name] = code.register(f"getelementptr i8, ptr{space} %{name}, {type} {offset}")
        places.steps[name] = strides[0]
    return places


def _divided(code: Emitter, value: str, multiplier: str, shift: str) -> str:
    """value // divisor by the divisor's multiplier and shift."""
    wide = [code.register(f"zext i32 {number} to i64") for number in (value, multiplier)]
    product = code.register(f"mul i64 {wide[0]}, {wide[1]}")
    high = code.register(f"trunc i64 {code.register(f'lshr i64 {product}, 32')} to i32")
    return code.register(f"lshr i32 {code.register(f'add i32 {high}, {value}')}, {shift}")
