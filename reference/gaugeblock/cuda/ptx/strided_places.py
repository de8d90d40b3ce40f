"""Where the elements of strided operands lie: an index taken apart into coordinates, and these times byte strides.

The geometry of a kernel holds the sizes of all dims but the last, with 32-bit indices their multipliers and shifts (see
divider), and the byte strides operand by operand. The size of the innermost dim counts steps of the layout's width.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...kernels.lower import Emitter
from .divider import magic
from .layout import Ints, Layout


def geometry_length(layout: Layout, operands: int) -> int:
    """Numbers in the geometry of a strided layout."""
    return (layout.ndim - 1) * (3 if layout.bits == 32 else 1) + layout.ndim * operands


def geometry(layout: Layout, shape: Ints, strides: Sequence[Ints]) -> Any:
    """The geometry of an iteration space: an array of ctypes, numbers modulo the width of indices."""
    inner = (shape[0] // layout.width, *shape[1:])[:-1]
    numbers = [*inner]
    if layout.bits == 32:
        factors = [magic(size) for size in inner]
        numbers += [multiplier for multiplier, _ in factors]
        numbers += [shift for _, shift in factors]
    numbers += [step for steps in strides for step in steps]
    type = ctypes.c_uint32 if layout.bits == 32 else ctypes.c_uint64
    return (type * geometry_length(layout, len(strides)))(*[number & ((1 << layout.bits) - 1) for number in numbers])


class Places(NamedTuple):
    """Of a step, by operand: the address of its first element, and how far the next one in the innermost dim is."""

    addresses: dict[str, str]
    steps: dict[str, str]


def strided_places(code: Emitter, layout: Layout, names: Sequence[str], index: str, space: str) -> Places:
    """The places of the operands of which more than one element is read, in a kernel with the parameter %geometry."""
    type, ndim = f"i{layout.bits}", layout.ndim
    length = geometry_length(layout, len(names))

    def number(place: int) -> str:
        at = code.register(f"getelementptr [{length} x {type}], ptr %geometry, i64 0, i64 {place}")
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
    start = geometry_length(layout, 0)
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
