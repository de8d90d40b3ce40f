"""Changing dtype, device or layout: to() with its overloads, methods named after dtypes and devices, host copies."""

from __future__ import annotations

import functools
from typing import Any

from ..core.device import PLACING, Device, as_device, cpu
from ..core.dtype import BY_NAME, DType
from ..core.errors import type_error
from ..core.memory_format import MemoryFormat, preserve_format
from ..dispatch.dispatcher import REGISTRY, call
from ..memory.host_allocator import host_allocator
from ..tensor.hooks import SPECIAL, hooks
from ..tensor.scalars import element_of
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import format_strides, meta_of
from .allocation import COPY, allocated, is_builtin, without_change
from .copy import planned_copy, warn_of_lost_imaginary_part
from .invoke import apply
from .plan import Planned, plannable
from .registration import kernel

METHOD_DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "int": "int32",
    "long": "int64", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "chalf": "complex32",
    "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip
"""Tensor method -> the dtype that it converts to."""


def converted(self: Tensor, *options: Any, **named: Any) -> Tensor:
    """`self` when dtype, device and format agree and no copy is asked for, else a fresh tensor.

    The options are dtype, device, non_blocking, copy and memory_format. What comes from a CUDA device to the CPU
    without blocking is in pinned memory.
    """
    found = _conversion(self, *options, **named)
    return found.result if isinstance(found, Planned) else found


def _conversion(
    self: Tensor, dtype: DType | None = None, device: Device | None = None, non_blocking: bool = False,
    copy: bool = False, memory_format: MemoryFormat | None = None,
) -> Tensor | Planned[Tensor]:  # fmt: skip
    meta = self.meta
    target_dtype = meta.dtype if dtype is None else dtype
    target_device = meta.device if device is None else device
    strides = format_strides("to", meta.sizes, meta.strides, memory_format)
    laid = memory_format is None or memory_format is preserve_format or strides == meta.strides
    if target_dtype is meta.dtype and target_device is meta.device and laid and not copy:
        return self
    if meta.dtype.quantized and (target_dtype is meta.dtype or target_device is not meta.device):
        return call(TO_DEVICE, self, target_device, dtype, non_blocking, copy, memory_format)  # type: ignore[no-any-return]
    target = meta_of(meta.sizes, strides, target_dtype, target_device)
    if meta.device.type == "meta" and target_device.type != "meta":
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    warn_of_lost_imaginary_part(meta, target)
    if not is_builtin(meta.device) or not is_builtin(target_device):
        if non_blocking and target_device is cpu and meta.device.type == "cuda":
            pinned = PLACING.load(".cuda.pinned_memory").pinned_empty(target)
            return without_change(call(COPY, pinned, self, True))
        return without_change(call(COPY, allocated(target), self, *((True,) if non_blocking else ())))
    return planned_copy(target, self)


@kernel("to.dtype")
@plannable
def to_dtype(self: Tensor, dtype: DType, *options: Any, **named: Any) -> Tensor | Planned[Tensor]:
    """Conversion to `dtype`; the options are non_blocking, copy and memory_format."""
    found = _conversion(self, dtype, None, *options, **named)
    return Planned(self, lambda self: self) if found is self else found


@kernel("to.device")
def to_device(self: Tensor, device: Device | str, dtype: DType | None = None, *options: Any, **named: Any) -> Tensor:
    """Conversion to `device` and `dtype`."""
    return converted(self, dtype, as_device(device), *options, **named)


@kernel("to.other")
def to_other(self: Tensor, other: Tensor, *options: Any, **named: Any) -> Tensor:
    """Conversion to the dtype and device of `other`."""
    return converted(self, other.meta.dtype, other.meta.device, *options, **named)


@kernel("to.dtype_layout")
def to_dtype_layout(self: Tensor, *, dtype: DType | None = None, device: Any = None, **options: Any) -> Tensor:
    """Conversion to what is given by keyword; layout and pin_memory say nothing here."""
    options = {name: value for name, value in options.items() if name not in ("layout", "pin_memory")}
    return converted(self, dtype, None if device is None else as_device(device), **options)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``to(dtype)``, ``to(device[, dtype])``, ``to(other)``, each with non_blocking, copy and memory_format=. Returns
    self when nothing changes and copy is false. Raises TypeError for any other arguments."""
    meta = self.meta
    if len(args) == 1 and not kwargs:
        first = args[0]
        if first.__class__ is DType:
            return self if first is meta.dtype else apply("to.dtype", self, first)
        if first.__class__ is Tensor and first.meta.device is meta.device:
            return self if first.meta.dtype is meta.dtype else apply("to.dtype", self, first.meta.dtype)
    try:
        keeps = any(isinstance(one, Tensor) for one in (*args, *kwargs.values()))
        dtype, device, *rest = (conversion_options.__wrapped__ if keeps else conversion_options)(*args, **kwargs)
    except TypeError:  # of what has no hash, or refused
        dtype, device, *rest = conversion_options.__wrapped__(*args, **kwargs)
    chosen = meta.device if device is None else device if device is cpu else as_device(device)
    if chosen is not meta.device:
        return to_dispatched(self, *args, **kwargs) if meta.has_autograd else converted(self, dtype, chosen, *rest)
    if rest == UNCHANGED:
        return with_dtype(self, dtype or meta.dtype)
    return apply("to.dtype", self, dtype or meta.dtype, *rest)


UNCHANGED = [False, False, None]
"""Options of to() that change nothing: non_blocking, copy and memory_format."""


@functools.lru_cache(maxsize=256, typed=True)
def conversion_options(
    *args: Any, **kwargs: Any
) -> tuple[DType | None, Device | str | None, bool, bool, MemoryFormat | None]:
    """Return the dtype, device, non_blocking, copy and memory_format that a call of to() asks for. Raises TypeError."""
    values = _wanted(args, kwargs)
    device = values.get("device")
    if device is not None and Device(device).type == "cpu":
        device = as_device(device)
    return (
        values.get("dtype"), device, values.get("non_blocking", False), values.get("copy", False),
        values.get("memory_format"),
    )  # fmt: skip


def with_dtype(self: Tensor, dtype: DType) -> Tensor:
    """`self` as `dtype`; self itself when it has that dtype."""
    return self if dtype is self.meta.dtype else apply("to.dtype", self, dtype)


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
    """Return what a call of to() asks for, by name. Raises TypeError."""
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
        elif name not in _KINDS:
            raise TypeError(f"to() got an unexpected keyword argument '{name}'")
        else:
            values[name] = value
    for name, value in values.items():
        kinds, allowed = _KINDS[name]
        if value is not None and not isinstance(value, kinds):
            type_error("to", name, value, allowed)
    return values


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "dtype": ((DType,), "dtype"), "device": ((Device, str), "device or str"), "non_blocking": ((bool,), "bool"),
    "copy": ((bool,), "bool"), "memory_format": ((MemoryFormat,), "memory_format"),
}  # fmt: skip


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Conversion to the dtype of `other`. Raises TypeError unless it is a tensor."""
    if not isinstance(other, Tensor):
        type_error("type_as", "other", other, "Tensor")
    return with_dtype(self, other.meta.dtype)


def conversion_method(name: str, dtype_name: str) -> Any:
    """The method called `name` that converts to one dtype, such as ``x.float()``."""
    dtype = BY_NAME[dtype_name]

    def convert(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Tensor:
        if SPECIAL:
            return hooks.dispatched[name](self, memory_format)  # type: ignore[no-any-return]
        if memory_format is preserve_format:
            return with_dtype(self, dtype)
        return apply("to.dtype", self, dtype, False, False, memory_format)

    convert.__doc__ = f"`self` as {dtype_name}; self itself when it has that dtype."
    return convert


def to_cpu(self: Tensor, memory_format: MemoryFormat = preserve_format) -> Tensor:
    """`self` in host memory; self itself when it is there."""
    if SPECIAL or self.meta.device is not cpu:
        return to_dispatched(self, cpu)
    if memory_format is preserve_format:
        return self
    return apply("to.dtype", self, self.meta.dtype, False, False, memory_format)


def to_cuda(
    self: Tensor, device: Device | str | int | None = None, non_blocking: bool = False,
    memory_format: MemoryFormat = preserve_format,
) -> Tensor:  # fmt: skip
    """`self` on a CUDA device, the current one unless `device` says which; self itself when it is there. Raises
    RuntimeError for a device of another type or one that is not there."""
    named = Device("cuda", device) if isinstance(device, int) else Device(device or "cuda")
    if named.type != "cuda":
        raise RuntimeError(f"cuda(): argument 'device' must be a cuda device, got {str(named)!r}")
    return to_dispatched(self, as_device(named), non_blocking=non_blocking, memory_format=memory_format)


def pin_memory(self: Tensor, device: Device | str | None = None) -> Tensor:
    """`self` if it is in pinned host memory, else a copy that is. RuntimeError unless it is on the CPU, or without a
    driver of CUDA devices."""
    made: Tensor = PLACING.load(".cuda.pinned_memory").pinned_copy(self)
    return made


def is_pinned(self: Tensor, device: Device | str | None = None) -> bool:
    """Return whether the tensor is in pinned host memory."""
    allocator = self.storage_impl.allocator
    if allocator is None or allocator is host_allocator:
        return False
    return bool(PLACING.load(".cuda.pinned_memory").is_pinned_storage(self.storage_impl))


def record_stream(self: Tensor, s: Any) -> None:
    """Let the memory, once it is free, wait for the work that stream `s` has by then. RuntimeError, TypeError."""
    PLACING.load(".cuda.pinned_memory").record_stream(self, s)


LOCAL_SCALAR = REGISTRY.define("_local_scalar_dense(Tensor self) -> Scalar")


def host(self: Tensor) -> Tensor:
    """The tensor, or its copy, in host memory. NotImplementedError for one without data."""
    return self if self.meta.device is cpu else converted(self, None, cpu)


def element_elsewhere(self: Tensor) -> Any:
    """The only element of a tensor that lies on another device. NotImplementedError for one without data."""
    if self.meta.device.type == "meta":
        raise NotImplementedError("Tensor.item() cannot be called on meta tensors, they have no data")
    return element_of(host(self))


REGISTRY.register("_local_scalar_dense", "CPU", element_of)
REGISTRY.register("_local_scalar_dense", "CompositeExplicitAutograd", element_elsewhere)


METHODS: dict[str, Any] = {
    "to": to, "type_as": type_as, "cpu": to_cpu, "cuda": to_cuda, "pin_memory": pin_memory, "is_pinned": is_pinned,
    "record_stream": record_stream,
}  # fmt: skip
TO_DTYPE, TO_OTHER = REGISTRY.find("to.dtype"), REGISTRY.find("to.other")
TO_DEVICE, TO_DTYPE_LAYOUT = REGISTRY.find("to.device"), REGISTRY.find("to.dtype_layout")
for _method, _dtype in METHOD_DTYPES.items():
    METHODS[_method] = conversion_method(_method, _dtype)
    METHODS[_method].__name__ = METHODS[_method].__qualname__ = _method

kernel("type_as")(type_as)
