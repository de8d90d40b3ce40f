"""The quantizer, integers and copies of quantized tensors; `operators` has what is computed on them.

What has no kernel here raises NotImplementedError on quantized tensors, arithmetic first of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import lazy_numpy as np
from ..core.device import Device, as_device, cpu, meta_device
from ..core.dtype import DType, float32, float64, int64
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat, preserve_format
from ..core.promotion import UPSTREAM_NAMES
from ..core.quantized_dtype import QScheme
from ..iteration.dimensions import broadcast_shapes
from ..iteration.overlap import check_no_internal_overlap, check_no_partial_overlap
from ..operators.invoke import apply
from ..operators.operand_checks import check_keeps_sizes
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import format_strides, meta_of
from ..tensor.versions import bump_version
from . import conversion
from .conversion import (
    as_tensor,
    copy_integers,
    dequantize,
    int_repr,
    like,
    per_channel_quantizer,
    per_tensor_quantizer,
)
from .quantizer import PerTensor, QuantizedStorage, data_of, own_quantizer, quantizer_of

DENSE: dict[str, Callable[..., Any]] = {
    "quantize_per_tensor(Tensor self, float scale, int zero_point, ScalarType dtype) -> Tensor":
        conversion.quantize_per_tensor,
    "quantize_per_channel(Tensor self, Tensor scales, Tensor zero_points, int axis, ScalarType dtype) -> Tensor":
        conversion.quantize_per_channel,
    "_make_per_tensor_quantized_tensor(Tensor self, float scale, int zero_point) -> Tensor":
        conversion.make_per_tensor,
    "_make_per_channel_quantized_tensor(Tensor self, Tensor scale, Tensor zero_point, int axis) -> Tensor":
        conversion.make_per_channel,
}  # fmt: skip
"""Schema -> kernel for strided tensors on the CPU."""


def q_scale(self: Tensor) -> float:
    """The scale of a tensor with one. Raises RuntimeError for another."""
    return per_tensor_quantizer("q_scale", self).scale


def q_zero_point(self: Tensor) -> int:
    """The zero point of a tensor with one. Raises RuntimeError for another."""
    return per_tensor_quantizer("q_zero_point", self).zero_point


def q_per_channel_scales(self: Tensor) -> Tensor:
    """The scales along the axis, as float64. Raises RuntimeError for a tensor with one scale."""
    return as_tensor(per_channel_quantizer("q_per_channel_scales", self).scales, float64)


def q_per_channel_zero_points(self: Tensor) -> Tensor:
    """The zero points along the axis, as int64. Raises RuntimeError for a tensor with one zero point."""
    return as_tensor(per_channel_quantizer("q_per_channel_zero_points", self).zero_points, int64)


def q_per_channel_axis(self: Tensor) -> int:
    """The dim that has a scale for each index. Raises RuntimeError for a tensor with one scale."""
    return per_channel_quantizer("q_per_channel_axis", self).axis


def qscheme(self: Tensor) -> QScheme:
    """per_tensor_affine or per_channel_affine."""
    return quantizer_of(self).scheme


QUANTIZED: dict[str, Callable[..., Any]] = {
    "dequantize.self(Tensor self) -> Tensor": dequantize,
    "int_repr(Tensor self) -> Tensor": int_repr,
    "q_scale(Tensor self) -> float": q_scale,
    "q_zero_point(Tensor self) -> int": q_zero_point,
    "q_per_channel_scales(Tensor self) -> Tensor": q_per_channel_scales,
    "q_per_channel_zero_points(Tensor self) -> Tensor": q_per_channel_zero_points,
    "q_per_channel_axis(Tensor self) -> int": q_per_channel_axis,
    "qscheme(Tensor self) -> QScheme": qscheme,
}
"""Schema -> kernel for quantized tensors."""


def clone(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """A fresh tensor with the same integers and quantizer."""
    made = empty_like(self, memory_format=memory_format)
    copy_integers(made, data_of(self))
    return made


def empty_like(
    self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Any = None,
    pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """A fresh tensor with the quantizer of `self`, contents undefined. Raises RuntimeError for other options."""
    meta = self.meta
    place = meta.device if device is None else as_device(device)
    if dtype not in (None, meta.dtype) or pin_memory or place is not meta.device:
        raise RuntimeError("empty_like(): of a quantized tensor only the memory format can be chosen")
    strides = format_strides("empty_like", meta.sizes, meta.strides, memory_format)
    return like(self, meta_of(meta.sizes, strides, meta.dtype, place))


def moved(
    self: Tensor, device: Device | str, dtype: DType | None = None, non_blocking: bool = False, copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """Return the tensor on a device, itself if it is there and no copy is asked for. Raises RuntimeError for another
    dtype, NotImplementedError for the meta device, which has no quantized tensors."""
    meta, place = self.meta, as_device(device)
    if dtype not in (None, meta.dtype):
        raise RuntimeError(f"to(): a tensor of {meta.dtype} does not become {dtype} by to(); use dequantize() first")
    strides = format_strides("to", meta.sizes, meta.strides, memory_format)
    laid = memory_format in (None, preserve_format) or strides == meta.strides
    if place is meta.device and laid and not copy:
        return self
    if place is meta_device:
        raise NotImplementedError("to(): quantized tensors are on the CPU and on CUDA devices, not on meta")
    made = like(self, meta_of(meta.sizes, strides, meta.dtype, place))
    apply("copy_", data_of(made), data_of(self))
    return made


def as_asked(
    self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | str | None = None,
    pin_memory: bool | None = None, **options: Any,
) -> Tensor:  # fmt: skip
    """Return the tensor on the device that is given, as `moved`."""
    return moved(self, self.meta.device if device is None else device, dtype, **options)


def write_back(self: Tensor, copy: Tensor) -> None:
    """Give a tensor the elements of its copy on another device, and a quantized one its quantizer."""
    if self.meta.dtype.quantized:
        assert isinstance(self.storage_impl, QuantizedStorage)
        if self.base is None:
            self.storage_impl.quantizer = own_quantizer(copy)
        apply("copy_", data_of(self), data_of(copy))
    else:
        apply("copy_", self, copy)


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Quantize a float32 `src` into `self`, or write the integers of a quantized one, whose quantizer it then has.

    Raises RuntimeError where only one dtype is quantized in another way, for other schemes, and for another quantizer
    where there are views of the storage, which keep theirs.
    """
    if not isinstance(src, Tensor):
        return fill_(self, src)
    meta, source = self.meta, src.meta
    if not meta.dtype.quantized:
        raise RuntimeError(
            "copy_(): copying from a quantized Tensor to one that is not is not allowed; use dequantize() first"
        )
    check_no_internal_overlap(meta.sizes, meta.strides)
    if source.sizes != meta.sizes:
        check_keeps_sizes("copy_", meta.sizes, broadcast_shapes((meta.sizes, source.sizes)))
    if not source.dtype.quantized:
        _check_floats(source.dtype)
        bump_version(self)
        _write(self, src)
        return self
    if source.dtype is not meta.dtype:
        raise RuntimeError(f"copy_(): expected a source of {meta.dtype}, got {source.dtype}")
    if self.storage_impl is src.storage_impl and self is not src:
        check_no_partial_overlap(self, src)
    _take_quantizer(self, src)
    bump_version(self)
    copy_integers(self, data_of(src))
    return self


def _check_floats(dtype: DType) -> None:
    if dtype is not float32:
        raise RuntimeError(f"copy_(): a quantized tensor takes Float values, got {UPSTREAM_NAMES[dtype.name]}")


def _write(self: Tensor, values: Tensor) -> None:
    quantizer = quantizer_of(self)
    if isinstance(quantizer, PerTensor):
        conversion.fill_per_tensor(self, values, quantizer.scale, quantizer.zero_point)
    else:
        conversion.fill_by_channel(self, values, quantizer)


def _take_quantizer(self: Tensor, src: Tensor) -> None:
    """Give `self` the quantizer of `src`, if it is another."""
    if conversion.same_quantizer(self, src):
        return
    mine, its = own_quantizer(self), quantizer_of(src)
    if mine.scheme is not its.scheme:
        raise RuntimeError(f"copy_(): quantized copy only works with the same qscheme, got {its.scheme}")
    if self.base is not None or getattr(self, "viewed", False) or not isinstance(its, PerTensor):
        raise RuntimeError("copy_(): a view keeps its quantizer, and the source has another scale or zero point")
    assert isinstance(self.storage_impl, QuantizedStorage)
    self.storage_impl.quantizer = its


def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number, quantized, to all elements."""
    number = element(value) if isinstance(value, Tensor) and value.meta.dtype.quantized else float(value)
    check_no_internal_overlap(self.meta.sizes, self.meta.strides)
    bump_version(self)
    _write(self, as_tensor(np.full(() if self.meta.ndim == 0 else (1,) * self.meta.ndim, number), float32))
    return self


def equal(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same sizes, dtype, quantizer and integers."""
    mine, its = self.meta, other.meta
    if mine.sizes != its.sizes or mine.dtype is not its.dtype or not conversion.same_quantizer(self, other):
        return False
    return bool(int_repr(self).equal(int_repr(other)))  # type: ignore[attr-defined]


def element(self: Tensor) -> float:
    """The number that the only element stands for."""
    return float(dequantize(self).item())  # type: ignore[attr-defined]


def is_nonzero(self: Tensor) -> bool:
    """Return whether the only element stands for another number than 0."""
    return element(self) != 0


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same sizes."""
    return self.meta.sizes == other.meta.sizes


KERNELS: dict[str, Callable[..., Any]] = {
    "clone": clone, "copy_": copy_, "equal": equal, "fill_.Scalar": fill_,
    "_local_scalar_dense": element, "is_nonzero": is_nonzero, "is_same_size": is_same_size,
}  # fmt: skip
"""Operator of the spec -> kernel for quantized tensors."""


ON_DEVICES: dict[str, Callable[..., Any]] = {
    "q_scale": q_scale, "q_zero_point": q_zero_point, "q_per_channel_axis": q_per_channel_axis, "qscheme": qscheme,
    "empty_like": empty_like, "to.device": moved, "to.dtype_layout": as_asked,
}  # fmt: skip
"""Operator -> kernel that works wherever the integers lie."""


def shown(self: Tensor, prefix: str) -> tuple[Tensor, list[str]]:
    """The numbers of a quantized tensor, and the notes that its text ends with."""
    quantizer = quantizer_of(self)
    notes = [f"size={tuple(self.meta.sizes)}", f"dtype={self.meta.dtype}", f"quantization_scheme={quantizer.scheme}"]
    if isinstance(quantizer, PerTensor):
        notes += [f"scale={quantizer.scale}", f"zero_point={quantizer.zero_point}"]
    else:
        scales, zero_points = as_tensor(quantizer.scales, float64), as_tensor(quantizer.zero_points, int64)
        notes += [f"scale={scales}", f"zero_point={zero_points}", f"axis={getattr(quantizer, 'axis', None)}"]
    if self.meta.device is not cpu:
        notes.insert(0, f"device='{self.meta.device}'")
    return dequantize(moved(self, cpu)), notes
