"""Storages of the device, views of them, and copies: what every device needs before it has operators."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import torch
from numpy.typing import NDArray

from . import NAME

Array = NDArray[Any]
DEVICE = torch.device(NAME, 0)
# NumPy's names are torch's, but for one.
_DTYPES = {torch.bfloat16: np.dtype(ml_dtypes.bfloat16)}
# The bytes of each storage that is alive, by address.
_MEMORY: dict[int, Array] = {}
_LIBRARY = torch.library.Library("aten", "IMPL")
_HOST = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
# Their kernels for the cpu look at sizes, strides and the storage, and never at memory.
_OF_SIZES_ALONE = (
    "as_strided", "view", "_reshape_alias", "unfold", "set_.source_Storage_storage_offset", "set_.source_Tensor",
)  # fmt: skip


def kernel(name: str, function: Callable[..., Any]) -> None:
    """Make ``function`` the device's kernel of an operator."""
    _LIBRARY.impl(name, function, "PrivateUse1")


def operator(name: str) -> Any:
    """The operator of a name such as ``add.out``."""
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def register() -> None:
    """Give PyTorch the kernels of this module."""
    for name in _OF_SIZES_ALONE:
        kernel(name, partial(operator(name).redispatch, _HOST))
    kernel("empty.memory_format", _empty)
    kernel("empty_strided", _empty_strided)
    kernel("_copy_from", _copy_from)
    kernel("_local_scalar_dense", lambda tensor: read(tensor).item())
    kernel("fill_.Scalar", lambda tensor, value: write(tensor, np.asarray(value)))
    kernel("fill_.Tensor", lambda tensor, value: write(tensor, read(value)))
    kernel("zero_", lambda tensor: write(tensor, np.asarray(0)))


def _storage(nbytes: int) -> Any:
    memory = np.empty(max(nbytes, 1), np.uint8)
    address = memory.ctypes.data
    storage = torch._C._construct_storage_from_data_pointer(address, DEVICE, nbytes)
    _MEMORY[address] = memory
    weakref.finalize(storage, _MEMORY.pop, address)
    return storage


def _laid_out(like: Any) -> Any:
    """A fresh tensor with sizes, strides and dtype of a tensor without data."""
    tensor = torch._C._acc.create_empty_tensor(list(like.shape), like.dtype)
    return tensor.set_(_storage(like.untyped_storage().nbytes()), 0, like.shape, like.stride())


def _empty(size: Any, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
           memory_format: Any = None) -> Any:  # fmt: skip
    _only_strided(layout)
    return _laid_out(torch.empty(size, dtype=dtype, device="meta", memory_format=memory_format))


def _empty_strided(size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None,
                   pin_memory: Any = None) -> Any:  # fmt: skip
    _only_strided(layout)
    return _laid_out(torch.empty_strided(size, stride, dtype=dtype, device="meta"))


def _only_strided(layout: Any) -> None:
    if layout not in (None, torch.strided):
        raise RuntimeError(f"the device {NAME} has strided tensors alone, and no layout {layout}")


def array(tensor: Any) -> Array:
    """The elements of a tensor in place, by its sizes, strides and offset, as they lie in memory."""
    dtype = _DTYPES.get(tensor.dtype) or np.dtype(str(tensor.dtype).removeprefix("torch."))
    if tensor.device.type == "cpu":
        host = tensor.view(torch.int16) if tensor.dtype in _DTYPES else tensor
        return np.asarray(torch._neg_view(host) if host.is_neg() else host.conj() if host.is_conj() else host).view(dtype)
    memory = _MEMORY[tensor.untyped_storage().data_ptr()]
    strides = [step * dtype.itemsize for step in tensor.stride()]
    return np.ndarray(tuple(tensor.shape), dtype, memory, tensor.storage_offset() * dtype.itemsize, strides)


def read(tensor: Any) -> Array:
    """The elements of a tensor as it means them: conjugated or negated if it is lazily so."""
    elements = array(tensor)
    if tensor.is_conj():
        elements = elements.conj()
    return -elements if tensor.is_neg() else elements


def write(tensor: Any, values: Array) -> Any:
    """Put ``values``, broadcast and converted, into a tensor, and return it."""
    if tensor.is_conj():
        values = values.conj()
    if tensor.is_neg():
        values = -values
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        array(tensor)[...] = values
    return tensor


def _copy_from(source: Any, target: Any, non_blocking: bool = False) -> Any:
    torch.broadcast_to(torch.empty(source.shape, device="meta"), target.shape)  # raises if it cannot be
    return write(target, read(source))
