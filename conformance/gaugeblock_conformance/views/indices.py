"""Strategies over indices: what may stand between the brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from ..case import TensorCase
from .layout import Sizes

T = TypeVar("T")

_STEPS = st.sampled_from((None, 1, 2, 3, 7))




def paired(
    cases: st.SearchStrategy[TensorCase], make: Callable[[Sizes], st.SearchStrategy[T]]
) -> st.SearchStrategy[tuple[TensorCase, T]]:
    """A tensor together with something drawn for its sizes."""

    @st.composite
    def pair(draw: st.DrawFn) -> tuple[TensorCase, T]:
        case = draw(cases)
        return case, draw(make(case.sizes))

    return pair()


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    """A slice with bounds inside and outside of ``size``, of either sign, or none, and a step of at least 1."""
    bound = st.none() | st.integers(-2 * size - 2, 2 * size + 2)
    return slice(draw(bound), draw(bound), draw(_STEPS))


@st.composite
def cuts(draw: st.DrawFn, sizes: Sizes) -> tuple[int, slice]:
    """A dim of ``sizes`` (which has one) and a slice of it."""
    dim = draw(st.integers(0, len(sizes) - 1))
    return dim, draw(slices(sizes[dim]))


@st.composite
def basic_indices(draw: st.DrawFn, sizes: Sizes) -> Any:
    """Integers, slices, None and at most one Ellipsis that fit ``sizes``: a bare item or a tuple."""
    rank = len(sizes)
    front = draw(st.integers(0, rank))
    ellipsis = draw(st.booleans())
    back = draw(st.integers(0, rank - front)) if ellipsis else 0
    items: list[Any] = []
    for dim in (*range(front), *range(rank - back, rank)):
        if ellipsis and dim == rank - back and len(items) >= front:
            items.append(...)
            ellipsis = False
        if draw(st.integers(0, 5)) == 5:
            items.append(None)
        items.append(draw(_item(sizes[dim])))
    if ellipsis:
        items.append(...)
    if draw(st.integers(0, 5)) == 5:
        items.append(None)
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


def _item(size: int) -> st.SearchStrategy[Any]:
    if size == 0:
        return slices(size)
    return st.integers(-size, size - 1) | slices(size)


@st.composite
def advanced_indices(draw: st.DrawFn, sizes: Sizes) -> tuple[Any, ...]:
    """At least one index array or mask, among slices, None, one Ellipsis and Python integers.

    ``sizes`` has a dim and none of size 0. Index arrays have dims; an Ellipsis stands for at least one dim.
    """
    rank = len(sizes)
    kinds = [draw(st.sampled_from("assi")) for _ in range(rank)]
    kinds[draw(st.integers(0, rank - 1))] = "a"
    masked = draw(st.integers(0, 3)) == 3
    seed = draw(st.integers(0, 2**16))
    random = np.random.default_rng(seed)
    items: list[Any] = []
    common = draw(st.lists(st.sampled_from((2, 1, 3, 0)), min_size=1, max_size=2))
    for dim, kind in enumerate(kinds):
        size = sizes[dim]
        if draw(st.integers(0, 7)) == 7:
            items.append(None)
        if kind == "i":
            items.append(int(random.integers(-size, size)))
        elif kind == "s":
            items.append(draw(slices(size)))
        elif masked:
            items.append(random.integers(0, 2, size).astype(bool))
            kinds[dim + 1 :] = ["s" if k == "a" else k for k in kinds[dim + 1 :]]
            masked = kind != "a"
        elif not any(isinstance(item, np.ndarray) and item.dtype == bool for item in items):
            shape = tuple(1 if draw(st.booleans()) else n for n in common)
            shape = shape[draw(st.integers(0, len(shape) - 1)) :]
            items.append(random.integers(-size, size, shape))
    slots = [k for k, item in enumerate(items) if isinstance(item, slice)]
    if slots and draw(st.integers(0, 4)) == 4:
        items[draw(st.sampled_from(slots))] = ...
        return tuple(items)
    while items and isinstance(items[-1], slice) and draw(st.booleans()):
        items.pop()
    return tuple(items)


def integers_first(index: tuple[Any, ...], rank: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The index split in two to be applied one after the other: its integers, and everything else."""
    taken = sum(item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1
                for item in index if item is not None and item is not ...)  # fmt: skip
    first: list[Any] = []
    rest: list[Any] = []
    for item in index:
        if isinstance(item, int):
            first.append(item)
            continue
        rest.append(item)
        if item is ...:
            first += [slice(None)] * (rank - taken)
        elif isinstance(item, np.ndarray) and item.dtype == bool:
            first += [slice(None)] * item.ndim
        elif item is not None:
            first.append(slice(None))
    return tuple(first), tuple(rest)
