"""Factories: tensors made from sizes and numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.determinism import MODE as DETERMINISM
from ..core.device import Device, as_device, cpu
from ..core.dtype import ALL_DTYPES, DEFAULTS, DType, bfloat16, dtype_of_number
from ..core.errors import check_int, check_ints, check_sizes
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat, check_memory_format, contiguous_format, preserve_format
from ..memory.elements import pack_element, read_bytes, store_bytes
from ..memory.pages import memset
from ..tensor.array_view import array_of
from ..tensor.geometry import contiguous_geometry, geometry_of, remember
from ..tensor.getters import set_requires_grad
from ..tensor.scalars import item
from ..tensor.strides import channels_last_strides, default_strides, preserve_format_strides
from ..tensor.tensor import Tensor, empty_strided_tensor, empty_tensor, new_like
from ..tensor.undefined import fill_undefined
from .arguments import check_layout, dtype_argument, into, sizes_argument
from .number_limits import check_fits
from .tensor_data import tensor

Number = bool | int | float | complex
AnyDevice = Device | str | None
Fill = Callable[[Tensor], object]
FEW_BYTES = 2048
FITS_ALL_FLOATS = 65504.0
_PACKED = frozenset(dtype for dtype in ALL_DTYPES if not dtype.is_complex and dtype is not bfloat16)


def fill_zeros(target: Tensor) -> None:
    """Set every byte of a fresh dense tensor to 0."""
    geometry = target.geometry
    nbytes = geometry.nbytes
    if nbytes and geometry.device is cpu:
        if nbytes <= FEW_BYTES:
            store_bytes(target.pointer, bytes(nbytes))
        else:
            memset(target.pointer, 0, nbytes)


def fill_number(target: Tensor, value: Number) -> None:
    """Set every element of a fresh dense tensor to `value`, which its dtype holds."""
    geometry = target.geometry
    if not geometry.numel or geometry.device is not cpu:
        return
    dtype = geometry.dtype
    if geometry.nbytes <= FEW_BYTES and dtype in _PACKED:
        store_bytes(target.pointer, pack_element(dtype, value) * geometry.numel)
    else:
        array_of(target).fill(value)


def _fill_ones(target: Tensor) -> None:
    plans = target.geometry.plans
    pattern = plans.get("ones")
    if pattern is not None:
        store_bytes(target.pointer, pattern)
        return
    fill_number(target, 1)
    if 0 < target.geometry.nbytes <= FEW_BYTES and target.geometry.device is cpu:
        remember(plans, "ones", read_bytes(target.pointer, target.geometry.nbytes))


def _leave(target: Tensor) -> None:
    if DETERMINISM.enabled:
        fill_undefined(target)


def _sized(name: str, fill: Fill, summary: str) -> Callable[..., Tensor]:
    def factory(
        *sizes: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: AnyDevice = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        if layout is not None:
            check_layout(name, layout)
        kind = dtype if dtype.__class__ is DType else dtype_argument(name, dtype) or DEFAULTS.dtype
        shape = sizes_argument(name, sizes, size)
        result = empty_tensor(shape, kind, cpu if device is None else as_device(device))
        if memory_format is not None:
            result = _formatted(name, result, memory_format)
        fill(result)
        if out is not None:
            result = into(name, out, result, dtype)
        return set_requires_grad(result, True) if requires_grad else result

    factory.__doc__ = summary

    def plain_factory(*sizes: Any, dtype: DType | None = None, **options: Any) -> Tensor:
        if options:
            return factory(*sizes, dtype=dtype, **options)
        kind = dtype if dtype.__class__ is DType else dtype_argument(name, dtype) or DEFAULTS.dtype
        result = new_like(contiguous_geometry(sizes_argument(name, sizes), kind))
        fill(result)
        return result

    factory.__name__ = factory.__qualname__ = name
    return functools.update_wrapper(plain_factory, factory)


def _formatted(name: str, result: Tensor, memory_format: MemoryFormat) -> Tensor:
    if memory_format is contiguous_format:
        return result
    check_memory_format(name, memory_format)
    geometry = result.geometry
    if memory_format is preserve_format or memory_format.rank != geometry.ndim:
        raise RuntimeError(f"{name}(): required rank {memory_format.rank} tensor to use {memory_format.name} format")
    strides = channels_last_strides(geometry.sizes, memory_format)
    return new_like(geometry_of(geometry.sizes, strides, geometry.dtype, geometry.device))


empty = _sized("empty", _leave, "A fresh tensor of the given sizes, contents undefined. RuntimeError for bad sizes.")
zeros = _sized("zeros", fill_zeros, "A fresh tensor of zeros of the given sizes. RuntimeError for bad sizes.")
ones = _sized("ones", _fill_ones, "A fresh tensor of ones of the given sizes. RuntimeError for bad sizes.")


def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A fresh tensor of one value, of the value's dtype unless given. RuntimeError when the value does not fit."""
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    value = number_of("full", "fill_value", fill_value)
    if layout is not None:
        check_layout("full", layout)
    kind = dtype if dtype.__class__ is DType else dtype_argument("full", dtype) or dtype_of_number(value)
    result = empty_tensor(check_ints("full", "size", size), kind, cpu if device is None else as_device(device))
    _fill_checked("full", result, value)
    if out is not None:
        result = into("full", out, result, dtype)
    return set_requires_grad(result, True) if requires_grad else result


def number_of(operator: str, argument: str, value: Any) -> Number:
    """`value`, a number or a one-element tensor, as a Python number. Raises TypeError."""
    if isinstance(value, (float, int, complex)):
        return value
    if isinstance(value, Tensor):
        result: Number = item(value)
        return result
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return number_of(operator, argument, value.item())
    raise TypeError(f"{operator}(): argument '{argument}' must be Number, not {type(value).__name__}")


def _fill_checked(operator: str, target: Tensor, value: Number) -> None:
    dtype = target.geometry.dtype
    if value.__class__ is float and dtype.kind == 2 and -FITS_ALL_FLOATS <= value <= FITS_ALL_FLOATS:
        fill_number(target, value)
        return
    check_fits(operator, value, dtype)
    if isinstance(value, complex) and not dtype.is_complex:
        value = value.real
    if dtype.kind == 1:
        value = int(value.real)
        if value < 0 and not dtype.is_signed:
            value %= 1 << (8 * dtype.itemsize)
    fill_number(target, bool(value) if dtype.kind == 0 else value)


def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A fresh tensor with the given strides on a storage that just holds it, contents undefined. RuntimeError."""
    sizes, strides = check_ints("empty_strided", "size", size), check_ints("empty_strided", "stride", stride)
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"empty_strided(): dimensionality of sizes ({len(sizes)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    check_sizes("empty_strided", sizes)
    if any(step < 0 for step in strides):
        raise RuntimeError(f"empty_strided(): argument 'stride' must not be negative, got {list(strides)}")
    check_layout("empty_strided", layout)
    kind = dtype_argument("empty_strided", dtype) or DEFAULTS.dtype
    result = empty_strided_tensor(sizes, strides, kind, as_device(device))
    _leave(result)
    return set_requires_grad(result, True) if requires_grad else result


def _like(name: str, fill: Fill, summary: str) -> Callable[..., Tensor]:
    def factory(
        input: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: AnyDevice = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: MemoryFormat | None = preserve_format,
    ) -> Tensor:
        result = empty_as(name, input, dtype, layout, device, memory_format)
        fill(result)
        return set_requires_grad(result, True) if requires_grad else result

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = summary
    return factory


def empty_as(
    name: str,
    input: Tensor,
    dtype: DType | None,
    layout: Layout | None,
    device: AnyDevice,
    memory_format: MemoryFormat | None,
) -> Tensor:
    """A fresh tensor with the sizes of `input`, and its dtype, device and stride order where nothing else is said."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if layout is not None:
        check_layout(name, layout)
    geometry = input.geometry
    kind = geometry.dtype if dtype is None else dtype_argument(name, dtype) or geometry.dtype
    place = geometry.device if device is None else as_device(device)
    if memory_format is None or memory_format is preserve_format:
        if geometry.dense and kind is geometry.dtype and place is geometry.device and not geometry.lazy:
            return new_like(geometry)
        strides = preserve_format_strides(geometry.sizes, geometry.strides)
    elif memory_format is contiguous_format:
        strides = default_strides(geometry.sizes)
    elif isinstance(memory_format, MemoryFormat) and memory_format.rank == geometry.ndim:
        strides = channels_last_strides(geometry.sizes, memory_format)
    else:
        check_memory_format(name, memory_format)
        raise RuntimeError(f"{name}(): required rank {memory_format.rank} tensor to use {memory_format.name} format")
    return new_like(geometry_of(geometry.sizes, strides, kind, place))


empty_like = _like("empty_like", _leave, "A fresh tensor of the sizes and stride order of `input`, undefined.")
zeros_like = _like("zeros_like", fill_zeros, "Zeros with the sizes and stride order of `input`.")
ones_like = _like("ones_like", _fill_ones, "Ones with the sizes and stride order of `input`.")


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: MemoryFormat | None = preserve_format,
) -> Tensor:
    """One value with the sizes, dtype and stride order of `input`. RuntimeError when the value does not fit."""
    result = empty_as("full_like", input, dtype, layout, device, memory_format)
    _fill_checked("full_like", result, number_of("full_like", "fill_value", fill_value))
    return set_requires_grad(result, True) if requires_grad else result


def scalar_tensor(s: Any, *, dtype: DType | None = None, device: AnyDevice = None, **options: Any) -> Tensor:
    """A 0-dim tensor of the default dtype unless given. RuntimeError when the number does not fit."""
    return full((), s, dtype=dtype_argument("scalar_tensor", dtype) or DEFAULTS.dtype, device=device, **options)


def _new(name: str, make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, dtype: DType | None = None, device: AnyDevice = None, **more: Any) -> Tensor:
        geometry = self.geometry
        place = geometry.device if device is None else device
        return make(*args, dtype=geometry.dtype if dtype is None else dtype, device=place, **more)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"{make.__name__} with the dtype and device of `self` unless others are given."
    return method


def _new_sized(name: str, make: Callable[..., Tensor], fill: Fill) -> Callable[..., Tensor]:
    general = _new(name, make)

    def method(self: Tensor, *sizes: Any, **options: Any) -> Tensor:
        if options or not sizes:
            return general(self, *sizes, **options)
        geometry = self.geometry
        result = new_like(contiguous_geometry(sizes_argument(name, sizes), geometry.dtype, geometry.device))
        fill(result)
        return result

    method.__name__ = method.__qualname__ = name
    method.__doc__ = general.__doc__
    return method


def new_tensor(self: Tensor, data: Any, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """tensor() with the dtype and device of `self` unless others are given."""
    options.setdefault("device", self.geometry.device)
    return tensor(data, dtype=dtype or self.geometry.dtype, **options)


NEW_METHODS: dict[str, Callable[..., Tensor]] = {
    "new_empty": _new_sized("new_empty", empty, _leave),
    "new_zeros": _new_sized("new_zeros", zeros, fill_zeros),
    "new_ones": _new_sized("new_ones", ones, _fill_ones),
    "new_full": _new("new_full", full),
    "new_empty_strided": _new("new_empty_strided", empty_strided),
    "new_tensor": new_tensor,
}
"""Factories that are Tensor methods."""


def legacy_tensor(*sizes: Any) -> Tensor:
    """``Tensor(2, 3)`` is empty(2, 3), ``Tensor([1, 2])`` a tensor of the default dtype."""
    if not sizes:
        return empty(0)
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        return tensor(sizes[0], dtype=DEFAULTS.dtype)
    return empty(*[check_int("Tensor", "size", size) for size in sizes])
