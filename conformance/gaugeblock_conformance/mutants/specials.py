"""Wrong elements where a value is special: NaN, infinities, zeros of either sign, ties, bools."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, DType
from .mutant import Intercepted, rows
from .patches import floating, fresh, values, with_inplace
from .target import ROW


def _pairwise(function: Any) -> Any:
    """The result of a NumPy function of the two floating operands."""

    def change(array: Array, c: Intercepted) -> Array | None:
        tensors = [c.array(a) for a in c.args[:2] if c.is_tensor(a)]
        if c.inplace or len(tensors) != 2 or not all(floating(t) and t.dtype == tensors[0].dtype for t in tensors):
            return None
        return np.asarray(function(*tensors)).astype(array.dtype)

    return change


def _own(function: Any) -> Any:
    """The result of a NumPy function of the one floating operand."""

    def change(array: Array, c: Intercepted) -> Array | None:
        if c.inplace or not c.is_tensor(c.args[0]):
            return None
        x = c.array(c.args[0])
        return np.asarray(function(x)).astype(array.dtype) if floating(x) else None

    return change


def _extreme_without_nan(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    if not floating(x) or c.inplace or not np.isnan(x).any():
        return None
    function: Any = np.fmax if "max" in c.base else np.fmin
    dims = c.args[1] if len(c.args) > 1 else c.kwargs.get("dim", ())
    axes = tuple(dims) if isinstance(dims, list | tuple) else (dims,)
    keep = bool(c.kwargs.get("keepdim") or (len(c.args) > 2 and c.args[2]))
    if x.ndim == 0:
        return None
    found = function.reduce(x, axis=tuple(a % x.ndim for a in axes) or None, keepdims=keep)
    return np.asarray(found) if np.shape(found) == array.shape and array.dtype == x.dtype else None


def _bounds_hide_nan(array: Array, c: Intercepted) -> Array | None:
    if not floating(array) or not np.isnan(array).any():
        return None
    bounds = [b for b in (*c.args[1:], *c.kwargs.values()) if isinstance(b, int | float) and not isinstance(b, bool)]
    return np.where(np.isnan(array), array.dtype.type(bounds[0]), array) if bounds else None


def _positive_zero(array: Array, c: Intercepted) -> Array | None:
    return np.where(array == 0, array.dtype.type(0), array) if floating(array) else None


def _negative_zero_kept(x: Array) -> Array:
    return np.where(x == 0, x, np.abs(x))


def _half_away(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x))


def _same_bits(a: Array, b: Array) -> Array:
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[a.dtype.itemsize]
    left, right = (np.ascontiguousarray(x).view(bits).reshape(x.shape) for x in np.broadcast_arrays(a, b))
    return np.asarray(left == right)


def _difference_of_infinities(array: Array, c: Intercepted) -> Array | None:
    tensors = [c.array(a) for a in c.args[:2] if c.is_tensor(a)]
    if not floating(array) or c.inplace or len(tensors) != 2:
        return None
    a, b = np.broadcast_arrays(*tensors)
    return np.where(np.isinf(a) & (a == b), array.dtype.type(0), array)


def _last_tie(c: Intercepted) -> Any:
    """The index of the last of equal extrema."""
    result = c.right()
    x = c.args[0]
    dim = c.args[1] if len(c.args) > 1 else c.kwargs.get("dim")
    sizes = c.backend.shape(x)
    if not c.has_data or 0 in sizes or not sizes:
        return result
    values_of = c.array(x)
    if values_of.dtype.kind == "f" and np.isnan(values_of).any():
        return result
    find = np.argmax if "max" in c.base else np.argmin
    flat = values_of.reshape(-1) if dim is None else np.moveaxis(values_of, dim, -1)
    last = flat.shape[-1] - 1 - find(flat[..., ::-1], axis=-1)
    found = np.asarray(last, np.int64)
    shape = tuple(c.backend.shape(result))
    return fresh(c, found.reshape(shape))


def _nan_is_no_extreme(c: Intercepted) -> Any:
    x = c.args[0]
    if not c.has_data or not floating(c.array(x)):
        return c.right()
    array = c.array(x)
    worst = array.dtype.type(-np.inf if "max" in c.base else np.inf)
    return c.instead(c.tensor(np.where(np.isnan(array), worst, array)), *c.args[1:], **c.kwargs)


def _nan_first(c: Intercepted) -> Any:
    result = c.right()
    x = c.args[0]
    if not c.has_data or c.backend.shape(x) != c.backend.shape(result[0]) or len(c.backend.shape(x)) != 1:
        return result
    array, order = c.array(result[0]), c.array(result[1])
    if not floating(array):
        return result
    front = np.argsort(~np.isnan(array), kind="stable")
    return (fresh(c, array[front]), fresh(c, order[front]))


def _unstable(c: Intercepted) -> Any:
    """Equal elements come in reversed order."""
    result = c.right()
    if not c.has_data or len(c.backend.shape(c.args[0])) != 1:
        return result
    array, order = c.array(result[0]), c.array(result[1])
    start = 0
    for stop in range(1, len(array) + 1):
        if stop == len(array) or array[stop] != array[start]:
            order[start:stop] = order[start:stop][::-1].copy()
            start = stop
    return (result[0], fresh(c, order))


def _true_is_255(c: Intercepted) -> Any:
    result = c.right()
    if c.inplace or not c.is_tensor(result) or c.backend.dtype(result) != "bool" or not c.has_data:
        return result
    truth = c.array(result)
    return c.do("view.dtype", c.tensor(truth.astype(np.uint8) * np.uint8(255)), DType("bool"))


def _nan_counts_as_false(c: Intercepted) -> Any:
    x = c.array(c.args[0]) if c.has_data else np.zeros(0)
    if not floating(x) or not np.isnan(x).any():
        return c.right()
    return c.instead(c.tensor(np.where(np.isnan(x), x.dtype.type(0), x)), *c.args[1:], **c.kwargs)


MUTANTS = rows(
    "values",
    ("maximum-loses-nan", "dtypes/nan-propagates", ("maximum",), values(_pairwise(np.fmax))),
    ("minimum-loses-nan", "dtypes/nan-propagates", ("minimum",), values(_pairwise(np.fmin))),
    ("fmax-keeps-nan", "dtypes/nan-ignoring-operators", ("fmax",), values(_pairwise(np.maximum))),
    ("extrema-lose-nan", "dtypes/nan-propagates[]", ("amax", "amin", "max", "min"), values(_extreme_without_nan)),
    ("clamp-loses-nan", "dtypes/nan-propagates operators/clamp-is-minimum-of-maximum", with_inplace("clamp"),
     values(_bounds_hide_nan)),
    ("neg-of-zero-is-positive", "dtypes/signed-zeros", (*with_inplace("neg"), "__neg__"), values(_positive_zero)),
    ("abs-keeps-the-negative-zero", "dtypes/signed-zeros", ("abs",), values(_own(_negative_zero_kept))),
    ("ceil-loses-the-negative-zero", "dtypes/signed-zeros", with_inplace("ceil", "trunc", "round"),
     values(_positive_zero)),
    ("round-half-away-from-zero", "dtypes/round-is-half-to-even", ("round",), values(_own(_half_away))),
    ("trunc-rounds-down", "dtypes/round-is-half-to-even", ("trunc",), values(_own(np.floor))),
    ("eq-compares-bits", "dtypes/signed-zeros dtypes/nan-differs-from-itself", ("eq.Tensor",),
     values(_pairwise(_same_bits))),
    ("difference-of-infinities-is-zero", "dtypes/ieee-special-values[]", ("sub", "__sub__"),
     values(_difference_of_infinities)),
    ("argmax-names-the-last-tie", "iteration/ties-give-the-first-index", ("argmax", "argmin"), _last_tie),
    ("argmax-skips-nan", "dtypes/argmax-of-nan-is-the-first-nan", ("argmax", "argmin"), _nan_is_no_extreme),
    ("sort-puts-nan-first", "dtypes/sort-puts-nan-last", ("sort",), _nan_first),
    ("sort-is-unstable", "dtypes/stable-sort-keeps-order", ("sort.stable",), _unstable),
    ("true-is-the-byte-255", "storage/bool-is-one-byte", ("eq", "lt", "logical_not", "isnan"), _true_is_255),
    ("any-and-all-take-nan-for-false", ROW, ("any", "all"), _nan_counts_as_false),
)
