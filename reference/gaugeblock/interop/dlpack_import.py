"""Tensors of other libraries, by DLPack: from_dlpack."""

from __future__ import annotations

from ctypes import addressof
from math import prod
from typing import Any

from ..core.device import Device, as_device, cpu
from ..core.errors import type_error
from ..core.warn import warn
from ..memory.storage import foreign_storage
from ..operators.conversion import converted
from ..operators.copy import clone
from ..tensor.tensor import Tensor, make_tensor
from ..tensor.tensor_meta import TensorMeta, default_strides, extent, meta_of
from . import managed_tensor

Ints = tuple[int, ...]
MOST_DIMS = 64
"""More dims than a tensor of any library has; a struct that says more is malformed."""
ADDRESSES = 1 << 63


def from_dlpack(ext_tensor: Any, *, device: Device | str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's, or of a capsule, which is taken; on `device` a copy where need be.

    With `copy` it has memory of its own; without (False) ValueError where a copy is needed. Raises BufferError for what
    our tensors cannot describe, RuntimeError for a capsule that was taken, TypeError for what has no __dlpack__.
    """
    if isinstance(ext_tensor, type):
        type_error("from_dlpack", "ext_tensor", ext_tensor, "a capsule, or an object with __dlpack__")
    if not hasattr(ext_tensor, "__dlpack__"):
        if device is not None or copy is not None:
            raise TypeError("from_dlpack(): a capsule takes no arguments 'device' and 'copy'")
        return taken(ext_tensor)
    source = tuple(map(int, ext_tensor.__dlpack_device__()))
    wanted = None if device is None else as_device(device)
    there = _device(source)
    moves = wanted is not None and wanted is not there
    if moves and copy is False:
        raise ValueError(f"from_dlpack(): a tensor cannot be moved from {there} to {wanted} without a copy")
    given: dict[str, Any] = {"max_version": (1, 0)}
    if there.type == "cuda":
        from ..cuda.streams import current_stream

        given["stream"] = current_stream(there).cuda_stream or 1  # as a taker states it
    if copy is not None and not moves:
        given["copy"] = copy
    found, copied = _asked(ext_tensor, given)
    if moves:
        return converted(found, None, wanted)
    return clone(found) if copy and not copied else found


def _asked(ext_tensor: Any, given: dict[str, Any]) -> tuple[Tensor, bool]:
    """The tensor of an object that may know fewer arguments of __dlpack__, and whether it copied when asked to."""
    for dropped in ((), ("max_version",), ("max_version", "copy")):
        options = {name: value for name, value in given.items() if name not in dropped}
        try:
            capsule = ext_tensor.__dlpack__(**options)
        except TypeError:
            if dropped == ("max_version", "copy"):
                raise
            continue
        return taken(capsule), bool(options.get("copy"))
    raise AssertionError("the last of these attempts returns or raises")


def _device(pair: Ints) -> Device:
    kind, index = pair
    if kind in (managed_tensor.CPU, managed_tensor.CUDA_HOST):
        return cpu
    if kind == managed_tensor.CUDA:
        return as_device(Device("cuda", index))
    raise BufferError(f"from_dlpack(): device type {kind} is not known; known are 1 (CPU), 2 (CUDA) and 3 (pinned)")


def taken(capsule: Any) -> Tensor:
    """The tensor of a capsule. What is refused stays in it."""
    found = managed_tensor.contents(capsule)
    if found is None:
        raise RuntimeError(
            f"from_dlpack(): expected a capsule that nobody has taken, or an object with __dlpack__, got {capsule!r}"
        )
    managed, name = found
    versioned = isinstance(managed, managed_tensor.ManagedVersioned)
    if versioned and managed.major > 1:
        raise BufferError(f"from_dlpack(): the capsule has version {managed.major}.{managed.minor}, known is 1")
    pointer, meta = _read(managed)
    if versioned and managed.flags & managed_tensor.READ_ONLY:
        warn("from_dlpack(): the memory is not writable; writing to the tensor is undefined behaviour")
    address, deleter, release = addressof(managed), managed.deleter, managed_tensor.release
    managed_tensor.take(capsule, name)
    needed = extent(meta.sizes, meta.strides) * meta.dtype.itemsize
    storage = foreign_storage(pointer, needed, deleter=lambda _: release(address, deleter), device=meta.device)
    return make_tensor(meta, storage, 0, None)


def _read(managed: managed_tensor.AnyManaged) -> tuple[int, TensorMeta]:
    """Return the address and the meta that a struct describes. BufferError for what no tensor of ours can be."""
    view = managed.view
    dtype = managed_tensor.DTYPES.get((view.code, view.bits))
    if dtype is None or view.lanes != 1:
        raise BufferError(f"from_dlpack(): no dtype has type code {view.code}, {view.bits} bits and {view.lanes} lanes")
    if not 0 <= view.ndim <= MOST_DIMS:
        raise BufferError(f"from_dlpack(): the tensor has {view.ndim} dims; 0 to {MOST_DIMS} are allowed")
    if view.ndim and not view.shape:
        raise BufferError(f"from_dlpack(): the tensor has {view.ndim} dims, but no sizes")
    sizes = tuple(view.shape[: view.ndim]) if view.ndim else ()
    strides = tuple(view.strides[: view.ndim]) if view.strides else default_strides(sizes)
    if any(size < 0 for size in sizes):
        raise BufferError(f"from_dlpack(): the sizes {sizes} are not all 0 or more")
    if any(step < 0 for step in strides):
        raise BufferError(f"from_dlpack(): the strides {strides} are not all 0 or more; make a copy first")
    pointer = (view.data or 0) + view.byte_offset
    empty = 0 in sizes
    if not view.data and not empty:
        raise BufferError("from_dlpack(): the address is null, but there are elements")
    if pointer % (dtype.itemsize // (2 if dtype.is_complex else 1)) and not empty:
        raise BufferError(f"from_dlpack(): the address {pointer:#x} is not aligned for {dtype.name}")
    if not empty and max(prod(sizes), extent(sizes, strides)) * dtype.itemsize + pointer >= ADDRESSES:
        raise BufferError(f"from_dlpack(): sizes {sizes} and strides {strides} reach beyond all memory")
    device = _device((view.device_type, view.device_id))
    if device.type == "cuda" and managed_tensor.kept(addressof(managed)) is None:
        from ..cuda.devices import runtime

        if runtime().driver.name == "simulated":
            raise BufferError(
                f"from_dlpack(): {device} is a simulated device, and no other library has its memory; copy through the "
                "CPU"
            )
    return 0 if empty else pointer, meta_of(sizes, strides, dtype, device)
