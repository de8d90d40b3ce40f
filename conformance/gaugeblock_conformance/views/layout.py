"""Sizes, strides and offset as plain numbers, and what each view operator makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..backend import Array
from ..case import TensorCase, default_strides, extent, is_contiguous

if TYPE_CHECKING:
    from ..session import Handle, Session

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """A tensor's record. A stride of None is one that no requirement fixes."""

    sizes: Sizes
    strides: tuple[int | None, ...]
    offset: int = 0

    @property
    def ndim(self) -> int:
        return len(self.sizes)

    @property
    def numel(self) -> int:
        return prod(self.sizes)

    @property
    def known(self) -> Sizes:
        """The strides, with 0 for those that are not fixed (their dims have size 1)."""
        return tuple(s or 0 for s in self.strides)

    def replace(self, dim: int, size: int, stride: int | None, shift: int = 0) -> Layout:
        sizes, strides = list(self.sizes), list(self.strides)
        sizes[dim], strides[dim] = size, stride
        return Layout(tuple(sizes), tuple(strides), self.offset + shift)

    def drop(self, dim: int, shift: int = 0) -> Layout:
        return Layout(
            self.sizes[:dim] + self.sizes[dim + 1 :], self.strides[:dim] + self.strides[dim + 1 :], self.offset + shift
        )

    def insert(self, dim: int, size: int, stride: int | None) -> Layout:
        sizes, strides = list(self.sizes), list(self.strides)
        sizes.insert(dim, size)
        strides.insert(dim, stride)
        return Layout(tuple(sizes), tuple(strides), self.offset)

    def select(self, dim: int, index: int) -> Layout:
        return self.drop(dim, (index % self.sizes[dim]) * self.known[dim])

    def cut(self, dim: int, piece: slice) -> Layout:
        """The dim's elements that the slice names, with bounds clamped as Python clamps them."""
        start, stop, step = piece.indices(self.sizes[dim])
        stride = self.known[dim]
        return self.replace(dim, len(range(start, stop, step)), stride * step, start * stride)

    def permute(self, order: Sequence[int]) -> Layout:
        return Layout(tuple(self.sizes[k] for k in order), tuple(self.strides[k] for k in order), self.offset)

    def swap(self, a: int, b: int) -> Layout:
        order = list(range(self.ndim))
        if order:
            order[a], order[b] = order[b], order[a]
        return self.permute(order)

    def index(self, index: Any) -> Layout:
        """The view for an index of integers, slices, None and one Ellipsis."""
        items = index if isinstance(index, tuple) else (index,)
        taken = sum(item is not None and item is not Ellipsis for item in items)
        layout, dim = self, 0
        for item in items:
            if item is Ellipsis:
                dim += self.ndim - taken
            elif item is None:
                layout, dim = layout.insert(dim, 1, None), dim + 1
            elif isinstance(item, slice):
                layout, dim = layout.cut(dim, item), dim + 1
            else:
                layout = layout.select(dim, item)
        return layout

    def of(self, storage: Array) -> Array:
        """The elements of a 1-D array laid out like the storage (writable, no copy)."""
        base = storage[self.offset :] if self.numel else storage[:0]
        return as_strided(base, self.sizes, tuple(s * storage.itemsize for s in self.known))

    def places(self) -> Array:
        """The storage index of every element, in row-major order."""
        flat = np.array(self.offset)
        for size, stride in zip(self.sizes, self.known, strict=True):
            flat = np.add.outer(flat, np.arange(size) * stride)
        return flat.reshape(-1)


def layout_of(case: TensorCase) -> Layout:
    return Layout(case.sizes, case.strides, case.offset)


def view_strides(layout: Layout, sizes: Sizes) -> tuple[int | None, ...] | None:
    """Strides under which ``sizes`` walk the elements in the same order, or None if there are none.

    Found by trying: the first step along each new dim fixes its stride, and then every element must fit.
    """
    places = layout.places()
    if not len(places):
        return (None,) * len(sizes)
    steps = default_strides(sizes)
    found = tuple(int(places[step] - places[0]) if n > 1 else None for n, step in zip(sizes, steps, strict=True))
    made = Layout(sizes, found, layout.offset)
    return found if np.array_equal(made.places(), places) else None


def fills_a_range(layout: Layout) -> bool:
    """Return whether the elements fill a range of the storage without gap or overlap."""
    if layout.numel == 0:
        return True
    return extent(layout.sizes, layout.known) == layout.numel == len(set(layout.places().tolist()))


def preserved_strides(layout: Layout) -> Sizes:
    """Strides of a copy that preserves the memory format (VIEW-017)."""
    if fills_a_range(layout):
        return layout.known
    order = _stride_order(layout.sizes, layout.known)
    strides, step = [0] * layout.ndim, 1
    for dim in order:
        strides[dim] = step
        step *= layout.sizes[dim]
    return tuple(strides)


def _stride_order(sizes: Sizes, strides: Sizes) -> list[int]:
    """Dims from the innermost outwards: by stride, then by size; a dim of stride 0 is compared with nothing."""
    order: list[int] = []
    for dim in reversed(range(len(sizes))):
        place = at = len(order)
        order.append(dim)
        while at:
            at -= 1
            if strides[order[at]] == 0 or strides[dim] == 0:
                continue
            if (strides[order[at]], sizes[order[at]]) > (strides[dim], sizes[dim]):
                order[at], order[place] = order[place], order[at]
                place = at
            elif strides[order[at]] < strides[dim]:
                break
    return order


def expect_layout(s: Session, x: Handle, want: Layout) -> None:
    """Expect sizes and, of a backend that shows them, strides and offset (which an empty tensor makes no use of)."""
    s.expect_shape(x, want.sizes)
    if "strided" not in s.capabilities:
        return
    if None in want.strides:
        got = tuple(s.observe("strides", x))
        want = Layout(
            want.sizes, tuple(g if w is None else w for g, w in zip(got, want.strides, strict=True)), want.offset
        )
    s.expect_strides(x, want.known)
    if want.numel:
        s.expect_offset(x, want.offset)


def expect_view(s: Session, y: Handle, x: Handle, want: Layout, values: Array | None = None) -> None:
    """Expect ``y`` to be the view of ``x`` with this record and, if given, these values."""
    expect_layout(s, y, want)
    if "storage" in s.capabilities:
        s.expect_shares(y, x)
    if values is not None:
        s.expect_values(y, values)


__all__ = [
    "Layout",
    "Sizes",
    "default_strides",
    "expect_layout",
    "expect_view",
    "extent",
    "fills_a_range",
    "is_contiguous",
    "layout_of",
    "preserved_strides",
    "view_strides",
]
