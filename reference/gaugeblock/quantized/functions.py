"""The public functions and methods of quantized tensors: arguments are checked, then the dispatcher is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ..core.dtype import DType, float32
from ..core.errors import check_int, type_error
from ..dispatch.dispatcher import REGISTRY, call, call_on
from ..dispatch.operator import Operator
from ..operators.invoke import apply
from ..tensor.tensor import Tensor
from . import registration as _registration  # noqa: F401  it declares the operators

_QUANTIZE, _DEQUANTIZE = REGISTRY.find("quantize_per_tensor"), REGISTRY.find("dequantize.self")


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    """The tensor with each element x as the integer nearest to x / scale + zero_point, within the limits of `dtype`.

    `scale` and `zero_point` may be tensors of one element; for a list of tensors they are tensors of one for each.
    Halves are rounded to even, after the zero point was added. The result takes no part in autograd.

    Raises RuntimeError for another dtype than float32, for a `dtype` that is not quantized, for a scale that is not
    positive and finite, and for a zero point that `dtype` cannot hold.
    """
    if input.__class__ is not Tensor or scale.__class__ is not float or zero_point.__class__ is not int:
        if isinstance(input, (list, tuple)):
            return _quantize_each(input, scale, zero_point, dtype)
        _check("quantize_per_tensor", input=input)
        scale, zero_point = _scale("quantize_per_tensor", scale), _zero_point("quantize_per_tensor", zero_point)
    return call_on(_QUANTIZE, _detached(input), scale, zero_point, _dtype("quantize_per_tensor", dtype))


def _quantize_each(tensors: Any, scales: Any, zero_points: Any, dtype: Any) -> tuple[Any, ...]:
    _check("quantize_per_tensor", scales=scales, zero_points=zero_points)
    if scales.meta.numel != len(tensors) or zero_points.meta.numel != len(tensors):
        raise RuntimeError(
            f"quantize_per_tensor(): {len(tensors)} tensors need as many scales and zero points, got "
            f"{scales.meta.numel} and {zero_points.meta.numel}"
        )
    given = zip(tensors, scales.tolist(), zero_points.tolist(), strict=True)
    return tuple([quantize_per_tensor(one, scale, zero_point, dtype) for one, scale, zero_point in given])


def quantize_per_channel(input: Any, scales: Any, zero_points: Any, axis: Any, dtype: Any) -> Any:
    """The tensor quantized with the scale and the zero point of each index along `axis`.

    Raises RuntimeError as quantize_per_tensor, and unless there is one scale and one zero point for each index.
    """
    name = "quantize_per_channel"
    _check(name, input=input, scales=scales, zero_points=zero_points)
    place = check_int(name, "axis", axis)
    return call(REGISTRY.find(name), _detached(input), scales, zero_points, place, _dtype(name, dtype))


def dequantize(input: Any) -> Any:
    """The numbers of a quantized tensor as float32; another tensor converted to it; of a list, a tuple of them."""
    if isinstance(input, (list, tuple)):
        return tuple([dequantize(one) for one in input])
    _check("dequantize", tensor=input)
    if not input.meta.dtype.quantized:
        return apply("to.dtype", input, float32)
    return call_on(_DEQUANTIZE, input)


def make_per_tensor(input: Any, scale: Any, zero_point: Any) -> Any:
    """A quantized tensor with a copy of the integers of `input`, which are int8, uint8 or int32."""
    name = "_make_per_tensor_quantized_tensor"
    _check(name, input=input)
    return call(REGISTRY.find(name), input, _scale(name, scale), _zero_point(name, zero_point))


def make_per_channel(input: Any, scale: Any, zero_point: Any, axis: Any) -> Any:
    """A quantized tensor with a copy of the integers of `input`, with a scale for each index along `axis`."""
    name = "_make_per_channel_quantized_tensor"
    _check(name, input=input, scale=scale, zero_point=zero_point)
    return call(REGISTRY.find(name), input, scale, zero_point, check_int(name, "axis", axis))


def _asked(name: str, input: Any) -> Any:
    _check(name, input=input)
    return call_on(_operator(name), input)


@cache
def _operator(name: str) -> Operator:
    return REGISTRY.find(name)


def _check(operator: str, **tensors: Any) -> None:
    for name, one in tensors.items():
        if not isinstance(one, Tensor):
            type_error(operator, name, one, "Tensor")


def _detached(input: Any) -> Any:
    return input.detach() if input.meta.has_autograd else input


def _scale(operator: str, scale: Any) -> float:
    if isinstance(scale, Tensor):
        scale = scale.item()  # type: ignore[attr-defined]
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        type_error(operator, "scale", scale, "float")
    return float(scale)


def _zero_point(operator: str, zero_point: Any) -> int:
    if isinstance(zero_point, Tensor):
        zero_point = zero_point.item()  # type: ignore[attr-defined]
    return check_int(operator, "zero_point", zero_point)


def _dtype(operator: str, dtype: Any) -> DType:
    if not isinstance(dtype, DType):
        type_error(operator, "dtype", dtype, "dtype")
    return dtype


MEMBERS = (
    "int_repr", "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis",
    "qscheme",
)
"""Functions of one tensor, which are also methods."""
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantize_per_tensor": quantize_per_tensor, "quantize_per_channel": quantize_per_channel, "dequantize": dequantize,
    "_make_per_tensor_quantized_tensor": make_per_tensor, "_make_per_channel_quantized_tensor": make_per_channel,
    **{name: partial(_asked, name) for name in MEMBERS},
}  # fmt: skip


def __getattr__(name: str) -> Callable[..., Any]:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
