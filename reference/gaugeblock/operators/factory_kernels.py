"""Factories as composites of empty, fill_ and copy_, on every device: zeros, ones, full, the _like and new_ forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType, dtype_of_number
from ..core.layout import Layout
from ..core.memory_format import (
    MemoryFormat,
    check_memory_format,
    contiguous_format,
    preserve_format,
)
from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY, Operator
from ..iteration.operand import Number
from ..tensor.geometry import Geometry, geometry_of
from ..tensor.metadata import resize_
from ..tensor.strides import channels_last_strides, default_strides, preserve_format_strides
from ..tensor.tensor import Tensor
from .allocation import COPY, EMPTY, EMPTY_STRIDED, allocated, leave, without_change
from .arguments import check_layout
from .arrays import filled
from .number_limits import check_fits
from .registration import kernel

COMPOSITE = "CompositeExplicitAutograd"
FILL = REGISTRY.find("fill_.Scalar")
ZERO = REGISTRY.find("zero_")
Options = dict[str, Any]


@kernel("zero_", COMPOSITE, derive=False)
def zero_(self: Tensor) -> Tensor:
    """fill_ of 0, for devices without a kernel of their own."""
    result: Tensor = call(FILL, self, 0)
    return result


@kernel("fill_.Scalar", COMPOSITE, derive=False)
def fill_scalar(self: Tensor, value: Number) -> Tensor:
    """copy_ of a number from the CPU, for devices without a kernel of their own. RuntimeError when it does not fit."""
    check_fits("fill_", value, self.geometry.dtype)
    result: Tensor = call(COPY, self, filled((), self.geometry.dtype, value))
    return result


def _filled(operator: Operator, fill: Callable[[Tensor], Any], *arguments: Any, **options: Any) -> Tensor:
    result = call(operator, *arguments, **options)
    fill(result)
    return without_change(result)


def _register_sized(name: str, fill: Callable[[Tensor], Any]) -> None:
    @kernel(name, COMPOSITE, derive=False)
    def fresh(size: Sequence[int], **options: Any) -> Tensor:
        return _filled(EMPTY, fill, size, **options)

    @kernel(f"{name}.out", COMPOSITE, derive=False)
    def into(size: Sequence[int], *, out: Tensor) -> Tensor:
        fill(resized(out, size))
        return out

    @kernel(f"{name}_like", COMPOSITE, derive=False)
    def like(self: Tensor, **options: Any) -> Tensor:
        return _filled(EMPTY_LIKE, fill, self, **options)

    @kernel(f"new_{name}", COMPOSITE, derive=False)
    def new(self: Tensor, size: Sequence[int], **options: Any) -> Tensor:
        return _filled(EMPTY, fill, size, **_like_self(self, options))


def resized(out: Tensor, size: Sequence[int]) -> Tensor:
    """`out` with the sizes that a factory gives."""
    return out if out.geometry.sizes == tuple(size) else resize_(out, tuple(size))


def _like_self(self: Tensor, options: Options) -> Options:
    """The options with dtype and device of `self` where nothing is said."""
    own = {"dtype": self.geometry.dtype, "device": self.geometry.device}
    return own | {name: value for name, value in options.items() if value is not None}


@kernel("empty.out", COMPOSITE, derive=False)
def empty_out(size: Sequence[int], *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor:
    """`out` with other sizes. RuntimeError when it may not be resized."""
    return resized(out, size) if memory_format is None else resize_(out, tuple(size), memory_format)


EMPTY_LIKE = REGISTRY.find("empty_like")


def like_geometry(
    name: str, like: Geometry, dtype: DType, device: Device, memory_format: MemoryFormat | None
) -> Geometry:
    """The sizes of `like` in its own stride order or in a memory format. RuntimeError when the rank does not fit."""
    if memory_format is None or memory_format is preserve_format:
        strides = preserve_format_strides(like.sizes, like.strides)
    elif memory_format is contiguous_format:
        strides = default_strides(like.sizes)
    elif isinstance(memory_format, MemoryFormat) and memory_format.rank == like.ndim:
        strides = channels_last_strides(like.sizes, memory_format)
    else:
        check_memory_format(name, memory_format)
        raise RuntimeError(f"{name}(): required rank {memory_format.rank} tensor to use {memory_format.name} format")
    return geometry_of(like.sizes, strides, dtype, device)


@kernel("empty_like", COMPOSITE, derive=False)
def empty_like(
    self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | str | None = None,
    pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """A fresh tensor with the sizes of `self`, and its dtype, device and stride order where nothing else is said."""
    check_layout("empty_like", layout)
    geometry = self.geometry
    place = geometry.device if device is None else as_device(device)
    result = allocated(like_geometry("empty_like", geometry, dtype or geometry.dtype, place, memory_format))
    if place is cpu:
        leave(result)
    return result


@kernel("new_empty", COMPOSITE, derive=False)
def new_empty(self: Tensor, size: Sequence[int], **options: Any) -> Tensor:
    """empty with the dtype and device of `self` where nothing else is said."""
    result: Tensor = call(EMPTY, size, **_like_self(self, options))
    return result


@kernel("new_empty_strided", COMPOSITE, derive=False)
def new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """empty_strided with the dtype and device of `self` where nothing else is said."""
    result: Tensor = call(EMPTY_STRIDED, size, stride, **_like_self(self, options))
    return result


def stored_value(operator: str, value: Number, dtype: DType) -> Number:
    """`value` as fill_ takes it for `dtype`: real unless that is complex. RuntimeError when it does not fit."""
    check_fits(operator, value, dtype)
    return value.real if isinstance(value, complex) and not dtype.is_complex else value


def _fill(operator: str, target: Tensor, value: Number) -> Tensor:
    call(FILL, target, stored_value(operator, value, target.geometry.dtype))
    return without_change(target)


@kernel("full", COMPOSITE, derive=False)
def full(size: Sequence[int], fill_value: Number, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """A fresh tensor of one value, of the value's dtype unless given. RuntimeError when the value does not fit."""
    return _fill("full", call(EMPTY, size, dtype=dtype or dtype_of_number(fill_value), **options), fill_value)


@kernel("full.out", COMPOSITE, derive=False)
def full_out(size: Sequence[int], fill_value: Number, *, out: Tensor) -> Tensor:
    """`out` of the given sizes and one value. RuntimeError when the value does not fit."""
    value = stored_value("full", fill_value, out.geometry.dtype)
    result: Tensor = call(FILL, resized(out, size), value)
    return result


@kernel("full_like", COMPOSITE, derive=False)
def full_like(self: Tensor, fill_value: Number, **options: Any) -> Tensor:
    """One value with the sizes, dtype and stride order of `self`. RuntimeError when the value does not fit."""
    return _fill("full_like", call(EMPTY_LIKE, self, **options), fill_value)


@kernel("new_full", COMPOSITE, derive=False)
def new_full(self: Tensor, size: Sequence[int], fill_value: Number, **options: Any) -> Tensor:
    """full with the dtype and device of `self` where nothing else is said."""
    return _fill("new_full", call(EMPTY, size, **_like_self(self, options)), fill_value)


@kernel("scalar_tensor", COMPOSITE, derive=False)
def scalar_tensor(s: Number, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """A 0-dim tensor of the default dtype unless given. RuntimeError when the number does not fit."""
    return _fill("scalar_tensor", call(EMPTY, (), dtype=dtype or DEFAULTS.dtype, **options), s)


_register_sized("zeros", lambda target: call(ZERO, target))
_register_sized("ones", lambda target: call(FILL, target, 1))
