"""Factories: tensors made from sizes and numbers.

Plain calls for the CPU are served here; any other option, device, override or mode goes through the dispatcher to
the kernels of `allocation` and `factory_kernels`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType, dtype_of_number
from ..core.errors import check_int, check_ints, type_error
from ..core.layout import Layout
from ..dispatch.dispatcher import call
from ..dispatch.overrides import NOT_OVERRIDDEN, intercept
from ..dispatch.registry import REGISTRY
from ..dispatch.state import OVERRIDING, SPECIAL
from ..tensor.geometry import contiguous_geometry, only_ints
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor, new_like
from . import allocation
from .allocation import EMPTY_STRIDED, leave
from .arguments import check_out_dtype, dtype_argument, sizes_argument
from .fresh_fill import fill_checked, fill_ones, fill_zeros, number_of
from .tensor_data import tensor

AnyDevice = Device | str | None
Fill = Callable[[Tensor], object]
FULL = REGISTRY.find("full")
FULL_OUT = REGISTRY.find("full.out")
SCALAR_TENSOR = REGISTRY.find("scalar_tensor")


def plain(device: AnyDevice) -> bool:
    """Whether a factory call for this device needs no dispatcher."""
    return (device is None or device is cpu or device == "cpu") and not SPECIAL


def tensor_options(
    name: str, dtype: Any = None, layout: Any = None, device: AnyDevice = None, pin_memory: bool = False
) -> dict[str, Any]:
    """The options that were given, checked, as the schemas name them. Raises TypeError, RuntimeError."""
    options: dict[str, Any] = {}
    if dtype is not None:
        options["dtype"] = dtype_argument(name, dtype)
    if layout is not None:
        if not isinstance(layout, Layout):
            type_error(name, "layout", layout, "layout")
        options["layout"] = layout
    if device is not None:
        options["device"] = as_device(device)
    if pin_memory:
        options["pin_memory"] = True
    return options


def finished(result: Any, requires_grad: bool) -> Tensor:
    """The result, asking for gradients where that is wanted."""
    made: Tensor = result
    return set_requires_grad(made, True) if requires_grad else made


def out_of(name: str, out: Any, dtype: Any) -> Tensor:
    """out= of a factory. Raises TypeError when it is no tensor, RuntimeError when `dtype` is another."""
    if not isinstance(out, Tensor):
        type_error(name, "out", out, "Tensor")
    check_out_dtype(dtype_argument(name, dtype), out)
    return out


def _sized(name: str, operator_name: str, fill: Fill, summary: str) -> Callable[..., Tensor]:
    operator, out_operator = REGISTRY.find(operator_name), REGISTRY.find(f"{name}.out")

    def general(
        *sizes: Any,
        size: Any = None,
        out: Tensor | None = None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: AnyDevice = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **more: Any,
    ) -> Tensor:
        shape = sizes_argument(name, sizes, size)
        if more and (name != "empty" or set(more) != {"memory_format"}):
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(more))}'")
        options = tensor_options(name, dtype, layout, device, pin_memory) | more
        if out is not None:
            return finished(call(out_operator, shape, out=out_of(name, out, dtype), **more), requires_grad)
        return finished(call(operator, shape, **options), requires_grad)

    general.__doc__ = summary

    def factory(*sizes: Any, dtype: DType | None = None, device: AnyDevice = None, **options: Any) -> Tensor:
        if options or SPECIAL or not (device is None or device is cpu or device == "cpu"):
            if OVERRIDING:
                given = options | ({} if dtype is None else {"dtype": dtype})
                found = intercept(factory, sizes, given | ({} if device is None else {"device": device}))
                if found is not NOT_OVERRIDDEN:
                    return found  # type: ignore[no-any-return]
            return general(*sizes, dtype=dtype, device=device, **options)
        kind = dtype if dtype.__class__ is DType else dtype_argument(name, dtype) or DEFAULTS.dtype
        result = new_like(contiguous_geometry(sizes_argument(name, sizes), kind))
        fill(result)
        return result

    general.__name__ = general.__qualname__ = name
    return functools.update_wrapper(factory, general)


empty = _sized(
    "empty", "empty.memory_format", leave, "A fresh tensor of the given sizes, undefined. RuntimeError for bad sizes."
)
zeros = _sized("zeros", "zeros", fill_zeros, "A fresh tensor of zeros of the given sizes. RuntimeError for bad sizes.")
ones = _sized("ones", "ones", fill_ones, "A fresh tensor of ones of the given sizes. RuntimeError for bad sizes.")


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
    shape = size if size.__class__ is tuple and only_ints(size) else check_ints("full", "size", size)
    if out is not None:
        return finished(call(FULL_OUT, shape, value, out=out_of("full", out, dtype)), requires_grad)
    if layout is not None or pin_memory or not plain(device):
        options = tensor_options("full", dtype, layout, device, pin_memory)
        return finished(call(FULL, shape, value, **options), requires_grad)
    kind = dtype if dtype.__class__ is DType else dtype_argument("full", dtype) or dtype_of_number(value)
    result = new_like(contiguous_geometry(shape, kind))
    fill_checked("full", result, value)
    return finished(result, requires_grad)


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
    sizes, strides = (
        given if given.__class__ is tuple and only_ints(given) else check_ints("empty_strided", name, given)
        for name, given in (("size", size), ("stride", stride))
    )
    if dtype is None and layout is None and not pin_memory and plain(device):
        return finished(allocation.empty_strided(sizes, strides), requires_grad)
    options = tensor_options("empty_strided", dtype, layout, device, pin_memory)
    return finished(call(EMPTY_STRIDED, sizes, strides, **options), requires_grad)


def scalar_tensor(
    s: Any,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: AnyDevice = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A 0-dim tensor of the default dtype unless given. RuntimeError when the number does not fit."""
    value = number_of("scalar_tensor", "s", s)
    if layout is not None or pin_memory or not plain(device):
        options = tensor_options("scalar_tensor", dtype, layout, device, pin_memory)
        return finished(call(SCALAR_TENSOR, value, **options), requires_grad)
    result = new_like(contiguous_geometry((), dtype_argument("scalar_tensor", dtype) or DEFAULTS.dtype))
    fill_checked("scalar_tensor", result, value)
    return finished(result, requires_grad)


def legacy_tensor(*sizes: Any) -> Tensor:
    """``Tensor(2, 3)`` is empty(2, 3), ``Tensor([1, 2])`` a tensor of the default dtype."""
    if not sizes:
        return empty(0, device=cpu)
    if len(sizes) == 1 and not isinstance(sizes[0], int):
        return tensor(sizes[0], dtype=DEFAULTS.dtype, device=cpu)
    return empty(*[check_int("Tensor", "size", size) for size in sizes], device=cpu)
