"""fake_quantize_per_tensor_affine and fake_quantize_per_channel_affine: quantized and dequantized at once.

The gradient goes straight through where the integer is within the limits, and is 0 elsewhere.
"""

from __future__ import annotations

from typing import Any

from ..autograd import Function
from ..core.device import cpu
from ..core.dtype import DType, bfloat16, bool_, float16, float32, float64, int32
from ..core.errors import check_int, type_error, wrap_dim
from ..core.promotion import UPSTREAM_NAMES
from ..dispatch.overrides import overridable
from ..kernels.conversion import Immediate
from ..operators.launch import element_launch
from ..tensor.array_view import array_of
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import meta_like
from .conversion import as_float32, as_tensor, check_scale, reciprocal

COMPUTE = {float16: float32, bfloat16: float32, float32: float32, float64: float64}
"""Dtype of the tensor -> the dtype that is computed in."""


class FakeQuantize(Function):
    """x, quantized and dequantized with a reciprocal of the scale, a zero point, a scale and two limits, which are
    numbers or tensors that broadcast."""

    @staticmethod
    def forward(ctx: Any, x: Any, *given: Any) -> Any:
        """Return the numbers, and keep where the integers are within the limits."""
        result, inside = new_like(meta_like(x.meta)), new_like(meta_like(x.meta, bool_))
        compute = COMPUTE[x.meta.dtype]
        operands = [one.meta if isinstance(one, Tensor) else Immediate(compute) for one in given]
        single = compute is float64 and not isinstance(given[0], Tensor)  # as PyTorch, which has one scale in float32
        name = "fake_quantize.single" if single else "fake_quantize"
        launch = element_launch(name, result.meta, [x.meta, *operands], compute, [inside.meta])
        if launch is not None:
            values = [one.pointer if isinstance(one, Tensor) else one for one in given]
            launch.run([result.pointer, inside.pointer, x.pointer, *values])
        ctx.save_for_backward(inside)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Return the gradient where the integers are within the limits."""
        (inside,) = ctx.saved_tensors
        return (grads[0] * inside, None, None, None, None, None)


def _check(operator: str, input: Any, quant_min: Any, quant_max: Any) -> tuple[float, float]:
    """Return the limits. Raises TypeError for what is no tensor or int, NotImplementedError for another dtype or
    device, RuntimeError for limits in the wrong order."""
    if not isinstance(input, Tensor):
        type_error(operator, "input", input, "Tensor")
    if input.meta.dtype not in COMPUTE:
        raise NotImplementedError(f"{operator}(): not implemented for {_shown(input.meta.dtype)}; only for floats")
    if input.meta.device is not cpu:
        raise NotImplementedError(f"{operator}(): only tensors on the CPU, got one on {input.meta.device}")
    lowest, highest = check_int(operator, "quant_min", quant_min), check_int(operator, "quant_max", quant_max)
    if lowest > highest:
        raise RuntimeError(f"{operator}(): quant_min {lowest} should be less than or equal to quant_max {highest}")
    return float(lowest), float(highest)


def _shown(dtype: DType) -> str:
    return UPSTREAM_NAMES.get(dtype.name, dtype.name)


def _check_zero_points(operator: str, least: float, most: float, lowest: float, highest: float) -> None:
    if not lowest <= least <= most <= highest:
        raise RuntimeError(
            f"{operator}(): zero_point must be between quant_min {lowest:.0f} and quant_max {highest:.0f}, got "
            f"{least if least < lowest else most}"
        )


@overridable
def fake_quantize_per_tensor_affine(input: Any, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any) -> Any:
    """The nearest numbers to those of `input` that integers from `quant_min` to `quant_max` stand for.

    `scale` and `zero_point` are numbers or tensors of one element. Raises RuntimeError for a scale that is not positive
    and finite, for a zero point outside the limits, and for limits in the wrong order.
    """
    name = "fake_quantize_per_tensor_affine"
    lowest, highest = _check(name, input, quant_min, quant_max)
    scale, zero_point = (one.item() if isinstance(one, Tensor) else one for one in (scale, zero_point))  # type: ignore
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        type_error(name, "scale", scale, "float or Tensor")
    zero_point = check_int(name, "zero_point", zero_point)
    check_scale(name, scale)
    _check_zero_points(name, zero_point, zero_point, lowest, highest)
    return FakeQuantize.apply(input, reciprocal(scale), float(zero_point), as_float32(scale), lowest, highest)


@overridable
def fake_quantize_per_channel_affine(
    input: Any, scale: Any, zero_point: Any, axis: Any, quant_min: Any, quant_max: Any
) -> Any:
    """As fake_quantize_per_tensor_affine, with a scale (float32) and a zero point (int32) for each index along `axis`.
    Raises RuntimeError also for other dtypes and numbers of them, IndexError for an axis out of range."""
    name = "fake_quantize_per_channel_affine"
    lowest, highest = _check(name, input, quant_min, quant_max)
    for argument, one, dtype in (("scale", scale, float32), ("zero_point", zero_point, int32)):
        if not isinstance(one, Tensor):
            type_error(name, argument, one, "Tensor")
        if one.meta.dtype is not dtype or one.meta.ndim != 1:
            given = f"{one.meta.ndim}-D of {one.meta.dtype}"
            raise RuntimeError(f"{name}(): argument '{argument}' must be a 1-D tensor of {dtype}, got a {given}")
    axis = wrap_dim(name, check_int(name, "axis", axis), input.meta.ndim, "axis")
    expected = input.meta.sizes[axis]
    if scale.meta.numel != expected or zero_point.meta.numel != expected:
        raise RuntimeError(
            f"{name}(): dimensions of scale and zero_point must be those of the axis, {expected}, got "
            f"{scale.meta.numel} and {zero_point.meta.numel}"
        )
    sizes = tuple([expected if dim == axis else 1 for dim in range(input.meta.ndim)])
    scales, places = (array_of(one.contiguous()).reshape(sizes) for one in (scale, zero_point))
    if expected:
        for found in (scales.min(), scales.max()):
            check_scale(name, float(found))
        _check_zero_points(name, int(places.min()), int(places.max()), lowest, highest)
    compute = COMPUTE[input.meta.dtype]
    parameters = [as_tensor(one, compute) for one in (1 / scales, places, scales)]
    return FakeQuantize.apply(input, *parameters, lowest, highest)

