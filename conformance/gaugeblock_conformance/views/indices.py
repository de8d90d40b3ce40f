"""Strategies over indices: what may stand between the brackets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import strategies as st

from ..case import TensorCase
from .layout import Sizes

T = TypeVar("T")

_STEPS = st.sampled_from((None, 1, 2, 3, 7))




def paired(
    cases: st.SearchStrategy[TensorCase], make: Callable[[Sizes], st.SearchStrategy[T]]
) -> st.SearchStrategy[tuple[TensorCase, T]]:
    """A tensor together with something drawn for its sizes."""
    return cases.flatmap(lambda case: st.tuples(st.just(case), make(case.sizes)))


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
