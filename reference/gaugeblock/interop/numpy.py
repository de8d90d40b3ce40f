"""NumPy arrays and buffers as tensors and back, sharing memory."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from struct import Struct
from typing import Any, NoReturn

from ..core import lazy_numpy as np
from ..core.device import cpu, meta_device
from ..core.dtype import DType, dtype_from_numpy
from ..core.errors import check_int, type_error
from ..core.promotion import UPSTREAM_NAMES
from ..core.rounding import ROUNDED_HERE
from ..core.warn import warn
from ..memory.elements import ADDRESS_SPACE, ORIGIN
from ..memory.storage import Storage, foreign_storage
from ..operators.conversion import converted
from ..tensor.getters import set_requires_grad
from ..tensor.metadata import detach
from ..tensor.reinterpret import resolved
from ..tensor.tensor import Tensor, make_tensor
from ..tensor.tensor_meta import CONJUGATE, NEGATIVE, TensorMeta, default_strides, extent, meta_of, remember


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of an array, which stays alive; its storage is not resizable.

    Raises TypeError for anything but an array of a known dtype, ValueError for negative strides, strides that are
    no multiple of the itemsize, and foreign byte order. Warns for a read-only array.
    """
    owner = ndarray
    if type(ndarray) is not np.ndarray:  # attributes of a subclass do not count, nor what an object claims to be
        if not issubclass(type(ndarray), np.ndarray):
            raise TypeError(f"from_numpy(): argument 'ndarray' must be np.ndarray, got {type(ndarray).__name__}")
        ndarray = np.ndarray.view(ndarray, np.ndarray)
    key = (ndarray.shape, ndarray.strides, ndarray.dtype)
    known = _LAYOUTS.get(key)
    if known is None:
        known = remember(_LAYOUTS, key, _layout_of(ndarray))
    meta, nbytes = known
    pointer, writeable = head_of(ndarray)
    if not writeable:
        warn(
            "The given NumPy array is not writable; writing to the tensor is undefined behaviour. Copy the array to "
            "protect its data"
        )
    return make_tensor(meta, foreign_storage(pointer, nbytes, owner=owner), 0, None)


_LAYOUTS: dict[Any, tuple[TensorMeta, int]] = {}
"""Shape, strides and dtype of arrays seen -> the meta and the bytes that it reaches over."""


def _layout_of(array: np.ndarray[Any, Any]) -> tuple[TensorMeta, int]:
    dtype = _dtype_of(array)
    itemsize = dtype.itemsize
    byte_strides = array.strides
    if byte_strides and min(byte_strides) < 0:
        raise ValueError(
            "from_numpy(): At least one stride in the given numpy array is negative, and tensors with negative "
            f"strides are not supported: {array.strides}; make a copy with array.copy()"
        )
    if itemsize > 1 and any(step % itemsize for step in byte_strides):
        raise ValueError(
            f"from_numpy(): given numpy array strides {array.strides} are not a multiple of the element byte size "
            f"{itemsize}; make a copy with array.copy()"
        )
    meta = meta_of(array.shape, tuple([step // itemsize for step in byte_strides]), dtype)
    elements = meta.numel if meta.dense else extent(meta.sizes, meta.strides)
    return meta, elements * itemsize


def _asked_head(array: np.ndarray[Any, Any]) -> tuple[int, bool]:
    return array.__array_interface__["data"][0], array.flags.writeable


_HEAD = Struct("=q40xi")
_HEAD_OFFSET = 2 * ctypes.sizeof(ctypes.c_ssize_t)
_WRITEABLE = 0x400


def _read_head(array: np.ndarray[Any, Any]) -> tuple[int, bool]:
    address, flags = _HEAD.unpack_from(ADDRESS_SPACE, id(array) - ORIGIN + _HEAD_OFFSET)
    return address, flags & _WRITEABLE != 0


def _head_is_readable() -> bool:
    """Return whether array objects here begin as NumPy's C API lays them out: then reading them is five times as fast.
    """
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8 or hasattr(sys, "getobjects"):
        return False
    samples = (np.arange(6.0), np.arange(12).reshape(3, 4).T[1:], np.zeros(0, np.int8), np.array(2j))
    locked = np.arange(3)
    locked.flags.writeable = False
    return all(_read_head(sample) == _asked_head(sample) for sample in (*samples, locked))


def _first_head(array: np.ndarray[Any, Any]) -> tuple[int, bool]:
    global head_of
    head_of = _read_head if _head_is_readable() else _asked_head
    return head_of(array)


head_of: Callable[[np.ndarray[Any, Any]], tuple[int, bool]] = _first_head
"""Return the address of an array's first element, and whether it may be written."""


def _dtype_of(array: np.ndarray[Any, Any]) -> DType:
    dtype = dtype_from_numpy(array.dtype)
    if dtype is not None:
        return dtype
    if not array.dtype.isnative and dtype_from_numpy(array.dtype.newbyteorder("=")) is not None:
        raise ValueError(
            f"from_numpy(): given numpy array has byte order different from the native byte order: {array.dtype.str}"
        )
    raise TypeError(f"can't convert np.ndarray of type {array.dtype.type.__module__}.{array.dtype.type.__name__}")


class LentStorage(ctypes.c_char * (1 << 62)):  # type: ignore[misc]
    """The buffer of arrays that numpy() gives out: it keeps the storage alive as long as one of them lives."""

    storage: Storage


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """An array on the memory of `self`, which may not be resized afterwards; `force` detaches, resolves and
    copies to host memory first.

    Raises TypeError for bfloat16, complex32 and tensors without data, RuntimeError if gradients or lazy bits forbid it.
    """
    meta = self.meta
    if force and meta.device.type == "cuda":
        self = converted(detach(self), None, cpu)
        meta = self.meta
    if meta.device is not cpu:
        advice = "it has no data" if meta.device is meta_device else "copy it to host memory with Tensor.cpu() first"
        raise TypeError(f"numpy(): can't convert {meta.device} device type tensor to numpy: {advice}")
    if force:
        self = resolved(self)
    elif self.autograd is not None and self.requires_grad:  # type: ignore[attr-defined]
        _refuse("requires grad. Use tensor.detach().numpy() instead.")
    elif meta.lazy & CONJUGATE:
        _refuse("has conjugate bit set. Use tensor.resolve_conj().numpy() instead.")
    elif meta.lazy & NEGATIVE:
        _refuse("has negative bit set. Use tensor.resolve_neg().numpy() instead.")
    meta = self.meta
    if meta.dtype in ROUNDED_HERE:
        raise TypeError(f"numpy(): Got unsupported ScalarType {UPSTREAM_NAMES[meta.dtype.name]}")
    if not meta.numel:
        return np.empty(meta.sizes, meta.dtype.numpy)
    storage, pointer = lent(self)
    buffer = LentStorage.from_address(ORIGIN)
    buffer.storage_impl = storage
    return np.ndarray(meta.sizes, meta.dtype.numpy, buffer, pointer - ORIGIN, meta.byte_strides)


def lent(self: Tensor) -> tuple[Storage, int]:
    """Return a tensor's storage, marked as lying under an array, and the address of the first element."""
    while True:
        storage = self.storage_impl
        storage.resizable = None
        pointer = self.pointer
        if self.storage_impl is storage:
            return storage, pointer


def _refuse(why: str) -> NoReturn:
    raise RuntimeError(f"Can't call numpy() on Tensor that {why}")


def as_numpy_array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """``np.asarray(tensor)``: shares memory unless `dtype` or `copy` asks for a copy. Raises as numpy()."""
    array = numpy(self)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__(): a tensor of {array.dtype} cannot be given as {dtype} without a copy")
        return array.astype(dtype)
    return array.copy() if copy else array


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-D tensor on the memory of an object with the buffer protocol, from byte `offset`, `count` elements or all.
    Raises ValueError when the buffer is empty or too short, or its length is no multiple of the itemsize."""
    if not isinstance(dtype, DType):
        type_error("frombuffer", "dtype", dtype, "dtype")
    count, offset = check_int("frombuffer", "count", count), check_int("frombuffer", "offset", offset)
    try:
        plain = np.frombuffer(buffer, np.uint8) if len(memoryview(buffer)) else np.empty(0, np.uint8)
    except TypeError:
        raise ValueError("frombuffer(): object does not implement Python buffer protocol.") from None
    length, itemsize = plain.nbytes, dtype.itemsize
    if not length or not count:
        raise ValueError(f"frombuffer(): both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"frombuffer(): offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % itemsize:
        raise ValueError(
            f"frombuffer(): buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple "
            f"of element size ({itemsize})"
        )
    elements = (length - offset) // itemsize if count < 0 else count
    if offset + elements * itemsize > length:
        raise ValueError(
            f"frombuffer(): requested buffer length ({elements} * {itemsize} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    if not plain.flags.writeable:
        warn(
            "The given buffer is not writable; writing to the tensor is undefined behaviour. Copy the buffer to "
            "protect its data"
        )
    sizes = (elements,)
    storage = foreign_storage(plain.ctypes.data + offset, elements * itemsize, owner=plain)
    result = make_tensor(meta_of(sizes, default_strides(sizes), dtype), storage, 0, None)
    return set_requires_grad(result, True) if requires_grad else result
