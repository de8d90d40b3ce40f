"""Mutants of quantized tensors: wrong integers, wrong numbers, quantizers that views lose, and what is not refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backend import Array, DType
from .mutant import Intercepted, Patch, rows
from .patches import accepts

_LIMITS = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}
_INTEGERS = {"qint8": np.int8, "quint8": np.uint8, "qint32": np.int32}
Rule = Callable[[Array, Any, Any, int, int], Array]
"""Integers of numbers, scales, zero points and the limits of the dtype."""


def _integers(rule: Rule) -> Patch:
    """A tensor that is quantized with one scale by another rule."""

    def patch(c: Intercepted) -> Any:
        made = c.right()
        x, scale, zero_point, dtype = c.args
        with np.errstate(all="ignore"):
            found = rule(c.array(x).astype(np.float64), scale, zero_point, *_LIMITS[str(dtype)])
        integers = c.tensor(found.astype(np.int64).astype(_INTEGERS[str(dtype)]))
        return c.do("_make_per_tensor_quantized_tensor", integers, scale, zero_point) if found.size else made

    return patch


def _finite(x: Array, low: int, high: int) -> Array:
    return np.nan_to_num(x, nan=high, posinf=high, neginf=low)


def _rounded_first(x: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """The zero point is added after rounding."""
    return _finite(np.clip(np.rint(x / scale) + zero_point, low, high), low, high)


def _cut(x: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """The fraction is cut off."""
    return _finite(np.clip(np.trunc(x / scale + zero_point), low, high), low, high)


def _away(x: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """Halves go up."""
    return _finite(np.clip(np.floor(x / scale + zero_point + 0.5), low, high), low, high)


def _wrapped(x: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """What is outside comes in at the other end."""
    return low + (np.rint(np.nan_to_num(x / scale)) + zero_point - low) % (high - low + 1)


def _narrow(x: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """The smallest integer is not used."""
    return _finite(np.clip(np.rint(x / scale + zero_point), low + 1, high), low + 1, high)


def _infinite_to_zero_point(x: Array, scale: float, zero_point: int, low: int, high: int) -> Array:
    """Infinities become the integer for zero."""
    whole = np.clip(np.rint(np.nan_to_num(x) / scale + zero_point), low, high)
    return np.where(np.isfinite(x), whole, zero_point)


def _nan_refused(c: Intercepted) -> Any:
    """Numbers that are NaN are refused."""
    if np.isnan(c.array(c.args[0])).any():
        c.refuse(RuntimeError, "NaN cannot be quantized")
    return c.right()


def _numbers(rule: Callable[[Array, Array, Any, Any], Array]) -> Patch:
    """Other numbers of the integers and the numbers that they stand for, a scale and a zero point."""

    def patch(c: Intercepted) -> Any:
        right, q = c.right(), c.args[0]
        try:
            scale, zero_point = c.do("q_scale", q), c.do("q_zero_point", q)
        except RuntimeError:
            return right
        found = rule(c.array(c.do("int_repr", q)), c.array(right), scale, zero_point)
        return c.tensor(np.asarray(found, np.float32).reshape(c.backend.shape(right)))

    return patch


def _checked_dtype(c: Intercepted) -> Any:
    """A tensor of another dtype is converted."""
    x, scale, zero_point, dtype = c.args
    if str(dtype) not in _LIMITS:
        return c.do("quantize_per_tensor", x, scale, zero_point, DType("qint8"))
    x = x if c.backend.dtype(x) == "float32" else c.tensor(c.array(x).astype(np.float32))
    low, high = _LIMITS[str(dtype)]
    return c.do("quantize_per_tensor", x, scale, min(max(zero_point, low), high), dtype)


def _only_result_dtype(c: Intercepted) -> Any:
    """A zero point outside the limits is moved into them."""
    x, scale, zero_point, dtype = c.args
    low, high = _LIMITS.get(str(dtype), (0, 0))
    if low <= zero_point <= high or str(dtype) not in _LIMITS:
        return c.right()
    return c.do("quantize_per_tensor", x, scale, min(max(zero_point, low), high), dtype)


def _any_scale(c: Intercepted) -> Any:
    """A scale that is none counts as 1."""
    x, _, zero_point, dtype = c.args
    return c.do("quantize_per_tensor", x, 1.0, zero_point, dtype)


def _bytes_are_quantized(c: Intercepted) -> Any:
    """Tensors of int8 count as quantized."""
    return bool(c.right()) or c.backend.dtype(c.args[0]) == "int8"


def _is_quantized(c: Intercepted) -> bool:
    return bool(c.args) and c.is_tensor(c.args[0]) and c.backend.dtype(c.args[0]) in _LIMITS


def _without_zero_point(c: Intercepted) -> Any:
    """The view of a quantized tensor has the zero point 0, where the dtype allows it."""
    right = c.right()
    if not _is_quantized(c) or not c.array(right).size:
        return right
    try:
        return c.do("_make_per_tensor_quantized_tensor", c.do("int_repr", right), c.do("q_scale", right), 0)
    except RuntimeError:
        return right


def _as_numbers(c: Intercepted) -> Any:
    """The operator works on the numbers that the integers stand for."""
    return c.do(c.operator, *[c.do("dequantize", one) if c.is_tensor(one) else one for one in c.args])


def _integers_as_array(c: Intercepted) -> Any:
    """The array of a quantized tensor has its integers."""
    return c.array(c.do("int_repr", c.args[0]))


def _first_scale(c: Intercepted) -> Any:
    """All channels have the scale and the zero point of the first."""
    x, scales, zero_points, axis, dtype = c.args
    right = c.right()
    many = [c.array(one) for one in (scales, zero_points)]
    if not many[0].size:
        return right
    alike = [c.tensor(np.full_like(one, one[0])) for one in many]
    return c.do("quantize_per_channel", x, *alike, axis, dtype)


def _single_scales(c: Intercepted) -> Any:
    """The scales of channels are kept as float32."""
    return c.tensor(c.array(c.right()).astype(np.float32))


def _first_axis(c: Intercepted) -> Any:
    """Channels lie along the first dim if its size allows."""
    x, scales, zero_points, _, dtype = c.args
    right = c.right()
    alike = len(set(c.backend.shape(x))) == 1
    return c.do("quantize_per_channel", x, scales, zero_points, 0, dtype) if alike else right


_ROUNDS, _SCALED = "layouts/quantizing-rounds-after-the-zero-point", "layouts/quantized-elements-are-scaled-integers"
_PER_TENSOR = ("quantize_per_tensor",)

MUTANTS = (
    *rows(
        "layouts",
        ("zero-point-is-added-after-rounding", _ROUNDS, _PER_TENSOR, _integers(_rounded_first)),
        ("quantizing-cuts-fractions", _ROUNDS, _PER_TENSOR, _integers(_cut)),
        ("quantized-halves-go-up", _ROUNDS, _PER_TENSOR, _integers(_away)),
        ("quantizing-wraps-around", f"{_ROUNDS} layouts/quantizing-nan-stays-within-the-limits", _PER_TENSOR,
         _integers(_wrapped)),
        ("smallest-quantized-integer-is-unused", f"{_ROUNDS} layouts/quantizing-nan-stays-within-the-limits",
         _PER_TENSOR, _integers(_narrow)),
        ("infinities-are-quantized-as-zero", "layouts/quantizing-nan-stays-within-the-limits", _PER_TENSOR,
         _integers(_infinite_to_zero_point)),
        ("nan-cannot-be-quantized", "layouts/quantizing-nan-stays-within-the-limits", _PER_TENSOR, _nan_refused),
        ("dequantizing-forgets-the-zero-point", f"{_SCALED} layouts/channels-have-scales-of-their-own", ("dequantize",),
         _numbers(lambda q, x, scale, zero_point: q * np.float32(scale))),
        ("dequantizing-rounds-twice", _SCALED, ("dequantize",),
         _numbers(lambda q, x, scale, zero_point: (q * np.float32(scale)).astype(np.float32)
                  - np.float32(zero_point * np.float32(scale)))),
        ("dequantizing-in-double", _SCALED, ("dequantize",),
         _numbers(lambda q, x, scale, zero_point: (q.astype(np.float64) - zero_point) * (scale * (1 + 2.0**-24)))),
        ("scale-is-rounded-to-half", _SCALED, ("q_scale",), lambda c: float(np.float16(c.right()))),
        ("quantized-elements-take-four-bytes", _SCALED, ("element_size",),
         lambda c: 4 if _is_quantized(c) else c.right()),
        ("quantizing-converts-dtypes", "layouts/quantizing-checks-zero-point-and-dtypes", _PER_TENSOR,
         accepts(RuntimeError, _checked_dtype)),
        ("zero-points-are-clamped", "layouts/quantizing-checks-zero-point-and-dtypes", _PER_TENSOR,
         accepts(RuntimeError, _only_result_dtype)),
        ("any-scale-is-taken", "layouts/scales-are-positive-and-finite", _PER_TENSOR,
         accepts(RuntimeError, _any_scale)),
        ("int8-counts-as-quantized", "layouts/int8-is-no-quantized-dtype", ("is_quantized",), _bytes_are_quantized),
        ("plain-integers-have-scale-1", "layouts/int8-is-no-quantized-dtype", ("q_scale",),
         accepts(RuntimeError, lambda c: 1.0)),
        ("views-lose-the-zero-point", "layouts/quantized-views-keep-the-quantizer",
         ("transpose", "select", "view", "permute", "slice", "narrow", "unsqueeze", "expand"), _without_zero_point),
        ("quantized-sums-are-computed", "layouts/quantized-tensors-refuse-arithmetic", ("add", "sub", "mul", "div"),
         accepts(NotImplementedError, _as_numbers)),
        ("quantized-reductions-are-computed", "layouts/quantized-tensors-refuse-arithmetic", ("sum", "neg", "abs"),
         accepts(NotImplementedError, _as_numbers)),
        ("numpy-gives-integers", "layouts/quantized-tensors-refuse-arithmetic", ("numpy",),
         accepts(TypeError, _integers_as_array)),
        ("gradients-of-integers", "layouts/quantized-tensors-refuse-arithmetic", ("requires_grad_",),
         accepts(RuntimeError, lambda c: c.args[0])),
        ("channels-share-the-first-scale", "layouts/channels-have-scales-of-their-own", ("quantize_per_channel",),
         _first_scale),
        ("channels-lie-along-the-first-dim", "layouts/channels-have-scales-of-their-own", ("quantize_per_channel",),
         _first_axis),
        ("scales-of-channels-are-float32", "layouts/channels-have-scales-of-their-own", ("q_per_channel_scales",),
         _single_scales),
    ),
)  # fmt: skip
