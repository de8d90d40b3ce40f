"""Fresh memory by device: empty and empty_strided, and their forms that take dtype, device or strides from a tensor.

`empty.memory_format` and `empty_strided` have a kernel for each backend; a device from outside registers its own, and
with copy_ gets every other factory from the composites of `factories`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.determinism import MODE as DETERMINISM
from ..core.device import PLACING, Device, as_device, cpu, meta_device
from ..core.dtype import DEFAULTS, DType
from ..core.errors import check_sizes
from ..core.layout import Layout
from ..core.memory_format import MemoryFormat, contiguous_format, preserve_format
from ..dispatch.dispatcher import REGISTRY, call
from ..tensor.hooks import SPECIAL
from ..tensor.metadata import resize_
from ..tensor.tensor import Tensor, empty_strided_tensor, empty_tensor, new_like
from ..tensor.tensor_meta import TensorMeta, format_strides, known_meta, meta_of, only_ints
from ..tensor.undefined import fill_undefined
from .arguments import check_layout
from .registration import kernel

COMPOSITE = "CompositeExplicitAutograd"
EMPTY = REGISTRY.find("empty.memory_format")
EMPTY_STRIDED = REGISTRY.find("empty_strided")
COPY = REGISTRY.find("copy_")


def leave(target: Tensor) -> None:
    """Leave fresh memory as it is, filled in deterministic mode."""
    if DETERMINISM.enabled:
        fill_undefined(target)


@kernel("empty.memory_format", derive=False)
def empty(
    size: Sequence[int], *, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """A fresh tensor of the given sizes, contents undefined. RuntimeError for bad sizes, layouts, formats."""
    check_layout("empty", layout)
    if pin_memory:
        return pinned(empty(size, dtype=dtype, device=device, memory_format=memory_format))
    result = empty_tensor(tuple(size), dtype or DEFAULTS.dtype, as_device(device))
    if memory_format is not None and memory_format is not contiguous_format:
        if memory_format is preserve_format:
            raise RuntimeError("empty(): argument 'memory_format' preserve_format is unsupported")
        meta = result.meta
        strides = format_strides("empty", meta.sizes, meta.strides, memory_format)
        result = new_like(meta_of(meta.sizes, strides, meta.dtype, meta.device))
    leave(result)
    return result


@kernel("empty_strided", derive=False)
def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: DType | None = None, layout: Layout | None = None,
    device: Device | str | None = None, pin_memory: bool | None = None,
) -> Tensor:  # fmt: skip
    """A fresh tensor with the given strides on a storage that just holds it, contents undefined. RuntimeError."""
    sizes, strides = tuple(size), tuple(stride)
    if dtype is None and layout is None and device is None:
        known = known_meta(sizes, strides, DEFAULTS.dtype)
        if known is not None and not DETERMINISM.enabled:
            return new_like(known)
    if len(sizes) != len(strides):
        raise RuntimeError(
            f"empty_strided(): dimensionality of sizes ({len(sizes)}) must match dimensionality of strides "
            f"({len(strides)})"
        )
    check_sizes("empty_strided", sizes)
    if any(step < 0 for step in strides):
        raise RuntimeError(f"empty_strided(): argument 'stride' must not be negative, got {list(strides)}")
    check_layout("empty_strided", layout)
    if pin_memory:
        return pinned(empty_strided(size, stride, dtype=dtype, device=device))
    result = empty_strided_tensor(sizes, strides, dtype or DEFAULTS.dtype, as_device(device))
    leave(result)
    return result


def quick_empty_strided(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return empty_strided of two tuples of ints, on the CPU; None for anything else."""
    if len(given) == 2 and all(one.__class__ is tuple and only_ints(one) for one in given):
        return empty_strided(*given, dtype=dtype)
    return None


def quick_new(quick: Callable[..., Tensor | None]) -> Callable[[tuple[Any, ...], DType | None], Tensor | None]:
    """Return the quick form of a ``new_`` factory, which has the dtype of a tensor on the CPU."""

    def made(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
        if not given or given[0].__class__ is not Tensor or given[0].meta.device is not cpu:
            return None
        return quick(given[1:], dtype or given[0].meta.dtype)

    return made


@kernel("empty.out", COMPOSITE, derive=False)
def empty_out(size: Sequence[int], *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor:
    """`out` with other sizes. RuntimeError when it may not be resized."""
    return resized(out, size) if memory_format is None else resize_(out, tuple(size), memory_format)


@kernel("empty_like", COMPOSITE, derive=False)
def empty_like(
    self: Tensor, *, dtype: DType | None = None, layout: Layout | None = None, device: Device | str | None = None,
    pin_memory: bool | None = None, memory_format: MemoryFormat | None = None,
) -> Tensor:  # fmt: skip
    """A fresh tensor with the sizes of `self`, and its dtype, device and stride order where nothing else is said."""
    check_layout("empty_like", layout)
    meta = self.meta
    place = meta.device if device is None else as_device(device)
    strides = format_strides("empty_like", meta.sizes, meta.strides, memory_format)
    result = allocated(meta_of(meta.sizes, strides, dtype or meta.dtype, place))
    if place is cpu:
        leave(result)
    return pinned(result) if pin_memory else result


@kernel("new_empty", COMPOSITE, derive=False)
def new_empty(self: Tensor, size: Sequence[int], **options: Any) -> Tensor:
    """empty with the dtype and device of `self` where nothing else is said."""
    result: Tensor = call(EMPTY, size, **own_options(self, options))
    return result


@kernel("new_empty_strided", COMPOSITE, derive=False)
def new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """empty_strided with the dtype and device of `self` where nothing else is said."""
    result: Tensor = call(EMPTY_STRIDED, size, stride, **own_options(self, options))
    return result


def pinned(fresh: Tensor) -> Tensor:
    """A fresh tensor's like in pinned memory. RuntimeError unless it is on the CPU, or without a driver."""
    if fresh.meta.device is meta_device:
        return fresh
    made: Tensor = PLACING.load(".cuda.pinned_memory").pinned_copy(fresh)
    return made


def is_builtin(device: Device) -> bool:
    """Return whether the engine itself makes tensors on the device, and no override or mode wants to see it."""
    return (device is cpu or device is meta_device) and not SPECIAL


def allocated(meta: TensorMeta) -> Tensor:
    """A fresh tensor of `meta`, contents undefined, from the kernel of its device. NotImplementedError."""
    if is_builtin(meta.device):
        return new_like(meta)
    result: Tensor = call(EMPTY_STRIDED, meta.sizes, meta.strides, dtype=meta.dtype, device=meta.device)
    return result


def on_device(device: Device, make: Callable[[Device], Tensor]) -> Tensor:
    """``make(device)`` on the CPU and without data; elsewhere what ``make(cpu)`` gives, copied to the device."""
    if device is cpu or device is meta_device:
        return make(device)
    outline = make(meta_device).meta
    result = allocated(meta_of(outline.sizes, outline.strides, outline.dtype, device))
    return without_change(call(COPY, result, make(cpu)))


def without_change(fresh: Tensor) -> Tensor:
    """A tensor that was filled while it was made: its version starts at 0."""
    fresh.storage_impl.version = 0
    return fresh


def resized(out: Tensor, size: Sequence[int]) -> Tensor:
    """`out` with the sizes that a factory gives."""
    return out if out.meta.sizes == tuple(size) else resize_(out, tuple(size))


def own_options(self: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Return options with the dtype and device of `self` where nothing is said."""
    own = {"dtype": self.meta.dtype, "device": self.meta.device}
    return own | {name: value for name, value in options.items() if value is not None}
