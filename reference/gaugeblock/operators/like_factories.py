"""Factories that take sizes, dtype or device from a tensor: the _like functions and the new_ methods."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.device import cpu
from ..core.dtype import DType
from ..core.errors import check_ints, type_error
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat, preserve_format
from ..dispatch.dispatcher import call
from ..dispatch.overrides import NOT_OVERRIDDEN, PLAIN, taken
from ..dispatch.registry import REGISTRY
from ..dispatch.state import OVERRIDING, SPECIAL
from ..tensor.geometry import contiguous_geometry
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor, new_like
from .allocation import leave
from .arguments import sizes_argument
from .factories import AnyDevice, Fill, finished, plain, tensor_options
from .fresh_fill import fill_checked, fill_ones, fill_zeros, number_of
from .tensor_data import tensor

FULL_LIKE = REGISTRY.find("full_like")
NEW_FULL = REGISTRY.find("new_full")
NEW_EMPTY_STRIDED = REGISTRY.find("new_empty_strided")


def _like(name: str, fill: Fill, summary: str) -> Callable[..., Tensor]:
    operator = REGISTRY.find(name)

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
        if dtype is None and device is None and memory_format is preserve_format and layout is None:
            result = copy_of_kind(input)
            if result is not None:
                fill(result)
                return set_requires_grad(result, True) if requires_grad else result
        if input.__class__ is not Tensor or OVERRIDING:
            found = _asked(factory, (input,), dtype, layout, device, requires_grad, pin_memory, memory_format)
            if found is not NOT_OVERRIDDEN:
                return found  # type: ignore[no-any-return]
        _check_input(name, input)
        options = like_options(name, dtype, layout, device, pin_memory, memory_format)
        return finished(call(operator, input, **options), requires_grad)

    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = summary
    return factory


def _asked(public: Any, args: tuple[Any, ...], *options: Any) -> Any:
    """What overrides make of a call with these options, in the order of the signatures."""
    names = ("dtype", "layout", "device", "requires_grad", "pin_memory", "memory_format")
    given = dict(zip(names, options, strict=True))
    if given["memory_format"] is preserve_format:
        del given["memory_format"]
    return taken(public, args, given)


def copy_of_kind(input: Any) -> Tensor | None:
    """A fresh tensor of the geometry of a dense tensor on the CPU; None when the dispatcher has to be asked."""
    if input.__class__ is not Tensor or SPECIAL:
        return None
    geometry = input.geometry
    plain = geometry.dense and geometry.device is cpu and not geometry.lazy and not geometry.watched
    return new_like(geometry) if plain else None


def _check_input(name: str, input: Any) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")


def like_options(
    name: str, dtype: Any, layout: Any, device: AnyDevice, pin_memory: bool, memory_format: Any
) -> dict[str, Any]:
    """tensor_options and the memory format."""
    options = tensor_options(name, dtype, layout, device, pin_memory)
    if memory_format is not None and memory_format is not preserve_format:
        if not isinstance(memory_format, MemoryFormat):
            type_error(name, "memory_format", memory_format, "memory_format")
        options["memory_format"] = memory_format
    return options


empty_like = _like("empty_like", leave, "A fresh tensor of the sizes and stride order of `input`, undefined.")
zeros_like = _like("zeros_like", fill_zeros, "Zeros with the sizes and stride order of `input`.")
ones_like = _like("ones_like", fill_ones, "Ones with the sizes and stride order of `input`.")


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
    if input.__class__ is not Tensor or fill_value.__class__ not in PLAIN or OVERRIDING:
        given = (dtype, layout, device, requires_grad, pin_memory, memory_format)
        found = _asked(full_like, (input, fill_value), *given)
        if found is not NOT_OVERRIDDEN:
            return found  # type: ignore[no-any-return]
    _check_input("full_like", input)
    value = number_of("full_like", "fill_value", fill_value)
    if dtype is None and device is None and memory_format is preserve_format and layout is None:
        result = copy_of_kind(input)
        if result is not None:
            fill_checked("full_like", result, value)
            return finished(result, requires_grad)
    options = like_options("full_like", dtype, layout, device, pin_memory, memory_format)
    return finished(call(FULL_LIKE, input, value, **options), requires_grad)


def _new_sized(name: str, fill: Fill) -> Callable[..., Tensor]:
    operator = REGISTRY.find(name)

    def general(
        self: Tensor,
        *sizes: Any,
        size: Any = None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: AnyDevice = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Tensor:
        options = tensor_options(name, dtype, layout, device, pin_memory)
        return finished(call(operator, self, sizes_argument(name, sizes, size), **options), requires_grad)

    general.__doc__ = f"{name.removeprefix('new_')} with the dtype and device of `self` unless others are given."

    def method(self: Tensor, *sizes: Any, **options: Any) -> Tensor:
        geometry = self.geometry
        if options or SPECIAL or geometry.device is not cpu or self.__class__ is not Tensor:
            return general(self, *sizes, **options)
        result = new_like(contiguous_geometry(sizes_argument(name, sizes), geometry.dtype))
        fill(result)
        return result

    general.__name__ = general.__qualname__ = name
    return functools.update_wrapper(method, general)


def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """full with the dtype and device of `self` unless others are given."""
    value, shape = number_of("new_full", "fill_value", fill_value), sizes_argument("new_full", (size,))
    geometry = self.geometry
    if self.__class__ is Tensor and dtype is None and device is None and layout is None and plain(geometry.device):
        result = new_like(contiguous_geometry(shape, geometry.dtype))
        fill_checked("new_full", result, value)
        return finished(result, requires_grad)
    options = tensor_options("new_full", dtype, layout, device, pin_memory)
    return finished(call(NEW_FULL, self, shape, value, **options), requires_grad)


def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Any,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """empty_strided with the dtype and device of `self` unless others are given."""
    name = "new_empty_strided"
    sizes, strides = check_ints(name, "size", size), check_ints(name, "stride", stride)
    options = tensor_options(name, dtype, layout, device, pin_memory)
    return finished(call(NEW_EMPTY_STRIDED, self, sizes, strides, **options), requires_grad)


def new_tensor(self: Tensor, data: Any, *, dtype: DType | None = None, **options: Any) -> Tensor:
    """Return tensor() with the dtype and device of `self` unless others are given."""
    for name in options.keys() - {"device", "layout", "pin_memory", "requires_grad"}:
        raise TypeError(f"new_tensor() got an unexpected keyword argument {name!r}")
    options.setdefault("device", self.geometry.device)
    return tensor(data, dtype=dtype or self.geometry.dtype, **options)


NEW_METHODS: dict[str, Callable[..., Tensor]] = {
    "new_empty": _new_sized("new_empty", leave),
    "new_zeros": _new_sized("new_zeros", fill_zeros),
    "new_ones": _new_sized("new_ones", fill_ones),
    "new_full": new_full,
    "new_empty_strided": new_empty_strided,
    "new_tensor": new_tensor,
}
"""Factories that are Tensor methods."""
