"""Changing dtype, device or layout: to() with its overloads, and the methods named after dtypes."""

from __future__ import annotations

from typing import Any

from ..core.device import PLACING, Device, as_device, cpu
from ..core.dtype import BY_NAME, DType
from ..core.errors import type_error
from ..core.memory_format import MemoryFormat, preserve_format
from ..dispatch.dispatcher import call
from ..dispatch.registry import REGISTRY
from ..dispatch.state import SPECIAL
from ..tensor.hooks import hooks
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import meta_of, remember
from .allocation import COPY, allocated, is_builtin, without_change
from .copy import copy_values, format_strides, warn_of_lost_imaginary_part
from .registration import kernel

METHOD_DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32",
    "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "chalf": "complex32",
    "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
"""Tensor method -> the dtype that it converts to."""


def converted(
    self: Tensor,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
    non_blocking: bool = False,
) -> Tensor:
    """`self` when dtype, device and format agree and no copy is asked for, else a fresh tensor.

    What comes from a CUDA device to the CPU without blocking is in pinned memory.
    """
    meta = self.meta
    target_dtype = meta.dtype if dtype is None else dtype
    target_device = meta.device if device is None else device
    if target_dtype is meta.dtype and target_device is meta.device and not copy:
        if memory_format is None or memory_format is preserve_format:
            return self
        if format_strides(meta, memory_format) == meta.strides:
            return self
    target = meta_of(meta.sizes, format_strides(meta, memory_format), target_dtype, target_device)
    if meta.device.type == "meta" and target_device.type != "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    warn_of_lost_imaginary_part(meta, target)
    if not is_builtin(meta.device) or not is_builtin(target_device):
        if non_blocking and target_device is cpu and meta.device.type == "cuda":
            pinned = PLACING.load(".cuda.pinned_memory").pinned_empty(target)
            return without_change(call(COPY, pinned, self, True))
        return without_change(call(COPY, allocated(target), self, *((True,) if non_blocking else ())))
    result = new_like(target)
    copy_values(result, self)
    return result


@kernel("to.dtype")
def to_dtype(
    self: Tensor,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Conversion to `dtype`."""
    return converted(self, dtype, None, copy, memory_format, non_blocking)


@kernel("to.device")
def to_device(
    self: Tensor,
    device: Device | str,
    dtype: DType | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Conversion to `device` and `dtype`."""
    return converted(self, dtype, as_device(device), copy, memory_format, non_blocking)


@kernel("to.other")
def to_other(
    self: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Conversion to the dtype and device of `other`."""
    return converted(self, other.meta.dtype, other.meta.device, copy, memory_format, non_blocking)


@kernel("to.dtype_layout")
def to_dtype_layout(
    self: Tensor,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Device | str | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Conversion to what is given by keyword."""
    return converted(self, dtype, None if device is None else as_device(device), copy, memory_format, non_blocking)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``to(dtype)``, ``to(device[, dtype])``, ``to(other)``, each with non_blocking, copy and memory_format=.

    Returns self when nothing changes and copy is false. Raises TypeError for any other arguments.
    """
    if len(args) == 1 and not kwargs and args[0].__class__ is DType:
        return with_dtype(self, args[0])
    values = _wanted(args, kwargs)
    device = values.get("device")
    return converted(
        self,
        values.get("dtype"),
        None if device is None else as_device(device),
        values.get("copy", False),
        values.get("memory_format"),
        values.get("non_blocking", False),
    )


def with_dtype(self: Tensor, dtype: DType) -> Tensor:
    """`self` as `dtype`; self itself when it has that dtype. What a conversion takes is kept with the meta."""
    meta = self.meta
    if dtype is meta.dtype:
        return self
    key = ("to", dtype)
    ready = meta.plans.get(key)
    if ready is not None and not SPECIAL:
        target, builtin, tail = ready
        made = new_like(target)
        builtin(made.pointer, self.pointer, *tail)
        return made
    result = converted(self, dtype)
    launch = result.meta.plans.get(("copy", meta))
    if launch is not None and not (meta.dtype.is_complex and not dtype.is_complex):
        remember(meta.plans, key, (result.meta, *launch.call()))
    return result


def to_dispatched(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """to() as a call of to.dtype, to.device, to.other or to.dtype_layout."""
    values = {name: value for name, value in _wanted(args, kwargs).items() if value is not None and value is not False}
    rest = (values.get("non_blocking", False), values.get("copy", False), values.get("memory_format"))
    result: Tensor
    other = args[0] if args else kwargs.get("other")
    if isinstance(other, Tensor):
        result = call(TO_OTHER, self, other, *rest)
    elif "dtype" in values and "device" not in values:
        result = call(TO_DTYPE, self, values["dtype"], *rest)
    elif "dtype" in values:
        result = call(TO_DEVICE, self, as_device(values["device"]), values["dtype"], *rest)
    else:
        if "device" in values:
            values["device"] = as_device(values["device"])
        result = call(TO_DTYPE_LAYOUT, self, **values)
    return result


def _wanted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a call of to() asks for, by name. Raises TypeError."""
    names = ["non_blocking", "copy"]
    values: dict[str, Any] = {}
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        values = {"dtype": other.meta.dtype, "device": other.meta.device}
    elif rest and isinstance(rest[0], DType):
        values["dtype"] = rest.pop(0)
    else:
        names = ["device", "dtype", *names]
    if len(rest) > len(names):
        most = len(args) - len(rest) + len(names)
        raise TypeError(f"to() takes from 0 to {most} positional arguments but {len(args)} were given")
    values.update(zip(names, rest, strict=False))
    for name, value in kwargs.items():
        if name == "other" and isinstance(value, Tensor) and not args:
            values.update(dtype=value.meta.dtype, device=value.meta.device)
        elif name in values:
            raise TypeError(f"to() got multiple values for argument '{name}'")
        elif name not in ("dtype", "device", "non_blocking", "copy", "memory_format"):
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
        else:
            values[name] = value
    _check_kinds(values)
    return values


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "dtype": ((DType,), "dtype"),
    "device": ((Device, str), "device or str"),
    "non_blocking": ((bool,), "bool"),
    "copy": ((bool,), "bool"),
    "memory_format": ((MemoryFormat,), "memory_format"),
}


def _check_kinds(values: dict[str, Any]) -> None:
    for name, value in values.items():
        kinds, allowed = _KINDS[name]
        if value is not None and not isinstance(value, kinds):
            type_error("to", name, value, allowed)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Conversion to the dtype of `other`. Raises TypeError unless it is a tensor."""
    if not isinstance(other, Tensor):
        type_error("type_as", "other", other, "Tensor")
    return converted(self, other.meta.dtype)


def conversion_method(name: str, dtype_name: str) -> Any:
    """The method called `name` that converts to one dtype, such as ``x.float()``."""
    dtype = BY_NAME[dtype_name]

    def convert(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Tensor:
        if SPECIAL or self.meta.watched:
            return hooks.dispatched[name](self, memory_format)  # type: ignore[no-any-return]
        if memory_format is preserve_format:
            return with_dtype(self, dtype)
        return converted(self, dtype, None, False, memory_format)

    convert.__doc__ = f"`self` as {dtype_name}; self itself when it has that dtype."
    return convert


def to_cpu(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Tensor:
    """`self` in host memory; self itself when it is there."""
    if SPECIAL or self.meta.watched or self.meta.device is not cpu:
        return to_dispatched(self, cpu)
    return converted(self, None, cpu, False, memory_format)


METHODS: dict[str, Any] = {"to": to, "type_as": type_as, "cpu": to_cpu}
TO_DTYPE, TO_OTHER = REGISTRY.find("to.dtype"), REGISTRY.find("to.other")
TO_DEVICE, TO_DTYPE_LAYOUT = REGISTRY.find("to.device"), REGISTRY.find("to.dtype_layout")
for _method, _dtype in METHOD_DTYPES.items():
    METHODS[_method] = conversion_method(_method, _dtype)
    METHODS[_method].__name__ = METHODS[_method].__qualname__ = _method

kernel("type_as")(type_as)
