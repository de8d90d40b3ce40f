"""Computations in another dtype than that of the operands, Python numbers taken otherwise, and loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array, numpy_dtype
from ..case import is_contiguous
from .mutant import Intercepted, rows
from .patches import layout, nudged, values, with_data

_SIGNS = {"__lt__": np.less, "lt": np.less, "__gt__": np.greater, "gt": np.greater, "__eq__": np.equal, "eq": np.equal}
_HALF = ("float16", "bfloat16")
_LIMIT = 2**31


def _in_double(array: Array, c: Intercepted) -> Array | None:
    """A float32 and an int32 operand are added in float64."""
    if array.dtype != np.float32 or c.kwargs or not all(c.is_tensor(x) for x in c.args[:2]):
        return None
    x, y = (c.array(tensor) for tensor in c.args[:2])
    if np.int32 not in (x.dtype, y.dtype):
        return None
    return np.asarray((x.astype(np.float64) + y.astype(np.float64)).astype(np.float32))


def _saturated(c: Intercepted) -> Any:
    """A Python int is brought into the range of the tensor's dtype."""
    dtype = numpy_dtype(c.backend.dtype(c.args[0]))
    if type(c.args[1]) is not int or dtype.kind not in "iu":
        return c.right()
    info = np.iinfo(dtype)
    return c.do(c.operator, c.args[0], min(max(c.args[1], info.min), info.max), *c.args[2:], **c.kwargs)


def _compared_as_they_are(array: Array, c: Intercepted) -> Array | None:
    """The numbers are compared, whatever dtype they have."""
    if type(c.args[1]) is not int:
        return None
    x = c.array(c.args[0])
    return np.asarray(_SIGNS[c.base](x.astype(object), c.args[1]).astype(bool)) if x.dtype.kind in "iu" else None


def _clipped(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    if x.dtype.kind not in "iu" or array.dtype.kind not in "iu":
        return None
    info = np.iinfo(array.dtype)
    return np.asarray(np.clip(x.astype(object), info.min, info.max).astype(array.dtype))


def _magnitudes(array: Array, c: Intercepted) -> Array | None:
    x = c.array(c.args[0])
    return np.abs(x).astype(array.dtype) if x.dtype.kind == "c" and array.dtype.kind == "f" else None


def _nan_spreads(array: Array, c: Intercepted) -> Array | None:
    """A power with a NaN in it is NaN."""
    nan = np.zeros(array.shape, dtype=bool)
    for x in c.args[:2]:
        nan |= np.isnan(c.array(x) if c.is_tensor(x) else np.asarray(x))
    return np.where(nan, np.nan, array).astype(array.dtype) if array.dtype.kind == "f" else None


def _far_in_half(array: Array, c: Intercepted) -> Array | None:
    return nudged(array, 3) if array.dtype in map(numpy_dtype, _HALF) else None


def _without_leading_unit(c: Intercepted) -> Any:
    """A leading dim of size 1 is left out of a result."""
    result = c.right()
    sizes = c.backend.shape(result)
    return c.do("squeeze.dim", result, 0) if len(sizes) > 1 and sizes[0] == 1 else result


def _columns_first(c: Intercepted) -> Any:
    """Results of contiguous operands lie columns first."""
    result = c.right()
    tensors = [x for x in c.args if c.is_tensor(x)]
    if len(c.backend.shape(result)) < 2 or not all(is_contiguous(*c.geometry(x)[:2]) for x in tensors):
        return result
    return c.do("transpose.int", c.do("contiguous", c.do("transpose.int", result, 0, -1)), 0, -1)


def _wrapped(
    c: Intercepted, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> tuple[tuple[int, ...], tuple[int, ...], int] | None:
    return (sizes, strides, offset % _LIMIT) if offset >= _LIMIT else None


def _every_other_time(array: Array, c: Intercepted) -> Array | None:
    """Every other sum is one unit off."""
    c.memory["sums"] = c.memory.get("sums", 0) + 1
    return nudged(array, 1) if array.dtype.kind == "f" and c.memory["sums"] % 2 == 0 else None


def _one_more_if_strided(array: Array, c: Intercepted) -> Array | None:
    return array + array.dtype.type(1) if not is_contiguous(*c.geometry(c.args[0])[:2]) else None


MUTANTS = (
    *rows(
        "dtypes",
        ("ints-and-floats-meet-in-double", "dtypes/float32-with-int32-is-float32", ("add.Tensor",), values(_in_double)),
        ("python-ints-saturate", "dtypes/python-int-operand-wraps",
         ("add.Scalar", "sub.Scalar", "mul.Scalar", "__add__", "__sub__", "__mul__"), _saturated),
        ("python-ints-are-compared-as-they-are", "dtypes/comparison-wraps-python-int",
         ("lt.Scalar", "gt.Scalar", "eq.Scalar", "__lt__", "__gt__", "__eq__"), values(_compared_as_they_are)),
        ("narrowing-saturates", "dtypes/int-narrowing-wraps", ("to", "short", "char", "byte"), values(_clipped)),
        ("real-dtypes-get-magnitudes", "dtypes/complex-to-real-drops-imaginary-part", ("to",), values(_magnitudes)),
    ),
    *rows(
        "numerics",
        ("powers-of-nan-are-nan", "dtypes/float-power-follows-c", ("pow", "__pow__"), values(_nan_spreads)),
        ("exp-of-halves-is-3-units-off", "dtypes/half-functions-are-within-one-ulp[]", ("exp",), values(_far_in_half)),
    ),
    *rows(
        "strides and layout",
        ("leading-unit-dims-are-left-out", "iteration/allocated-output-has-broadcast-shape", ("add.Tensor",),
         _without_leading_unit),
        ("results-of-rows-lie-columns-first", "iteration/row-major-inputs-give-row-major-output",
         ("add.Tensor", "mul.Tensor"), _columns_first),
    ),
    *rows(
        "thresholds",
        ("offsets-wrap-behind-31-bits", "iteration/long-tensors-need-64-bit-offsets", ("slice.Tensor",),
         layout(_wrapped)),
    ),
    *rows(
        "values",
        ("every-other-sum-is-a-unit-off", "iteration/reductions-repeat-exactly", ("sum",),
         with_data(values(_every_other_time))),
        ("strided-sums-are-one-more", "iteration/strided-reductions-agree-within-bound",
         ("sum", "sum.dim_IntList"), values(_one_more_if_strided)),
    ),
)
