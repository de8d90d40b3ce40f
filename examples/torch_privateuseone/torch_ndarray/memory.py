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
ALIGNMENT = 64
MOST_DIMS = 64  # of arrays; of tensors that have more, those of size 1 are left out
# NumPy's names are torch's, but for one.
_DTYPES = {torch.bfloat16: np.dtype(ml_dtypes.bfloat16)}
# The bytes of each storage that is alive, by address.
_MEMORY: dict[int, Array] = {}
_LIBRARY = torch.library.Library("aten", "IMPL")
_HOST = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
# Their kernels for the cpu look at sizes, strides and the storage, and never at memory.
_OF_SIZES_ALONE = (
    "as_strided", "view", "_reshape_alias", "unfold", "view_as_real", "view_as_complex", "is_set_to",
    "set_.source_Storage_storage_offset", "set_.source_Tensor",
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
    # Most devices have _copy_from in its place, which the layer of lazy conjugates would call without end.
    kernel("copy_", _copy)
    kernel("_local_scalar_dense", lambda tensor: read(tensor).item())
    kernel("fill_.Scalar", _fill)
    kernel("fill_.Tensor", _fill)
    kernel("zero_", partial(_fill, value=0))


def _storage(nbytes: int) -> Any:
    try:
        memory = np.empty(nbytes + ALIGNMENT, np.uint8)
    except ValueError as error:
        raise MemoryError(f"{NAME}: no {nbytes} bytes of memory") from error
    memory = memory[-memory.ctypes.data % ALIGNMENT :]
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
    _check_layout(layout)
    return _laid_out(torch.empty(size, dtype=dtype, device="meta", memory_format=memory_format))


def _empty_strided(size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None,
                   pin_memory: Any = None) -> Any:  # fmt: skip
    _check_layout(layout)
    return _laid_out(torch.empty_strided(size, stride, dtype=dtype, device="meta"))


def _check_layout(layout: Any) -> None:
    if layout not in (None, torch.strided):
        raise RuntimeError(f"the device {NAME} has strided tensors alone, and no layout {layout}")


def array(tensor: Any) -> Array:
    """The elements of a tensor in place, by its sizes, strides and offset, as they lie in memory."""
    dtype = _DTYPES.get(tensor.dtype) or np.dtype(str(tensor.dtype).removeprefix("torch."))
    if tensor.device.type == "cpu":
        plain = tensor.conj() if tensor.is_conj() else torch._neg_view(tensor) if tensor.is_neg() else tensor
        return plain.view(torch.int16).numpy().view(dtype) if tensor.dtype in _DTYPES else plain.detach().numpy()
    if not tensor.numel():
        return np.empty(tensor.shape, dtype)
    dims = range(tensor.dim())
    if tensor.dim() > MOST_DIMS:
        dims = [dim for dim in dims if tensor.size(dim) != 1]
    sizes, strides = [tensor.size(dim) for dim in dims], [tensor.stride(dim) * dtype.itemsize for dim in dims]
    memory = _MEMORY[tensor.untyped_storage().data_ptr()]
    return np.ndarray(sizes, dtype, memory, tensor.storage_offset() * dtype.itemsize, strides)


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


def refuse_overlap(target: Any, *sources: Any) -> None:
    """Raise RuntimeError where elements of what is written share memory, or some of it lies under another operand."""
    if target.numel() and any(step == 0 and size > 1 for step, size in zip(target.stride(), target.shape, strict=True)):
        raise RuntimeError("unsupported operation: several elements of the written tensor have one place in memory")
    for source in sources:
        if not isinstance(source, torch.Tensor) or source.device != DEVICE:
            continue
        same = source.data_ptr() == target.data_ptr() and source.stride() == target.stride()
        if not (same and source.shape == target.shape) and _overlap(array(source), array(target)):
            raise RuntimeError("unsupported operation: the written tensor and an operand overlap in part")


def _overlap(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, max_work=1000)
    except np.exceptions.TooHardError:
        return False


def _fill(tensor: Any, value: Any) -> Any:
    """Each place in memory gets the value, however many elements lie there. Raises RuntimeError if it does not fit."""
    if isinstance(value, torch.Tensor) and value.dim():
        raise RuntimeError(f"fill_: expected a 0-dimension value tensor, not one of {value.dim()} dims")
    number = value.item() if isinstance(value, torch.Tensor) else value
    return write(tensor, array(torch.scalar_tensor(number, dtype=tensor.dtype)))


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    refuse_overlap(target, source)
    torch.broadcast_to(torch.empty(source.shape, device="meta"), target.shape)  # raises if it cannot be
    return write(target, read(source))
