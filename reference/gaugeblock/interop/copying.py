"""copy, deepcopy and pickle: tensors that share a storage share one afterwards."""

from __future__ import annotations

from typing import Any

from ..core.device import Device, as_device, cpu
from ..core.dtype import DType
from ..memory.devices import read_device, write_device
from ..memory.elements import read_bytes, write_bytes
from ..memory.storage import Storage, allocate_storage, move_bytes
from ..tensor.geometry import geometry_of
from ..tensor.getters import set_requires_grad
from ..tensor.make_view import view_at_same_place
from ..tensor.strides import extent
from ..tensor.tensor import Tensor, make_tensor


def storage_bytes(storage: Storage) -> bytes:
    """All bytes of a storage; none for a device without data."""
    if storage.device is cpu:
        return read_bytes(storage.pointer, storage.nbytes)
    return b"" if storage.device.type == "meta" else read_device(storage.device, storage.pointer, storage.nbytes)


def rebuild_storage(data: bytes, nbytes: int, device: Device) -> Storage:
    """A storage of `nbytes` bytes with the given contents."""
    device = as_device(device)
    storage = allocate_storage(nbytes, device)
    if device.type != "meta":
        if len(data) != nbytes:
            raise RuntimeError(f"load(): a storage of {nbytes} bytes came with {len(data)} bytes")
        if device is cpu:
            write_bytes(storage.pointer, data)
        else:
            write_device(device, storage.pointer, data)
    return storage


def rebuild_tensor(
    storage: Storage,
    offset: int,
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: DType,
    lazy: int,
    requires_grad: bool,
) -> Tensor:
    """A tensor over `storage`. Raises RuntimeError when it does not fit."""
    needed = (offset + extent(sizes, strides)) * dtype.itemsize
    if offset < 0 or any(item < 0 for item in (*sizes, *strides)) or (0 not in sizes and needed > storage.nbytes):
        raise RuntimeError(
            f"load(): sizes {sizes}, strides {strides} and offset {offset} do not fit the storage of "
            f"{storage.nbytes} bytes"
        )
    result = make_tensor(geometry_of(sizes, strides, dtype, storage.device, lazy), storage, offset, None)
    return set_requires_grad(result, True) if requires_grad else result


def reduce_storage(self: Storage) -> tuple[Any, ...]:
    """How pickle stores a storage: with all its bytes."""
    return rebuild_storage, (storage_bytes(self), self.nbytes, self.device)


def reduce_tensor(self: Tensor, protocol: int = 2) -> tuple[Any, ...]:
    """How pickle stores a tensor: its storage and its metadata."""
    geometry = self.geometry
    return rebuild_tensor, (
        self.storage,
        self.offset,
        geometry.sizes,
        geometry.strides,
        geometry.dtype,
        geometry.lazy,
        self.requires_grad_flag,
    )


def copied_storage(storage: Storage) -> Storage:
    """A storage of its own with the same bytes."""
    result = allocate_storage(storage.nbytes, storage.device)
    if result.pointer:
        move_bytes(storage.device, result.pointer, storage.pointer, storage.nbytes)
    return result


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor on a copy of the whole storage; tensors that shared it share the copy. Raises RuntimeError inside a
    recorded history."""
    if self.autograd is not None and not self.is_leaf:  # type: ignore[attr-defined]
        raise RuntimeError("Only Tensors created explicitly by the user support the deepcopy protocol at the moment")
    storage = memo.get(id(self.storage))
    if storage is None:
        storage = memo[id(self.storage)] = copied_storage(self.storage)
    geometry = self.geometry
    result = rebuild_tensor(
        storage,
        self.offset,
        geometry.sizes,
        geometry.strides,
        geometry.dtype,
        geometry.lazy,
        self.requires_grad_flag,
    )
    memo[id(self)] = result
    gradient = None if self.autograd is None else self.grad  # type: ignore[attr-defined]
    if gradient is not None:
        result.grad = deep_copy(gradient, memo)  # type: ignore[attr-defined]
    return result


def shallow_copy(self: Tensor) -> Tensor:
    """A tensor object of its own on the same storage."""
    result = view_at_same_place(self, self.geometry)
    result.base = self.base
    result.autograd = self.autograd
    result.requires_grad_flag = self.requires_grad_flag
    return result
