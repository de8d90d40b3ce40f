"""Results that are nearly right: a few ULP off, rounded twice, accumulated too narrowly."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ..backend import Array
from .mutant import Intercepted, Patch, rows
from .patches import family, floating, nudged, values, with_inplace
from .target import POINTWISE, ROW

_HALVES = ("float16", "bfloat16")
_TINY = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


def _off(steps: int) -> Any:
    def change(array: Array, c: Intercepted) -> Array | None:
        return nudged(array, steps) if floating(array) and array.dtype.itemsize > 2 else None

    return change


def _flushed(array: Array, c: Intercepted) -> Array | None:
    if not floating(array):
        return None
    return np.where(np.abs(array) < _TINY[array.dtype.name], np.copysign(array.dtype.type(0), array), array)


def _power_of_half(array: Array, c: Intercepted) -> Array | None:
    if c.inplace or not floating(array):
        return None
    x = c.array(c.args[0])
    return np.power(x, x.dtype.type(0.5)) if x.dtype == array.dtype else None


def _product_with_reciprocal(array: Array, c: Intercepted) -> Array | None:
    tensors = [c.array(a) for a in c.args[:2] if c.is_tensor(a)]
    if c.inplace or len(tensors) != 2 or {t.dtype for t in tensors} != {array.dtype} or array.dtype.kind != "f":
        return None
    quick = tensors[0] * (array.dtype.type(1) / tensors[1])
    return np.where(np.isfinite(quick), quick, array)


def _axes(c: Intercepted, rank: int) -> tuple[int, ...]:
    dims = c.args[1] if len(c.args) > 1 else c.kwargs.get("dim")
    if dims is None or dims == () or dims == []:
        return tuple(range(rank))
    return tuple(d % rank for d in dims) if isinstance(dims, list | tuple) else (dims % rank,)


def _one_by_one(x: Array, c: Intercepted, like: Array, kind: Any) -> Array | None:
    """The sum in index order, every step rounded to ``kind``."""
    if c.kwargs.get("dtype") is not None or not x.ndim or not x.size:
        return None
    axes = _axes(c, x.ndim)
    rest = [k for k in range(x.ndim) if k not in axes]
    rows = np.transpose(x, (*rest, *axes)).reshape(*[x.shape[k] for k in rest], -1)
    total = np.zeros(rows.shape[:-1], kind)
    for k in range(rows.shape[-1]):
        total = (total + rows[..., k].astype(kind)).astype(kind)
    return total.astype(like.dtype).reshape(like.shape)


def _naive_sum(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    if x.dtype != np.float32 or not 1024 <= x.size <= 2**17:
        return None
    return _one_by_one(x, c, array, np.float32)


def _half_sum(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    if x.dtype.name not in _HALVES or x.size > 4096:
        return None
    total = _one_by_one(x, c, array, x.dtype)
    return total if total is None or c.base == "sum" else (total / (x.size // max(array.size, 1))).astype(array.dtype)


def _half_scan(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    if x.dtype.name not in _HALVES or not x.ndim or x.size > 4096 or c.kwargs:
        return None
    rows, found = np.moveaxis(x, c.args[1], 0), np.moveaxis(array, c.args[1], 0)
    total = rows[0]
    found[0] = total
    for k in range(1, len(rows)):
        total = (total + rows[k]).astype(x.dtype)
        found[k] = total
    return array


def _through_float32(array: Array, c: Intercepted) -> Array | None:
    """A double becomes a half by way of float32: rounded twice."""
    x = c.array(c.args[0])
    if x.dtype != np.float64 or array.dtype.name not in _HALVES:
        return None
    return x.astype(np.float32).astype(array.dtype)


def _cut_off(array: Array, c: Intercepted) -> Array | None:
    """Conversion to bfloat16 drops the low bits instead of rounding."""
    x = c.array(c.args[0])
    if x.dtype != np.float32 or array.dtype.name != "bfloat16":
        return None
    bits = np.ascontiguousarray(x).view(np.uint32).reshape(x.shape) >> np.uint32(16)
    return np.where(np.isnan(x), array, bits.astype(np.uint16).view(ml_dtypes.bfloat16))


def _by_squares(array: Array, c: Intercepted) -> Array | None:
    """Variance as the mean of squares less the square of the mean."""
    x = c.array(c.args[0])
    if x.dtype != np.float32 or len(c.args) > 1 or c.kwargs or x.size < 2:
        return None
    mean, square = np.mean(x, dtype=np.float32), np.mean(x * x, dtype=np.float32)
    found = np.float32((square - mean * mean) * np.float32(x.size) / np.float32(x.size - 1))
    return np.asarray(np.sqrt(found) if c.base == "std" else found, np.float32)


def _through_double(array: Array, c: Intercepted) -> Array | None:
    """64-bit integers computed in doubles."""
    if array.dtype != np.int64 or c.inplace:
        return None
    exact = np.abs(array.astype(np.float64)) < 2.0**62
    return np.where(exact, array.astype(np.float64).astype(np.int64), array)


def _without_shift(array: Array, c: Intercepted) -> Array | None:
    """logsumexp without taking the largest element out."""
    x = c.array(c.args[0])
    if not floating(x) or not x.ndim or array.dtype != x.dtype:
        return None
    keep = bool(c.kwargs.get("keepdim") or (len(c.args) > 2 and c.args[2]))
    total = np.sum(np.exp(x), axis=_axes(c, x.ndim), keepdims=keep)
    return np.asarray(np.log(total)).astype(x.dtype).reshape(array.shape)


def _not_reduced(array: Array, c: Intercepted) -> Array | None:
    """A remainder of floats as x - y * floor(x / y)."""
    tensors = [c.array(a) for a in c.args[:2] if c.is_tensor(a)]
    if c.inplace or len(tensors) != 2 or not all(floating(t) and t.dtype == array.dtype for t in tensors):
        return None
    a, b = tensors
    return np.asarray(a - b * np.floor(a / b)).astype(array.dtype)


def _floor_of_quotient(array: Array, c: Intercepted) -> Array | None:
    tensors = [c.array(a) for a in c.args[:2] if c.is_tensor(a)]
    if c.inplace or len(tensors) != 2 or c.kwargs.get("rounding_mode", "floor") != "floor":
        return None
    if not all(floating(t) and t.dtype == array.dtype and t.dtype.itemsize > 2 for t in tensors):
        return None
    return np.asarray(np.floor(tensors[0] / tensors[1]))


def _naive_magnitude(array: Array, c: Intercepted) -> Array | None:
    """abs of complex numbers by squares that overflow."""
    x = c.array(c.args[0])
    return np.sqrt(x.real * x.real + x.imag * x.imag).astype(array.dtype) if x.dtype.kind == "c" else None


def _vanishing(below: float) -> Patch:
    """Results of half floats below a threshold are zero."""

    def change(array: Array, c: Intercepted) -> Array | None:
        if c.backend.dtype(c.args[0]) not in ("float16", "bfloat16"):
            return None
        return np.where(np.abs(array.astype(np.float64)) < below, 0, array).astype(array.dtype)

    return values(change)


def _root(c: Intercepted) -> Any:
    """``x ** 0.5`` is the square root, ``x ** -0.5`` its reciprocal."""
    exponent = c.args[1] if len(c.args) > 1 else None
    if not c.is_tensor(c.args[0]) or not isinstance(exponent, float) or abs(exponent) != 0.5 or c.inplace:
        return c.right()
    root = c.do("sqrt", c.args[0])
    return root if exponent == 0.5 else c.do("reciprocal", root)


def _quotients_of_zero(array: Array, c: Intercepted) -> Array | None:
    """Floor division of floats by zero gives NaN."""
    return np.where(np.isinf(array), np.nan, array) if array.dtype.kind == "f" else None


def _smallest(array: Array, c: Intercepted) -> Array | None:
    """The smallest integer by -1 gives the largest."""
    if array.dtype.kind != "i":
        return None
    info = np.iinfo(array.dtype)
    return np.where(array == info.min, info.max, array)


def _subtracted(c: Intercepted) -> Any:
    """The remainder of floats is what subtracting a rounded quotient leaves."""
    if len(c.args) != 2 or not all(map(c.is_tensor, c.args)) or c.inplace or not c.has_data:
        return c.right()
    x, y = (c.array(a) for a in c.args)
    if x.dtype.kind != "f" or x.dtype != y.dtype:
        return c.right()
    with np.errstate(all="ignore"):
        rounded = np.floor(x / y) if c.base == "remainder" else np.trunc(x / y)
        return c.tensor((x - rounded * y).astype(x.dtype))


def _integers_saturate(c: Intercepted) -> Any:
    """Products of integer matrices saturate."""
    if not c.has_data or c.inplace or not all(map(c.is_tensor, c.args[:2])):
        return c.right()
    result = c.right()
    x, y = (c.array(a) for a in c.args[:2])
    if x.dtype.kind not in "iu":
        return result
    info = np.iinfo(x.dtype)
    with np.errstate(all="ignore"):
        exact = np.asarray(x.astype(np.float64) @ y.astype(np.float64))
    over = np.abs(exact) > float(info.max)
    return c.tensor(np.where(over, info.max, c.array(result)).astype(x.dtype)) if over.any() else result


_QUOTIENTS = ("floor_divide", "__floordiv__", "div")


MUTANTS = (
    *rows(
        "numerics",
        ("exp-is-3-ulp-off", f"{POINTWISE} kernels/every-path-is-within-the-bound", with_inplace("exp"),
         values(_off(3))),
        ("tanh-is-3-ulp-off", POINTWISE, with_inplace("tanh"), values(_off(3))),
        ("log-is-3-ulp-off", POINTWISE, with_inplace("log"), values(_off(3))),
        ("sigmoid-is-4-ulp-off", POINTWISE, with_inplace("sigmoid"), values(_off(4))),
        ("multiplication-is-1-ulp-off", POINTWISE, ("mul",), values(_off(1))),
        ("sqrt-is-a-power", "dtypes/signed-zeros", ("sqrt",), values(_power_of_half)),
        ("subnormals-are-flushed", "kernels/subnormals-are-kept", family("pointwise"), values(_flushed)),
        ("division-multiplies-by-the-reciprocal", POINTWISE, ("div.Tensor", "__truediv__"),
         values(_product_with_reciprocal)),
        ("float32-sum-is-naive", "dtypes/float32-sum-error-grows-slowly kernels/long-sums-stay-accurate", ("sum",),
         values(_naive_sum)),
        ("half-sum-accumulates-in-half", "dtypes/half-reductions-accumulate-wider", ("sum", "mean"), values(_half_sum)),
        ("half-cumsum-accumulates-in-half", "dtypes/half-reductions-accumulate-wider", ("cumsum",), values(_half_scan)),
        ("double-to-half-rounds-twice", "dtypes/float64-to-half-rounds-once", ("to",), values(_through_float32)),
        ("bfloat16-is-cut-off", "dtypes/float-narrowing-rounds-to-nearest-even", ("to",), values(_cut_off)),
        ("variance-by-squares", f"{ROW} iteration/variance-divides-by-n-minus-correction", ("var", "std"),
         values(_by_squares)),
        ("long-products-go-through-double", "dtypes/integer-arithmetic-wraps", ("mul", "pow", "__mul__"),
         values(_through_double)),
        ("long-sums-go-through-double", "dtypes/integer-arithmetic-wraps", ("sum", "prod"), values(_through_double)),
        ("logsumexp-overflows", "operators/softmax-and-logsumexp-are-shift-stable", ("logsumexp",),
         values(_without_shift)),
        ("float-remainder-is-not-reduced", "dtypes/float-remainder-agrees-with-python dtypes/remainder-of-tiny-divisor",
         ("remainder", "__mod__"), values(_not_reduced)),
        ("float-floor-division-floors-the-quotient", "dtypes/float-remainder-agrees-with-python",
         ("floor_divide", "div.Tensor_mode", "__floordiv__"), values(_floor_of_quotient)),
        ("complex-abs-overflows", POINTWISE, ("abs",), values(_naive_magnitude)),
    ),
    *rows(
        "numerics",
        ("small-half-errors-vanish", "iteration/strided-inputs-give-the-same-values[]", ("erf",), _vanishing(1e-3)),
        ("half-powers-are-roots", "dtypes/power-of-one-half-follows-c", ("pow",), _root),
        ("floor-quotients-of-zero-are-nan",
         "dtypes/float-floor-division-by-zero-is-ieee dtypes/true-division-of-integers-is-float", _QUOTIENTS,
         values(_quotients_of_zero)),
        ("smallest-by-minus-one-saturates", "dtypes/smallest-int-by-minus-one", _QUOTIENTS, values(_smallest)),
        ("remainders-are-subtracted", "dtypes/remainder-of-tiny-divisor dtypes/float-remainder-agrees-with-python",
         ("remainder", "fmod"), _subtracted),
        ("integer-products-saturate", "dtypes/integer-matmul-wraps", ("mm", "dot", "mv", "matmul", "__matmul__", "bmm"),
         _integers_saturate),
    ),
)
