"""Corners of single operators: tiny, special, expanded or transposed operands, and facts told wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, Patch, rows
from .patches import name_of, values
from .target import ROW


def _flushed(below: float) -> Patch:
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


def _over_expanded(c: Intercepted) -> Any:
    """A median along a dim of stride 0 is zero."""
    result = c.right()
    if not c.is_tensor(result) and 0 in c.backend.strides(c.args[0]) and c.has_data:
        c.put(result[0], np.zeros_like(c.array(result[0])))
    return result


def _cut(c: Intercepted) -> Any:
    """Floats are truncated before they are compared with the range of an integer dtype."""
    kind = c.kwargs.get("dtype")
    name = c.backend.dtype(c.args[0]) if c.base == "fill_" else str(kind)
    if "int" not in name:
        return c.right()
    args = [int(a) if isinstance(a, float) and abs(a) < 2**31 else a for a in c.args]
    return c.do(c.operator, *args, **c.kwargs)


def _clipped(c: Intercepted) -> Any:
    """Negative numbers become 0 in an unsigned tensor."""
    kind = c.kwargs.get("dtype")
    unsigned = kind is not None and str(kind).startswith("uint")
    if c.base == "fill_":
        unsigned = c.backend.dtype(c.args[0]).startswith("uint")
    if not unsigned:
        return c.right()

    def clip(value: Any) -> Any:
        if isinstance(value, list):
            return [clip(v) for v in value]
        return max(value, 0) if type(value) is int else value

    place = 0 if c.base == "tensor" else 1
    given = [clip(a) if k == place else a for k, a in enumerate(c.args)]
    return c.do(c.operator, *given, **c.kwargs)


def _by_memory(c: Intercepted) -> Any:
    """Operands are read in the order in which they lie."""

    def packed(x: Any) -> Any:
        if not c.is_tensor(x):
            return x
        sizes, strides, _ = c.geometry(x)
        if len(sizes) < 2 or 0 in strides or strides == tuple(sorted(strides, reverse=True)):
            return x
        return c.restride(x, sizes, _row_major(sizes), c.backend.storage_offset(x))

    return c.instead(*[packed(a) for a in c.args], **c.kwargs)


def _row_major(sizes: tuple[int, ...]) -> tuple[int, ...]:
    steps = [1]
    for size in reversed(sizes[1:]):
        steps.insert(0, steps[0] * max(size, 1))
    return tuple(steps)


def _centred(c: Intercepted) -> Any:
    """The covariance leaves its operand less its mean."""
    result = c.right()
    x = c.args[0]
    if c.has_data and 0 not in c.backend.shape(x):
        array = c.array(x)
        c.put(x, array - np.ones((), array.dtype))
    return result


def _last_column(array: Array, c: Intercepted) -> Array | None:
    """The last of several columns is off."""
    if array.ndim != 4 or array.shape[-1] < 2:
        return None
    array[..., -1] += 1
    return array


def _spread(array: Array, c: Intercepted) -> Array | None:
    """Draws are spread a fifth too far."""
    return (array * array.dtype.type(1.2)).astype(array.dtype) if name_of(array) == "float32" else None


def _kept(c: Intercepted) -> Any:
    """Running statistics stay as they were."""
    before = [(a, c.array(a)) for a in c.args[1:5] if c.is_tensor(a) and c.has_data]
    result = c.right()
    for tensor, array in before:
        c.put(tensor, array)
    return result


def _new(c: Intercepted) -> Any:
    """``x += y`` makes a new tensor."""
    return c.do(f"__{c.operator[3:]}", *c.args)


def _turned(c: Intercepted) -> Any:
    """``x - y`` between tensors is ``y - x``."""
    x, y = c.args[:2]
    return c.instead(y, x) if c.is_tensor(x) and c.is_tensor(y) else c.right()


def _in_one_storage(c: Intercepted) -> Any:
    """``nbytes`` counts the whole storage."""
    return c.backend.storage_nbytes(c.args[0])


def _four(c: Intercepted) -> Any:
    """All elements have four bytes."""
    c.right()
    return 4


def _low(c: Intercepted) -> Any:
    """``to`` another dtype takes subnormal half floats for zero."""
    result = c.right()
    x = c.args[0]
    if not c.has_data or not c.is_tensor(result) or c.backend.dtype(x) not in ("float16", "bfloat16"):
        return result
    array = c.array(result)
    small = np.abs(c.array(x).astype(np.float64)) < (2.0**-14 if c.backend.dtype(x) == "float16" else 2.0**-126)
    if result is x or not small.any():
        return result
    return c.put(result, np.where(small, np.zeros((), array.dtype), array))


def _added(c: Intercepted) -> Any:
    """``scatter`` adds up what it should replace."""
    plain = c.operator == "scatter.src" and not c.inplace and len(c.args) == 4 and c.backend.dtype(c.args[0]) != "bool"
    return c.do("scatter_add", *c.args) if plain else c.right()


def _schema(old: str, new: str) -> Patch:
    return lambda c: str(c.right()).replace(old, new)


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
_SYNTAX = ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__")
_AA = ("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa")

MUTANTS = (
    *rows(
        "numerics",
        ("small-half-errors-vanish", "iteration/strided-inputs-give-the-same-values[]", ("erf",), _flushed(1e-3)),
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
    *rows(
        "dtypes",
        ("subnormal-halves-read-as-zero", "dtypes/half-formats", ("to",), _low),
        ("elements-have-four-bytes", "dtypes/item-sizes views/getters-agree-with-metadata",
         ("element_size", "itemsize"), _four),
        ("negative-numbers-are-clipped", "dtypes/negative-into-unsigned-wraps", ("tensor", "full", "fill_"), _clipped),
        ("floats-are-cut-before-the-check", "dtypes/value-that-does-not-fit-raises", ("tensor", "full", "fill_"), _cut),
    ),
    *rows(
        "strides and layout",
        ("medians-of-expanded-dims-are-zero", ROW, ("median", "nanmedian"), _over_expanded),
        ("nbytes-counts-the-storage", "views/nbytes-is-logical", ("nbytes",), _in_one_storage),
    ),
    *rows(
        "values",
        ("shapes-are-lists", "views/shape-is-an-immutable-tuple", ("shape",), lambda c: list(c.right())),
    ),
    *rows(
        "operators",
        ("kron-reads-as-it-lies", ROW, ("kron",), _by_memory),
        ("group-norm-reads-as-it-lies",
         "operators/every-operator-gives-what-its-row-says[native_group_norm]",
         ("native_group_norm",), _by_memory),
        ("covariance-changes-its-operand",
         "operators/functional-forms-leave-their-inputs-alone[]", ("cov",),
         _centred),
        ("last-columns-are-off", ROW, _AA, values(_last_column)),
        ("draws-spread-too-far", "operators/draws-follow-their-distribution[normal]", ("normal_", "randn", "normal"),
         values(_spread)),
        ("running-statistics-stay", "operators/batch-norm-keeps-running-statistics",
         ("batch_norm", "native_batch_norm", "instance_norm"), _kept),
        ("scatter-adds-up", f"operators/scatter-keeps-one-of-the-duplicates {ROW}", ("scatter",), _added),
        ("augmented-assignment-makes-anew", "operators/augmented-assignment-is-in-place", _SYNTAX, _new),
        ("differences-are-turned", "operators/python-operators-are-operators", ("__sub__",), _turned),
        ("schemas-lose-their-marks", "operators/schema-says-its-form operators/declared-schemas-are-upstreams",
         ("declared_schema",), _schema("(a!)", "")),
        ("schemas-lose-their-defaults", "operators/schemas-print-back", ("printed_schema",), _schema("=1", "")),
    ),
)
