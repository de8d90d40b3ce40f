"""Wrong elements: the operator computes something else than it should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..backend import Array
from .mutant import Intercepted, rows
from .patches import floating, fresh, values, with_inplace
from .target import POINTWISE, ROW


def _without_alpha(c: Intercepted) -> Any:
    return c.instead(*c.args, **{k: v for k, v in c.kwargs.items() if k != "alpha"})


def _swapped(first: int, second: int) -> Any:
    def patch(c: Intercepted) -> Any:
        args = list(c.args)
        if max(first, second) >= len(args) or not all(c.is_tensor(args[k]) for k in (first, second)):
            return c.right()
        args[first], args[second] = args[second], args[first]
        return c.instead(*args, **c.kwargs)

    return patch


def _lower_bound_wins(array: Array, c: Intercepted) -> Array | None:
    given = [*c.args[1:], c.kwargs.get("min"), c.kwargs.get("max")]
    bounds = [b for b in given if isinstance(b, int | float)]
    if len(bounds) < 2 or bounds[0] <= bounds[1]:
        return None
    return np.where(np.isnan(array) if floating(array) else False, array, array.dtype.type(bounds[0]))


def _integer(c: Intercepted) -> tuple[Array, Array] | None:
    """The operands of an integer division, broadcast."""
    if len(c.args) < 2 or not all(c.is_tensor(a) for a in c.args[:2]):
        return None
    a, b = (c.array(x) for x in c.args[:2])
    if a.dtype.kind not in "iu" or a.dtype != b.dtype:
        return None
    wide, other = np.broadcast_arrays(a.astype(object), b.astype(object))
    return wide, other


def _pairs(operands: tuple[Array, Array]) -> Iterator[tuple[int, int]]:
    return zip(*(a.ravel().tolist() for a in operands), strict=True)


def _floor_as_trunc(array: Array, c: Intercepted) -> Array | None:
    mode = c.kwargs.get("rounding_mode", "floor")
    operands = _integer(c) if mode == "floor" and not c.inplace else None
    if operands is None or array.dtype.kind not in "iu":
        return None
    quotients = [abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) for a, b in _pairs(operands)]
    return _wrapped(quotients, array)


def _trunc_as_floor(array: Array, c: Intercepted) -> Array | None:
    operands = _integer(c) if c.kwargs.get("rounding_mode") == "trunc" and not c.inplace else None
    if operands is None or array.dtype.kind not in "iu":
        return None
    return _wrapped([a // b for a, b in _pairs(operands)], array)


def _sign_of_dividend(array: Array, c: Intercepted) -> Array | None:
    operands = None if c.inplace else _integer(c)
    if operands is None:
        return None
    rests = [abs(a) % abs(b) * (-1 if a < 0 else 1) for a, b in _pairs(operands)]
    return _wrapped(rests, array)


def _sign_of_divisor(array: Array, c: Intercepted) -> Array | None:
    operands = None if c.inplace else _integer(c)
    return None if operands is None else _wrapped([a % b for a, b in _pairs(operands)], array)


def _wrapped(numbers: list[int], like: Array) -> Array:
    bits = 8 * like.dtype.itemsize
    return np.array([n & (2**bits - 1) for n in numbers], np.uint64).astype(like.dtype).reshape(like.shape)


def _zero_to_the_zero(array: Array, c: Intercepted) -> Array | None:
    if array.dtype.kind not in "iu" or c.inplace or not c.is_tensor(c.args[0]):
        return None
    base = np.broadcast_to(c.array(c.args[0]), array.shape)
    exponent = c.array(c.args[1]) if c.is_tensor(c.args[1]) else c.args[1]
    return np.where((base == 0) & (np.asarray(exponent) == 0), 0, array).astype(array.dtype)


def _shift_modulo_width(array: Array, c: Intercepted) -> Array | None:
    operands = None if c.inplace else _integer(c)
    if operands is None:
        return None
    width, left = 8 * array.dtype.itemsize, "left" in c.base or "lshift" in c.base
    pairs = _pairs(operands)
    return _wrapped([(a << b % width) if left else (a >> b % width) for a, b in pairs], array)


def _logical_shift(array: Array, c: Intercepted) -> Array | None:
    operands = None if c.inplace else _integer(c)
    if operands is None or array.dtype.kind != "i":
        return None
    width = 8 * array.dtype.itemsize
    pairs = _pairs(operands)
    return _wrapped([(a % 2**width) >> b if 0 <= b < width else 0 for a, b in pairs], array)


def _saturating_add(array: Array, c: Intercepted) -> Array | None:
    operands = _integer(c) if not c.inplace and not c.kwargs else None
    if operands is None or array.dtype.kind not in "iu":
        return None
    info = np.iinfo(array.dtype)
    return np.asarray(np.clip(operands[0] + operands[1], info.min, info.max).astype(array.dtype))


def _exclusive_or(array: Array, c: Intercepted) -> Array | None:
    tensors = [c.array(a) for a in c.args if c.is_tensor(a)]
    if array.dtype != bool or c.inplace or len(tensors) != 2:
        return None
    return np.logical_xor(*tensors)


def _flip_first_dim_only(c: Intercepted) -> Any:
    dims = c.args[1] if len(c.args) > 1 else ()
    return c.instead(c.args[0], dims[:1]) if isinstance(dims, list | tuple) else c.right()


def _column_major(c: Intercepted) -> Any:
    x, mask = c.args[:2]
    if not c.is_tensor(mask) or c.backend.dtype(mask) != "bool" or not c.has_data:
        return c.right()
    chosen, wanted = c.array(x), c.array(mask)
    if chosen.ndim != wanted.ndim or wanted.ndim < 2 or chosen.shape != wanted.shape:
        return c.right()
    return fresh(c, chosen.T[wanted.T])


def _last_value_only(c: Intercepted) -> Any:
    if c.kwargs.get("accumulate") or (len(c.args) > 3 and c.args[3]):
        kwargs = {k: v for k, v in c.kwargs.items() if k != "accumulate"}
        x, indices, given = c.args[:3]
        return c.instead(x, indices, c.do("add.Tensor", c.do("__getitem__", x, tuple(indices)), given), **kwargs)
    return c.right()


def _by_memory(c: Intercepted) -> Any:
    x = c.args[0]
    sizes, strides, offset = c.geometry(x)
    if len(sizes) < 2:
        return c.right()
    return c.do("tolist", c.restride(x, sizes, tuple(sorted(strides, reverse=True)), offset))


def _clamped_index(c: Intercepted) -> Any:
    """Negative numbers in an index tensor read element 0."""
    x, index = c.args[:2]
    if not c.is_tensor(index) or c.backend.dtype(index) not in ("int64", "int32") or not c.has_data:
        return c.right()
    numbers = c.array(index)
    return c.instead(x, c.tensor(np.maximum(numbers, 0)), *c.args[2:]) if (numbers < 0).any() else c.right()


def _rolled_further(c: Intercepted) -> Any:
    shifts = c.args[1]
    more = [n + 1 for n in shifts] if isinstance(shifts, list | tuple) else shifts + 1
    return c.instead(c.args[0], more, *c.args[2:], **c.kwargs)


def _reversed_parts(c: Intercepted) -> Any:
    return c.instead(list(reversed(c.args[0])), *c.args[1:], **c.kwargs)


def _without_last_term(c: Intercepted) -> Any:
    a, b = c.args[:2]
    length = c.backend.shape(a)[-1] if c.backend.shape(a) else 0
    if length < 3 or len(c.backend.shape(b)) != 2:
        return c.right()
    return c.instead(
        c.do("slice.Tensor", a, len(c.backend.shape(a)) - 1, 0, length - 1), c.do("slice.Tensor", b, 0, 0, length - 1)
    )


MUTANTS = rows(
    "values",
    ("alpha-is-ignored", POINTWISE, with_inplace("add", "sub"), _without_alpha),
    ("sub-is-reversed", POINTWISE, ("sub.Tensor",), _swapped(0, 1)),
    ("where-takes-the-other", f"{POINTWISE} iteration/ternary-operators-broadcast-and-promote", ("where.self",),
     _swapped(1, 2)),
    ("clamp-lets-the-lower-bound-win", "operators/clamp-is-minimum-of-maximum", ("clamp",), values(_lower_bound_wins)),
    ("integer-floor-division-truncates", "dtypes/floor-division-rounds-down",
     ("floor_divide", "div.Tensor_mode", "__floordiv__"), values(_floor_as_trunc)),
    ("integer-trunc-division-floors", "dtypes/trunc-division-rounds-toward-zero", ("div.Tensor_mode",),
     values(_trunc_as_floor)),
    ("remainder-has-the-sign-of-the-dividend", "dtypes/remainder-has-the-sign-of-the-divisor", ("remainder", "__mod__"),
     values(_sign_of_dividend)),
    ("fmod-has-the-sign-of-the-divisor", "dtypes/fmod-has-the-sign-of-the-dividend", ("fmod",),
     values(_sign_of_divisor)),
    ("zero-to-the-zero-is-zero", "dtypes/integer-power", ("pow", "__pow__"), values(_zero_to_the_zero)),
    ("shift-counts-wrap-at-the-width", "dtypes/shifts-are-defined-for-all-counts",
     ("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__"), values(_shift_modulo_width)),
    ("right-shift-is-logical", "dtypes/shifts-are-defined-for-all-counts", ("bitwise_right_shift", "__rshift__"),
     values(_logical_shift)),
    ("integer-addition-saturates", "dtypes/integer-arithmetic-wraps", ("add", "__add__"), values(_saturating_add)),
    ("bool-addition-is-exclusive", "dtypes/bool-add-is-or-and-mul-is-and", ("add", "__add__"), values(_exclusive_or)),
    ("flip-of-the-first-dim-only", f"views/flip-copies {ROW}", ("flip",), _flip_first_dim_only),
    ("mask-reads-columns-first", "views/logical-order-is-row-major", ("__getitem__", "masked_select"), _column_major),
    ("index-put-loses-duplicates", "views/accumulate-adds-all-values", with_inplace("index_put"), _last_value_only),
    ("tolist-reads-by-memory", "views/logical-order-is-row-major", ("tolist",), _by_memory),
    ("negative-index-reads-the-first",
     "views/index-values-wrap-and-are-checked kernels/negative-indices-wrap-in-two-operators", ("__getitem__",),
     _clamped_index),
    ("roll-by-one-more", ROW, ("roll",), _rolled_further),
    ("cat-joins-backwards", f"operators/cat-joins-along-a-dim {ROW}", ("cat",), _reversed_parts),
    ("matmul-drops-the-last-term", ROW, ("mm", "matmul"), _without_last_term),
)
