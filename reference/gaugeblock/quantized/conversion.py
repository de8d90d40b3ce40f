"""Numbers to quantized tensors and back: quantize_per_tensor, quantize_per_channel, dequantize, int_repr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf
from struct import Struct
from typing import Any

from ..core import lazy_numpy as np
from ..core.dtype import DType, float32, float64
from ..core.errors import check_int
from ..core.promotion import UPSTREAM_NAMES
from ..core.quantized_dtype import INTEGERS, QUANTIZED_DTYPES, QuantizedDType, qint32
from ..kernels.bound_call import Fresh
from ..kernels.conversion import Immediate
from ..kernels.pointwise import Launch
from ..operators.launch import element_launch
from ..tensor.array_view import array_of
from ..tensor.tensor import Tensor, empty_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, channels_last_strides, default_strides, meta_of, recalled, suggested_format
from .quantizer import (
    Mixed,
    PerChannel,
    PerTensor,
    data_of,
    empty_quantized,
    integer_meta,
    quantized_from,
    quantizer_of,
)

NUMBER = Immediate(float32)
"""A scale, its reciprocal or a zero point given to a kernel."""


def quantize_per_tensor(self: Tensor, scale: float, zero_point: int, dtype: QuantizedDType) -> Tensor:
    """The tensor with each element quantized by one scale and one zero point.

    Raises RuntimeError for another dtype than float32, a scale that is not positive and finite, and a zero point that
    `dtype` cannot hold.
    """
    check_input("quantize_per_tensor", self, dtype)
    inverse = _inverse(scale)
    if not dtype.lowest <= zero_point <= dtype.highest:
        check_zero_point("quantize_per_tensor", zero_point, dtype)
    meta, run = recalled(self.meta.plans, ("quantized", dtype), _quantizing, self.meta, dtype)
    return quantized_from(run(self, inverse, float(zero_point)), meta, PerTensor(scale, zero_point))


@lru_cache
def _inverse(scale: float) -> float:
    """Return the reciprocal of a scale in float32. Raises RuntimeError unless the scale is positive and finite."""
    check_scale("quantize_per_tensor", scale)
    return reciprocal(scale)


def _quantizing(meta: TensorMeta, dtype: QuantizedDType) -> tuple[TensorMeta, Callable[..., Tensor]]:
    """Return the meta of a tensor quantized from `meta`, and the call that makes its integers of the tensor, the
    reciprocal of the scale and the zero point."""
    made = like_meta(meta, dtype)
    return made, _into_new(integer_meta(made), _per_tensor_launch(made, integer_meta(made), meta))


def _into_new(result: TensorMeta, launch: Launch | None) -> Callable[..., Tensor]:
    """Return the call that runs a launch, if there is one, into a new tensor."""
    if launch is None:
        return lambda *_: new_like(result)
    kernel, tail = launch.call()
    fresh = Fresh(kernel, (result,), tail)
    run = fresh.native()

    def call(*values: Any) -> Tensor:
        found = run(*values)
        made: Tensor = fresh(*values) if found is None else found
        return made

    return call


def fill_per_tensor(out: Tensor, values: Tensor, scale: float, zero_point: int) -> None:
    """Write the integers of `values`, broadcast, into a quantized tensor."""
    data = data_of(out)
    launch = recalled(values.meta.plans, ("quantize", out.meta), _per_tensor_launch, out.meta, data.meta, values.meta)
    if launch is not None:
        launch.run([data.pointer, values.pointer, reciprocal(scale), float(zero_point)])


def _per_tensor_launch(out: TensorMeta, data: TensorMeta, values: TensorMeta) -> Launch | None:
    # PyTorch rounds once for eight bits and one scale, else also after the multiplication.
    name = f"quantize.{out.dtype.name}" if out.dtype is qint32 else f"quantize_once.{out.dtype.name}"
    return element_launch(name, data, [values, NUMBER, NUMBER], float32)


_SINGLE = Struct("f")


def as_float32(value: float) -> float:
    """`value` rounded to float32. Raises OverflowError for one that is too large."""
    found: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return found


def reciprocal(scale: float) -> float:
    """1 / scale in float32, infinite for the least scales."""
    try:
        return as_float32(1.0 / as_float32(scale))
    except OverflowError:
        return inf


def quantize_per_channel(
    self: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: QuantizedDType
) -> Tensor:
    """The tensor with each element quantized by the scale and the zero point of its index along `axis`.

    Raises RuntimeError as quantize_per_tensor, and for scales and zero points that are not one for each index.
    """
    check_input("quantize_per_channel", self, dtype)
    scale_of, zero_point_of = checked_channels("quantize_per_channel", self.meta, scales, zero_points, axis, dtype)
    meta = like_meta(self.meta, dtype)
    quantizer = PerChannel(scale_of, zero_point_of, axis, meta.sizes, meta.strides)
    made = empty_quantized(meta, quantizer)
    fill_by_channel(made, self, quantizer)
    return made


def fill_by_channel(out: Tensor, values: Tensor, quantizer: PerChannel | Mixed) -> None:
    """Write the integers of `values`, broadcast, into a quantized tensor."""
    with np.errstate(over="ignore"):
        inverse = _parameter(np.float32(1) / quantizer.scales.astype(np.float32), float32, out, quantizer)
    zero_point = _parameter(quantizer.zero_points, float32, out, quantizer)
    data = data_of(out)
    launch = element_launch(
        f"quantize.{out.meta.dtype.name}", data.meta, [values.meta, inverse.meta, zero_point.meta], float32
    )
    if launch is not None:
        launch.run([data.pointer, values.pointer, inverse.pointer, zero_point.pointer])


def _parameter(values: np.ndarray[Any, Any], dtype: DType, out: Tensor, quantizer: PerChannel | Mixed) -> Tensor:
    """Scales or zero points as a tensor that broadcasts with `out`."""
    sizes = values.shape
    if isinstance(quantizer, PerChannel):
        sizes = tuple([size if dim == quantizer.axis else 1 for dim, size in enumerate(out.meta.sizes)])
    made = empty_tensor(sizes, dtype)
    array_of(made)[...] = values.reshape(sizes)
    return made


def dequantize(self: Tensor) -> Tensor:
    """The numbers that the elements stand for, as float32."""
    quantizer = quantizer_of(self)
    if isinstance(quantizer, PerTensor):
        run = recalled(self.meta.plans, ("dequantize", quantizer.zero_point == 0), _dequantizing, self.meta, quantizer)
        return run(self, float(quantizer.zero_point), quantizer.scale)
    result, data = new_like(like_meta(self.meta, float32)), data_of(self)
    zero_point = _parameter(quantizer.zero_points, float32, self, quantizer)
    scale = _parameter(quantizer.scales, float64, self, quantizer)
    launch = element_launch("dequantize.channel", result.meta, [data.meta, zero_point.meta, scale.meta], float32)
    if launch is not None:
        launch.run([result.pointer, data.pointer, zero_point.pointer, scale.pointer])
    return result


def _dequantizing(meta: TensorMeta, quantizer: PerTensor) -> Callable[..., Tensor]:
    """Return the call of a tensor, a zero point and a scale. Without a zero point, float32 holds the rounded integers
    of qint32 too."""
    result, data = like_meta(meta, float32), integer_meta(meta)
    if meta.dtype is qint32 and quantizer.zero_point:
        launch = element_launch("dequantize.wide", result, [data, Immediate(float64), NUMBER], float32)
    else:
        launch = element_launch("dequantize", result, [data, NUMBER, NUMBER], float32)
    return _into_new(result, launch)


def int_repr(self: Tensor) -> Tensor:
    """A copy of the integers that are stored: int8 for qint8, uint8 for quint8, int32 for qint32."""
    return recalled(self.meta.plans, "int_repr", _copying_integers, self.meta)(self)


def _copying_integers(meta: TensorMeta) -> Callable[..., Tensor]:
    data = integer_meta(meta)
    result = like_meta(meta, data.dtype)
    return _into_new(result, element_launch("identity", result, [data], data.dtype))


def make_per_tensor(self: Tensor, scale: float, zero_point: int) -> Tensor:
    """A quantized tensor whose integers are a copy of those of `self`."""
    dtype = _dtype_for("_make_per_tensor_quantized_tensor", self)
    check_scale("_make_per_tensor_quantized_tensor", scale)
    check_zero_point("_make_per_tensor_quantized_tensor", zero_point, dtype)
    made = empty_quantized(like_meta(self.meta, dtype), PerTensor(float(scale), zero_point))
    copy_integers(made, self)
    return made


def make_per_channel(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> Tensor:
    """A quantized tensor whose integers are a copy of those of `self`, with a scale for each index along `axis`."""
    dtype = _dtype_for("_make_per_channel_quantized_tensor", self)
    channels = checked_channels("_make_per_channel_quantized_tensor", self.meta, scale, zero_point, axis, dtype)
    meta = like_meta(self.meta, dtype)
    made = empty_quantized(meta, PerChannel(*channels, axis, meta.sizes, meta.strides))
    copy_integers(made, self)
    return made


def copy_integers(out: Tensor, integers: Tensor) -> None:
    """Write integers, broadcast, into a quantized tensor of their width."""
    data = data_of(out)
    launch = element_launch("identity", data.meta, [integers.meta], data.meta.dtype)
    if launch is not None:
        launch.run([data.pointer, integers.pointer])


def like_meta(meta: TensorMeta, dtype: DType) -> TensorMeta:
    """The meta of a new tensor of the same sizes: row-major, or in the channels-last format that the strides have."""
    return recalled(meta.plans, ("quantized like", dtype), _made_like, meta, dtype)


def _made_like(meta: TensorMeta, dtype: DType) -> TensorMeta:
    strides = default_strides(meta.sizes)
    if not meta.contiguous:
        memory_format = suggested_format(meta.sizes, meta.strides)
        strides = strides if memory_format is None else channels_last_strides(meta.sizes, memory_format)
    return meta_of(meta.sizes, strides, dtype, meta.device)


def like(self: Tensor, meta: TensorMeta) -> Tensor:
    """A fresh quantized tensor of a dense meta with the sizes of `self` and its quantizer, contents undefined."""
    quantizer = quantizer_of(self)
    if isinstance(quantizer, Mixed):
        raise RuntimeError("clone(): the channels of this view do not lie along one dim, so that no copy can have them")
    if isinstance(quantizer, PerChannel):
        quantizer = PerChannel(quantizer.scales, quantizer.zero_points, quantizer.axis, meta.sizes, meta.strides)
    return empty_quantized(meta, quantizer)


def same_quantizer(self: Tensor, other: Tensor) -> bool:
    """Return whether two quantized tensors stand for numbers in the same way."""
    mine, its = quantizer_of(self), quantizer_of(other)
    if isinstance(mine, PerTensor) or isinstance(its, PerTensor):
        return mine == its
    axes = getattr(mine, "axis", None) == getattr(its, "axis", None)
    return axes and np.array_equal(mine.scales, its.scales) and np.array_equal(mine.zero_points, its.zero_points)


def check_input(operator: str, self: Tensor, dtype: object) -> None:
    """Raise RuntimeError unless float32 is to become a quantized dtype."""
    if not isinstance(dtype, QuantizedDType):
        allowed = ", ".join(one.name for one in QUANTIZED_DTYPES)
        raise RuntimeError(f"{operator}(): argument 'dtype' must be one of {allowed}, got {dtype!r}")
    if self.meta.dtype is not float32:
        given = UPSTREAM_NAMES.get(self.meta.dtype.name, self.meta.dtype.name)
        raise RuntimeError(f"{operator}(): expects a Float Tensor, got {given}")


def check_scale(operator: str, scale: float) -> None:
    """Raise RuntimeError unless the scale is positive and finite, also in float32."""
    try:
        valid = 0.0 < as_float32(scale) < inf
    except OverflowError:
        valid = False
    if not valid:
        raise RuntimeError(f"{operator}(): argument 'scale' must be positive and finite in float32, got {scale}")


def check_zero_point(operator: str, zero_point: int, dtype: QuantizedDType) -> None:
    """Raise RuntimeError unless the integers of the dtype reach to the zero point."""
    if not dtype.lowest <= zero_point <= dtype.highest:
        bound = "above upper bound" if zero_point > dtype.highest else "below lower bound"
        raise RuntimeError(
            f"{operator}(): zero_point {zero_point} is {bound}: {dtype.name} has integers from {dtype.lowest} to "
            f"{dtype.highest}"
        )


def checked_channels(
    operator: str, meta: TensorMeta, scales: Tensor, zero_points: Tensor, axis: int, dtype: QuantizedDType
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the scales as float64 and the zero points as int64. Raises RuntimeError."""
    if not 0 <= check_int(operator, "axis", axis) < meta.ndim:
        raise RuntimeError(f"{operator}(): argument 'axis' is out of range: got {axis}, expected [0, {meta.ndim})")
    for name, one, kinds in (("scales", scales, (2,)), ("zero_points", zero_points, (1,))):
        if one.meta.ndim != 1:
            raise RuntimeError(f"{operator}(): argument '{name}' must have dimension 1, got {one.meta.ndim}")
        if one.meta.dtype.kind not in kinds or one.meta.dtype.quantized:
            what = "floating point" if name == "scales" else "of an integer dtype"
            raise RuntimeError(f"{operator}(): argument '{name}' must be {what}, got {one.meta.dtype}")
    expected = meta.sizes[axis]
    if scales.meta.numel != zero_points.meta.numel:
        raise RuntimeError(
            f"{operator}(): the number of elements in scales ({scales.meta.numel}) and zero_points "
            f"({zero_points.meta.numel}) must match"
        )
    if scales.meta.numel != expected:
        raise RuntimeError(
            f"{operator}(): length of scales must equal to channel, expected {expected} got {scales.meta.numel}"
        )
    found = numbers(scales, np.float64), numbers(zero_points, np.int64)
    if expected:
        for scale in (found[0].min(), found[0].max()):
            check_scale(operator, float(scale))
        for zero_point in (found[1].min(), found[1].max()):
            check_zero_point(operator, int(zero_point), dtype)
    return found


def numbers(tensor: Tensor, dtype: Any) -> np.ndarray[Any, Any]:
    """A copy of a tensor's elements as an array of a dtype."""
    return np.array(tensor.tolist(), dtype).reshape(tensor.meta.sizes)  # type: ignore[attr-defined]


def _dtype_for(operator: str, self: Tensor) -> QuantizedDType:
    dtype = INTEGERS.get(self.meta.dtype)
    if dtype is None:
        allowed = ", ".join(one.name for one in INTEGERS)
        raise RuntimeError(f"{operator}(): argument 'self' must be one of {allowed}, got {self.meta.dtype}")
    return dtype


def per_tensor_quantizer(operator: str, self: Tensor) -> PerTensor:
    """The quantizer of a tensor with one scale. Raises RuntimeError for a scale for each channel."""
    quantizer = quantizer_of(self)
    if not isinstance(quantizer, PerTensor):
        raise RuntimeError(f"{operator}(): expected a tensor of per_tensor_affine, got one of {quantizer.scheme.name}")
    return quantizer


def per_channel_quantizer(operator: str, self: Tensor) -> PerChannel:
    """The quantizer of a tensor with a scale for each channel. Raises RuntimeError for one scale, and for a view whose
    channels lie along several dims."""
    quantizer = quantizer_of(self)
    if isinstance(quantizer, PerTensor):
        raise RuntimeError(f"{operator}(): expected a tensor of per_channel_affine, got one of per_tensor_affine")
    if isinstance(quantizer, Mixed):
        raise RuntimeError(f"{operator}(): the channels of this view do not lie along one dim")
    return quantizer


def as_tensor(values: np.ndarray[Any, Any] | Sequence[Any], dtype: DType) -> Tensor:
    """A tensor with the elements of an array."""
    array = np.asarray(values)
    made = empty_tensor(array.shape, dtype)
    if array.size:
        array_of(made)[...] = array
    return made

