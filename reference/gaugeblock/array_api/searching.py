"""Sorting, searching, set and indexing functions of the standard."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..calls.functions import ops
from ..core import dtype as dtypes
from ..tensor.tensor import Tensor
from .operands import WIDE, axes_of, bad_value, check_array, check_kind, converted, from_ordered, ordered, pair


class UniqueAllResult(NamedTuple):
    """Result of unique_all."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCountsResult(NamedTuple):
    """Result of unique_counts."""

    values: Tensor
    counts: Tensor


class UniqueInverseResult(NamedTuple):
    """Result of unique_inverse."""

    values: Tensor
    inverse_indices: Tensor


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the elements along an axis in order; NaN is the largest."""
    check_kind("sort", check_array("sort", "x", x).meta.dtype, "bool int float")
    wide = x.meta.dtype in WIDE
    found = ops.sort(ordered(x) if wide else x, stable=stable, dim=axis, descending=descending)[0]
    return from_ordered(found, x.meta.dtype) if wide else found  # type: ignore[no-any-return]


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the indices that sort the elements along an axis."""
    check_kind("argsort", check_array("argsort", "x", x).meta.dtype, "bool int float")
    given = ordered(x) if x.meta.dtype in WIDE else x
    return ops.sort(given, stable=stable, dim=axis, descending=descending)[1]  # type: ignore[no-any-return]


def _arg_extreme(name: str) -> Any:
    def function(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
        check_kind(name, check_array(name, "x", x).meta.dtype, "int float")
        given = ordered(x) if x.meta.dtype in WIDE else x
        if not (x.meta.numel if axis is None else x.meta.sizes[axes_of(name, axis, x.meta.ndim)[0]]):
            raise ValueError(f"{name}(): an array without elements along axis {axis} has no extreme")
        found = getattr(ops, name)(given, axis, keepdims)
        return ops.reshape(found, (1,) * x.meta.ndim) if axis is None and keepdims else found  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the index of the first {name[3:]}imum along an axis, or in the flattened array."
    return function


argmax, argmin = _arg_extreme("argmax"), _arg_extreme("argmin")


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of the elements that are not zero, an array for each axis. Raises ValueError for 0 dims."""
    if not check_array("nonzero", "x", x).meta.ndim:
        raise ValueError("nonzero(): an array of 0 dims has no axes")
    return tuple(ops.unbind(ops.nonzero(x), 1))


def searchsorted(
    x1: Tensor, x2: Tensor | int | float, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None
) -> Tensor:
    """Return where in the sorted `x1`, or in the order of `sorter`, the elements of `x2` are to be inserted."""
    if side not in ("left", "right"):
        bad_value("searchsorted", "side", side, "'left' or 'right'")
    first, second = pair("searchsorted", check_array("searchsorted", "x1", x1), x2)
    check_kind("searchsorted", first.meta.dtype, "int float")
    if first.meta.dtype in WIDE:
        first, second = ordered(first), ordered(second)
    places = None if sorter is None else converted(sorter, dtypes.int64)
    return ops.searchsorted(first, second, right=side == "right", sorter=places)  # type: ignore[no-any-return]


def isin(x1: Tensor | int, x2: Tensor | int, /, *, invert: bool = False) -> Tensor:
    """Return for each element of `x1` whether it is one of `x2`, or is none with `invert`."""
    first, second = pair("isin", x1, x2)
    if first.meta.dtype in WIDE:
        first, second = ordered(first), ordered(second)
    found = ops.eq(ops.unsqueeze(first, -1), ops.reshape(second, (-1,))).any(-1)
    return ~found if invert else found  # type: ignore[no-any-return]


def unique_all(x: Tensor, /) -> UniqueAllResult:
    """Return the different elements in order, the index of the first of each, the place of every element among them,
    and how often each occurs. NaN is different from NaN."""
    flat = ops.reshape(check_array("unique_all", "x", x), (-1,))
    kept = flat
    if x.meta.dtype in WIDE:
        flat = ordered(flat)
    order = _order(flat)
    in_order = ops.index_select(flat, 0, order)
    count = in_order.meta.numel
    new = ops.ones((count,), dtype=dtypes.bool_, device=x.meta.device)
    if count > 1:
        new[1:] = ops.ne(in_order[1:], in_order[:-1])
    place = ops.cumsum(new, 0) - 1
    starts = ops.nonzero(new)[:, 0]
    ends = ops.cat([starts[1:], ops.full((1,), count, device=x.meta.device)]) if count else starts
    inverse = ops.empty((count,), dtype=dtypes.int64, device=x.meta.device)
    inverse[order] = place
    indices = ops.index_select(order, 0, starts)
    values = ops.index_select(kept, 0, indices)
    return UniqueAllResult(values, indices, ops.reshape(inverse, x.meta.sizes), ends - starts)


def _order(flat: Any) -> Any:
    """Return the stable order of the elements; complex ones by their real part, then their imaginary part."""
    if not flat.meta.dtype.is_complex:
        return ops.sort(flat, stable=True)[1]
    by_imaginary = ops.sort(ops.imag(flat.resolve_conj()), stable=True)[1]
    by_real = ops.sort(ops.real(flat)[by_imaginary], stable=True)[1]
    return by_imaginary[by_real]


def unique_counts(x: Tensor, /) -> UniqueCountsResult:
    """Return the different elements, and how often each occurs."""
    found = unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverseResult:
    """Return the different elements, and the place of every element among them."""
    found = unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """Return the different elements."""
    return unique_all(x).values


def _indices(function: str, indices: Any, size: int) -> Any:
    check_kind(function, check_array(function, "indices", indices).meta.dtype, "int")
    found = converted(indices, dtypes.int64)
    return ops.where(found < 0, found + size, found)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the elements of `x` at indices along an axis, which an array of several dims needs."""
    ndim = check_array("take", "x", x).meta.ndim
    if axis is None and ndim != 1:
        bad_value("take", "axis", axis, f"an axis for an array of {ndim} dims")
    (place,) = axes_of("take", 0 if axis is None else axis, ndim)
    return ops.index_select(x, place, _indices("take", indices, x.meta.sizes[place]))  # type: ignore[no-any-return]


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return for each index the element of `x` there along an axis, at the same place along the others."""
    (place,) = axes_of("take_along_axis", axis, check_array("take_along_axis", "x", x).meta.ndim)
    found = _indices("take_along_axis", indices, x.meta.sizes[place])
    return ops.take_along_dim(x, found, place)  # type: ignore[no-any-return]
