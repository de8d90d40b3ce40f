"""Quantized tensors: the integers, what they stand for, views, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as hs

from ..backend import Array, DType
from ..failure import NoReproducer
from ..forall import forall
from ..handle import Handle
from ..requirement import requirement
from ..session import Session
from ..strategies import sizes

_LIMITS = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}
_INTEGERS = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}
_DTYPES = hs.sampled_from(sorted(_LIMITS))
_NAN, _INF = float("nan"), float("inf")
_POWERS = hs.sampled_from([2.0**k for k in range(-6, 3)])
_SCALES = hs.floats(2.0**-8, 8, width=32)
_NEAR = 1e-3
"""How near to a half a quotient is if either neighbour is right."""


@hs.composite
def _arrays(draw: hs.DrawFn, min_dims: int = 0, max_dims: int = 3) -> Array:
    """Arrays of float32: halves, whole numbers and others."""
    dims = draw(sizes(min_dims, max_dims))
    count = int(np.prod(dims))
    halves = hs.integers(-600, 600).map(lambda k: k / 2)
    elements = hs.lists(halves | hs.floats(-300, 300, width=32), min_size=count, max_size=count)
    return np.array(draw(elements), np.float32).reshape(dims)


def _zero_point(data: hs.DataObject, dtype: str) -> int:
    low, high = _LIMITS[dtype]
    return data.draw(hs.integers(max(low, -1000), min(high, 1000)), label="zero point")


def _quantized(s: Session, x: Any, scale: float, zero_point: int, dtype: str) -> Handle:
    made: Handle = s.call("quantize_per_tensor", s.tensor(x), scale, zero_point, DType(dtype))
    return made


def _nearest(x: Array, scale: Any, zero_point: Any, dtype: str) -> Array:
    """What is rounded, within the limits."""
    low, high = _LIMITS[dtype]
    found: Array = np.clip(x.astype(np.longdouble) / np.longdouble(scale) + zero_point, low, high)
    return found


def _stood_for(integers: Array, scale: Any, zero_point: Any) -> Array:
    difference = (integers.astype(np.int64) - zero_point).astype(np.float32)
    found: Array = (difference * np.asarray(scale).astype(np.float32)).astype(np.float32)
    return found


@requirement("layouts/quantized-elements-are-scaled-integers")
def test_golden_integers(s: Session) -> None:
    q = _quantized(s, [-1.0, 0.5, 0.8, 100.0], 0.5, 3, "qint8")
    s.expect_dtype(q, "qint8")
    s.expect_values(s.call("int_repr", q), [1, 4, 5, 127], dtype="int8")
    s.expect_values(s.call("dequantize", q), [-1.0, 0.5, 1.0, 62.0])
    s.expect(s.call("q_scale", q), 0.5, "the scale")
    s.expect(s.call("q_zero_point", q), 3, "the zero point")
    s.expect_strides(q, (1,))


@requirement("layouts/quantized-elements-are-scaled-integers")
@forall(x=_arrays(), scale=_SCALES, dtype=_DTYPES, data=hs.data())
def test_numbers_are_scaled_integers(s: Session, x: Array, scale: float, dtype: str, data: hs.DataObject) -> None:
    zero_point = _zero_point(data, dtype)
    q = _quantized(s, x, scale, zero_point, dtype)
    integers = s.call("int_repr", q)
    s.expect_dtype(integers, _INTEGERS[dtype])
    s.expect(s.call("element_size", q), 4 if dtype == "qint32" else 1, "bytes of an element")
    s.expect_values(s.call("dequantize", q), _stood_for(s.read(integers), scale, zero_point))
    s.expect(s.call("q_scale", q), scale, "the scale")
    s.expect(s.call("q_zero_point", q), zero_point, "the zero point")


@requirement("layouts/quantizing-rounds-after-the-zero-point")
def test_golden_halves(s: Session) -> None:
    halves = [-1.5, -0.5, 0.5, 1.5, 2.5]
    s.expect_values(s.call("int_repr", _quantized(s, halves, 1.0, 0, "qint8")), [-2, 0, 0, 2, 2], dtype="int8")
    s.expect_values(s.call("int_repr", _quantized(s, halves, 1.0, 1, "qint8")), [0, 0, 2, 2, 4], dtype="int8")
    beyond = _quantized(s, [300.0, -300.0, 127.4, 127.6], 1.0, 0, "qint8")
    s.expect_values(s.call("int_repr", beyond), [127, -128, 127, 127], dtype="int8")
    unsigned = _quantized(s, [300.0, -300.0, 255.4], 1.0, 0, "quint8")
    s.expect_values(s.call("int_repr", unsigned), [255, 0, 255], dtype="uint8")


@requirement("layouts/quantizing-rounds-after-the-zero-point")
@forall(x=_arrays(), scale=_POWERS, dtype=_DTYPES, data=hs.data())
def test_powers_of_two(s: Session, x: Array, scale: float, dtype: str, data: hs.DataObject) -> None:
    zero_point = _zero_point(data, dtype)
    x = (np.round(x * 2) / 2 * np.float32(scale)).astype(np.float32)
    want = np.rint(_nearest(x, scale, zero_point, dtype)).astype(_INTEGERS[dtype])
    s.expect_values(s.call("int_repr", _quantized(s, x, scale, zero_point, dtype)), want)


@requirement("layouts/quantizing-rounds-after-the-zero-point")
@forall(x=_arrays(), scale=_SCALES, dtype=hs.sampled_from(["qint8", "quint8"]), data=hs.data())
def test_any_scale(s: Session, x: Array, scale: float, dtype: str, data: hs.DataObject) -> None:
    zero_point = _zero_point(data, dtype)
    x = (x * np.float32(scale)).astype(np.float32)
    q = s.call("int_repr", _quantized(s, x, scale, zero_point, dtype))
    s.expect_close(q, _nearest(x, scale, zero_point, dtype), 0.5 + _NEAR)


@requirement("layouts/quantizing-checks-zero-point-and-dtypes")
def test_parameters(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    for name, (low, high) in _LIMITS.items():
        for zero_point in (low - 1, high + 1):
            s.expect_raises(RuntimeError, "quantize_per_tensor", x, 1.0, zero_point, DType(name))
        for zero_point in (low, high):
            made = s.call("quantize_per_tensor", x, 1.0, zero_point, DType(name))
            s.expect(s.call("q_zero_point", made), zero_point, "the zero point")
        for other in ("float64", "float16", "int64", "int8", "bool"):
            s.expect_raises(RuntimeError, "quantize_per_tensor", s.tensor([1, 0], other), 1.0, 0, DType(name))
    for name in ("int8", "uint8", "int32", "float32"):
        s.expect_raises(RuntimeError, "quantize_per_tensor", x, 1.0, 0, DType(name))


@requirement("layouts/scales-are-positive-and-finite")
def test_scales(s: Session) -> None:
    x = s.tensor([1.0, 2.0])
    for name in _LIMITS:
        for scale in (0.0, -1.0, _INF, _NAN):
            s.expect_raises(RuntimeError, "quantize_per_tensor", x, scale, 0, DType(name))


@requirement("layouts/int8-is-no-quantized-dtype")
def test_plain_integers(s: Session) -> None:
    for name in ("int8", "uint8", "int32", "int16", "float32"):
        x = s.tensor([1, 2], name)
        s.expect(s.call("is_quantized", x), False, f"is_quantized of a tensor of {name}")
        s.expect_raises((NotImplementedError, RuntimeError), "q_scale", x)
        s.expect_raises((NotImplementedError, RuntimeError), "q_zero_point", x)
    for name in _LIMITS:
        q = _quantized(s, [1.0, 2.0], 0.5, 3, name)
        s.expect(s.call("is_quantized", q), True, f"is_quantized of a tensor of {name}")
        s.expect(s.call("q_scale", q), 0.5, "the scale")
        s.expect(s.call("q_zero_point", q), 3, "the zero point")


@hs.composite
def _views(draw: hs.DrawFn, dims: tuple[int, ...]) -> tuple[Any, ...]:
    """A view of a tensor with at least one dim: the operator and its arguments."""
    dim = draw(hs.integers(0, len(dims) - 1))
    count = int(np.prod(dims))
    choices: list[tuple[Any, ...]] = [
        ("transpose.int", dim, draw(hs.integers(0, len(dims) - 1))), ("unsqueeze", draw(hs.integers(0, len(dims)))),
        ("view", (count,)), ("permute", tuple(draw(hs.permutations(range(len(dims)))))), ("expand", (2, *dims)),
        ("slice.Tensor", dim, draw(hs.integers(0, dims[dim])), None, draw(hs.integers(1, 3))),
    ]  # fmt: skip
    if dims[dim]:
        choices += [("select.int", dim, draw(hs.integers(0, dims[dim] - 1))), ("narrow", dim, dims[dim] - 1, 1)]
    return draw(hs.sampled_from(choices))


@requirement("layouts/quantized-views-keep-the-quantizer")
def test_golden_views(s: Session) -> None:
    q = _quantized(s, [[1.0, 2.0], [3.0, 4.0]], 0.5, 1, "quint8")
    column = s.call("select.int", s.call("transpose.int", q, 0, 1), 0, 0)
    s.expect_values(s.call("dequantize", column), [1.0, 3.0])
    s.expect(s.call("q_zero_point", column), 1, "the zero point of a view")
    s.expect_shares(column, q)


@requirement("layouts/quantized-views-keep-the-quantizer")
@forall(x=_arrays(1, 3), scale=_SCALES, dtype=_DTYPES, data=hs.data())
def test_views(s: Session, x: Array, scale: float, dtype: str, data: hs.DataObject) -> None:
    q = _quantized(s, x, scale, _zero_point(data, dtype), dtype)
    name, *arguments = data.draw(_views(x.shape), label="view")
    view = s.call(name, q, *arguments)
    s.expect_dtype(view, dtype)
    s.expect(s.call("q_scale", view), scale, "the scale of a view")
    s.expect_agreement(s.call("dequantize", view), s.call(name, s.call("dequantize", q), *arguments))


@requirement("layouts/quantized-tensors-refuse-arithmetic")
def test_refusals(s: Session) -> None:
    for name in _LIMITS:
        q = _quantized(s, [[1.0, 2.0]], 0.5, 1, name)
        for operator in ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor"):
            s.expect_raises(NotImplementedError, operator, q, q)
        for operator in ("neg", "abs", "exp", "sum"):
            s.expect_raises(NotImplementedError, operator, q)
        s.expect_raises(RuntimeError, "requires_grad_", q)
        s.expect_raises(TypeError, "numpy", q)


@requirement("layouts/channels-have-scales-of-their-own")
def test_golden_channels(s: Session) -> None:
    x = s.tensor([[1.0, 2.0, -1.0], [1.0, 2.0, -1.0]])
    scales, zero_points = s.tensor([0.5, 0.25]), s.tensor([0, 1], "int64")
    q = s.call("quantize_per_channel", x, scales, zero_points, 0, DType("qint8"))
    s.expect_values(s.call("int_repr", q), [[2, 4, -2], [5, 9, -3]], dtype="int8")
    s.expect_values(s.call("dequantize", q), [[1.0, 2.0, -1.0], [1.0, 2.0, -1.0]])
    s.expect_values(s.call("q_per_channel_scales", q), [0.5, 0.25], dtype="float64")
    s.expect_values(s.call("q_per_channel_zero_points", q), [0, 1], dtype="int64")
    s.expect(s.call("q_per_channel_axis", q), 0, "the axis")
    s.expect_raises(RuntimeError, "q_scale", q)
    square = s.tensor([[1.0, 2.0], [1.0, 2.0]])
    q = s.call("quantize_per_channel", square, scales, zero_points, 1, DType("quint8"))
    s.expect_values(s.call("int_repr", q), [[2, 9], [2, 9]], dtype="uint8")
    s.expect(s.call("q_per_channel_axis", q), 1, "the axis")
    for more in (s.tensor([0.5]), s.tensor([0.5, 0.25, 0.5])):
        s.expect_raises(RuntimeError, "quantize_per_channel", x, more, zero_points, 0, DType("qint8"))


@requirement("layouts/channels-have-scales-of-their-own")
@forall(x=_arrays(1, 3), dtype=_DTYPES, data=hs.data())
def test_channels(s: Session, x: Array, dtype: str, data: hs.DataObject) -> None:
    axis = data.draw(hs.integers(0, x.ndim - 1), label="axis")
    count = x.shape[axis]
    scales = np.array(data.draw(hs.lists(_POWERS, min_size=count, max_size=count), label="scales"), np.float64)
    zero_points = np.array([_zero_point(data, dtype) for _ in range(count)], np.int64)
    along = tuple(count if dim == axis else 1 for dim in range(x.ndim))
    x = (np.round(x * 2) / 2 * scales.reshape(along)).astype(np.float32)
    given = (s.tensor(x), s.tensor(scales), s.tensor(zero_points))
    q = s.call("quantize_per_channel", *given, axis, DType(dtype))
    want = np.rint(_nearest(x, scales.reshape(along), zero_points.reshape(along), dtype)).astype(_INTEGERS[dtype])
    s.expect_values(s.call("int_repr", q), want)
    s.expect_values(s.call("dequantize", q), _stood_for(want, scales.reshape(along), zero_points.reshape(along)))
    s.expect_values(s.call("q_per_channel_scales", q), scales)
    s.expect_values(s.call("q_per_channel_zero_points", q), zero_points)


@requirement("layouts/quantizing-nan-stays-within-the-limits")
def test_golden_infinities(s: Session) -> None:
    for name in ("qint8", "quint8"):
        low, high = _LIMITS[name]
        q = s.call("int_repr", _quantized(s, [_INF, -_INF], 0.5, 3, name))
        s.expect_values(q, [high, low], dtype=_INTEGERS[name])


@requirement("layouts/quantizing-nan-stays-within-the-limits")
@forall(x=_arrays(1, 2), scale=_SCALES, dtype=_DTYPES, data=hs.data())
def test_nan(s: Session, x: Array, scale: float, dtype: str, data: hs.DataObject) -> None:
    x = x.copy()
    x[data.draw(hs.integers(0, max(len(x) - 1, 0))) :] = _NAN
    q = s.call("int_repr", _quantized(s, x, scale, _zero_point(data, dtype), dtype))
    s.expect_dtype(q, _INTEGERS[dtype])
    least, most = _LIMITS[dtype]
    s.expect_shape(q, x.shape)
    found = s.read(q)
    if not ((found >= least) & (found <= most)).all():
        s.fail_computed(f"integers from {least} to {most}", NoReproducer("every integer is looked at"))
