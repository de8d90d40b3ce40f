"""Statistical and utility functions of the standard: one result for the elements along one axis, several or all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..calls.functions import ops
from ..core import dtype as dtypes
from ..core.dtype import DType
from ..tensor.tensor import Tensor
from .manipulation import concat
from .operands import (
    WIDE,
    Axis,
    axes_of,
    bad_value,
    bits,
    by_order,
    check_array,
    check_kind,
    computed,
    converted,
    unsigned,
)


def accumulated(x: Tensor, dtype: DType | None) -> DType:
    """Return the dtype of sums and products: integers become 64 bits wide, unsigned ones stay so."""
    own = x.meta.dtype
    if dtype is not None or own.category not in ("int", "bool"):
        return dtype or own
    return dtypes.uint64 if own.category == "int" and not own.is_signed else dtypes.int64


def to_accumulate(x: Any, kind: DType) -> Any:
    """Return an array as what is added up or multiplied for results of a dtype; those that are wide unsigned ones are
    computed as int64."""
    if kind in WIDE:
        return bits(x) if x.meta.dtype in WIDE else x
    return converted(x, kind) if x.meta.dtype in WIDE else x


def sum(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the sum; 0 of nothing."""
    axes = axes_of("sum", axis, check_array("sum", "x", x).meta.ndim)
    kind = accumulated(x, dtype)
    wide = kind in WIDE
    if not axes:
        return converted(x, kind).clone()  # type: ignore[no-any-return]
    found = ops.sum(to_accumulate(x, kind), axes, keepdims, dtype=dtypes.int64 if wide else kind)
    return unsigned(found, kind) if wide else found  # type: ignore[no-any-return]


def prod(
    x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Tensor:
    """Return the product; 1 of nothing."""
    axes = axes_of("prod", axis, check_array("prod", "x", x).meta.ndim)
    kind = accumulated(x, dtype)
    wide = kind in WIDE
    if not axes:
        return converted(x, kind).clone()  # type: ignore[no-any-return]
    found = converted(to_accumulate(x, kind), dtypes.int64 if wide else kind)
    for one in axes:
        found = ops.prod(found, one, True, dtype=found.meta.dtype)
    found = found if keepdims else ops.squeeze(found, axes)
    return unsigned(found, kind) if wide else found  # type: ignore[no-any-return]


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the arithmetic mean; NaN of nothing."""
    check_kind("mean", check_array("mean", "x", x).meta.dtype, "float complex")
    axes = axes_of("mean", axis, x.meta.ndim)
    return ops.mean(x, axes, keepdims) if axes else x.clone()  # type: ignore[attr-defined, no-any-return]


def _spread(name: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
        check_kind(name, check_array(name, "x", x).meta.dtype, "float")
        axes = axes_of(name, axis, x.meta.ndim)
        if axes:
            return getattr(ops, name)(x, axes, correction=correction, keepdim=keepdims)  # type: ignore[no-any-return]
        return getattr(ops, name)(ops.unsqueeze(x, -1), (-1,), correction=correction)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {'variance' if name == 'var' else 'standard deviation'}, with N - correction."
    return function


var, std = _spread("var"), _spread("std")


def _extreme(name: str, operator: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
        check_kind(name, check_array(name, "x", x).meta.dtype, "int float")
        axes = axes_of(name, axis, x.meta.ndim)
        if not axes:
            return x.clone()  # type: ignore[attr-defined, no-any-return]
        for one in axes:
            if not x.meta.sizes[one]:
                raise ValueError(f"{name}(): an array without elements along axis {one} has none")
        return by_order(lambda given: getattr(ops, operator)(given, axes, keepdims), x)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name}imum; NaN if there is one. Raises ValueError for no elements."
    return function


max, min = _extreme("max", "amax"), _extreme("min", "amin")


def _truth(name: str) -> Callable[..., Tensor]:
    def function(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
        axes = axes_of(name, axis, check_array(name, "x", x).meta.ndim)
        if not axes:
            return x.to(dtypes.bool_, copy=True)  # type: ignore[attr-defined, no-any-return]
        given = x if x.meta.dtype is dtypes.bool_ else x.to(dtypes.bool_)  # type: ignore[attr-defined]
        return getattr(ops, name)(given, axes, keepdims)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return whether {name} elements are true, that is, not zero."
    return function


all, any = _truth("all"), _truth("any")


def count_nonzero(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the number of elements that are not zero."""
    check_array("count_nonzero", "x", x)
    return sum(x.to(dtypes.bool_), axis=axis, keepdims=keepdims, dtype=dtypes.int64)  # type: ignore[attr-defined]


def _cumulative(name: str, operator: str, first: int) -> Callable[..., Tensor]:
    def function(
        x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
    ) -> Tensor:
        ndim = check_array(name, "x", x).meta.ndim
        if axis is None and ndim > 1:
            bad_value(name, "axis", axis, f"an axis for an array of {ndim} dims")
        given: Any = ops.unsqueeze(x, 0) if ndim == 0 else x
        (place,) = axes_of(name, 0 if axis is None else axis, given.meta.ndim)
        kind = accumulated(x, dtype)
        wide = kind in WIDE
        found = getattr(ops, operator)(to_accumulate(given, kind), place, dtype=dtypes.int64 if wide else kind)
        found = unsigned(found, kind) if wide else found
        if not include_initial:
            return found  # type: ignore[no-any-return]
        sizes = [1 if one == place else size for one, size in enumerate(found.meta.sizes)]
        return concat([ops.full(sizes, first, dtype=kind, device=x.meta.device), found], axis=place)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {operator[3:]}s of the elements so far, with `include_initial` {first} before them."
    return function


cumulative_sum = _cumulative("cumulative_sum", "cumsum", 0)
cumulative_prod = _cumulative("cumulative_prod", "cumprod", 1)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """Return the n-th differences along an axis, of what is before, in and after `x`. Raises ValueError for a negative
    number."""
    (place,) = axes_of("diff", axis, check_array("diff", "x", x).meta.ndim)
    if n < 0:
        bad_value("diff", "n", n, "not negative")
    parts = [one for one in (prepend, x, append) if one is not None]
    found = concat(parts, axis=place) if len(parts) > 1 else x
    return computed(lambda given: ops.diff(given, n, place), found) if n else found
