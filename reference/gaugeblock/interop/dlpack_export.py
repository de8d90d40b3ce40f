"""Tensors for other libraries, by DLPack: __dlpack__ and __dlpack_device__."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn

from ..core.device import cpu
from ..core.errors import type_error
from ..memory.storage import lend
from ..operators.conversion import converted, is_pinned
from ..operators.copy import clone
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE
from . import managed_tensor

LEGACY_STREAM, PER_THREAD_STREAM, NO_SYNCHRONISATION = 1, 2, -1


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's type and index of the device: (1, 0) for the CPU, (2, index) for CUDA, (3, 0) for pinned memory. Raises
    ValueError for devices without either."""
    device = self.meta.device
    if device is cpu:
        return (managed_tensor.CUDA_HOST if is_pinned(self) else managed_tensor.CPU), 0
    if device.type == "cuda":
        return managed_tensor.CUDA, device.index or 0
    raise ValueError(f"__dlpack_device__(): DLPack has no device type for {device}")


def dlpack(
    self: Tensor, *, stream: int | None = NO_SYNCHRONISATION, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None,
) -> Any:  # fmt: skip
    """A capsule that shares the tensor's memory, or has a copy, for from_dlpack of any library to take.

    The memory stays as long as the capsule or what was made of it, also when the tensor's storage is resized.

    `stream` is the taker's, as a number: 1 and None are CUDA's default stream, -1 asks for no synchronisation; another
    one will wait for what the current stream has now. With `max_version` from (1, 0) on the capsule is versioned.
    `dl_device` (type, index) may ask for a copy in host memory. Raises BufferError for what DLPack cannot describe and
    for streams that it does not know, TypeError for a stream that is no int.
    """
    check_exportable(self)
    _synchronise(self, stream)
    wanted = self
    own = dlpack_device(self)
    if dl_device is not None and not (isinstance(dl_device, (tuple, list)) and len(dl_device) == 2):
        type_error("__dlpack__", "dl_device", dl_device, "a pair of device type and index")
    if dl_device is not None and tuple(map(int, dl_device)) != own:
        wanted = _elsewhere(self, tuple(map(int, dl_device)), copy)
    elif copy:
        wanted = clone(self)
    if max_version is None or max_version[0] < 1:
        managed: managed_tensor.AnyManaged = managed_tensor.Managed()
        name = managed_tensor.PLAIN
    else:
        managed = managed_tensor.ManagedVersioned()
        managed.major, managed.minor = managed_tensor.VERSION
        managed.flags = managed_tensor.COPIED if wanted is not self else 0
        name = managed_tensor.VERSIONED
    return managed_tensor.capsule_of(_described(managed, wanted), name)


def check_exportable(self: Tensor) -> None:
    """BufferError for a tensor that DLPack cannot describe."""
    meta = self.meta
    if self.requires_grad:  # type: ignore[attr-defined]
        _refuse("requires a gradient: use tensor.detach()")
    if meta.dtype.quantized:
        _refuse("is quantized: use int_repr() or dequantize()")
    if meta.lazy & CONJUGATE:
        _refuse("has its conjugate bit set: use tensor.resolve_conj()")
    if meta.lazy & NEGATIVE:
        _refuse("has its negative bit set: use tensor.resolve_neg()")
    if meta.device is not cpu and meta.device.type != "cuda":
        _refuse(f"is on {meta.device}, whose memory cannot be shared")


def _refuse(reason: str) -> NoReturn:
    raise BufferError(f"__dlpack__(): cannot export a tensor that {reason}")


def _synchronise(self: Tensor, stream: Any) -> None:
    """Let the taker's stream wait for the work on this tensor that was given so far."""
    if stream is not None and type(stream) is not int:
        raise TypeError(f"__dlpack__(): argument 'stream' must be int or None, got {type(stream).__name__}")
    if self.meta.device is cpu:
        if stream not in (None, NO_SYNCHRONISATION):
            raise BufferError(f"__dlpack__(): argument 'stream' must be None on the CPU, got {stream}")
        return
    if stream == NO_SYNCHRONISATION:
        return
    if stream == PER_THREAD_STREAM:
        raise BufferError("__dlpack__(): argument 'stream' is 2, but the per-thread default stream is not supported")
    if stream == 0:
        raise BufferError("__dlpack__(): argument 'stream' is 0, which means nothing on CUDA; the default stream is 1")
    from ..cuda.streams import ExternalStream, current_stream, default_stream

    device = self.meta.device
    taker = default_stream(device) if stream in (None, LEGACY_STREAM) else ExternalStream(stream, device)
    taker.wait_stream(current_stream(device))


def _elsewhere(self: Tensor, wanted: tuple[int, ...], copy: bool | None) -> Tensor:
    """A copy in host memory, waited for; BufferError for another device and where no copy is allowed."""
    if wanted != (managed_tensor.CPU, 0) or copy is False:
        allowed = "" if copy is False else "; only a copy in host memory, (1, 0), can be had"
        raise BufferError(
            f"__dlpack__(): a tensor on {self.meta.device} cannot be exported to device {wanted} "
            f"{'without a copy' if copy is False else ''}{allowed}"
        )
    return converted(self, None, cpu) if self.meta.device is not cpu else clone(self)


def _described(managed: managed_tensor.AnyManaged, tensor: Tensor) -> int:
    """Fill a struct with what describes a tensor, and keep both; the struct's address."""
    meta, view = tensor.meta, managed.view
    ndim = len(meta.sizes)
    numbers = (ctypes.c_int64 * (2 * ndim))(*meta.sizes, *meta.strides)
    pointer = ctypes.POINTER(ctypes.c_int64)
    lent, address = _lent(tensor)
    view.data = address if meta.numel else None
    view.device_type, view.device_id = dlpack_device(tensor)
    view.ndim = ndim
    view.code, view.bits = managed_tensor.CODES[meta.dtype]
    view.lanes = 1
    view.shape = ctypes.cast(numbers, pointer)
    view.strides = ctypes.cast(ctypes.addressof(numbers) + 8 * ndim, pointer)
    return managed_tensor.keep(managed, (lent, numbers))


def _lent(tensor: Tensor) -> tuple[object, int]:
    """Return what keeps the memory of a tensor alive, also when its storage is resized, and its address."""
    while True:
        storage = tensor.storage_impl
        block, pointer = lend(storage), tensor.pointer
        if tensor.storage_impl is storage:
            return (storage, block), pointer
