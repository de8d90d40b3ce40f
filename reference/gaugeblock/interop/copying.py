"""Copying, pickling and the other methods of Tensor and Storage that libraries and the copy protocols ask for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib import import_module
from typing import Any

from ..core.device import PLACING, Device, as_device, cpu
from ..core.dtype import DType
from ..dispatch.overrides import NOT_WRAPPED
from ..memory.elements import read_bytes
from ..memory.storage import Storage, allocate_storage, move_bytes, read_device, write_device
from ..memory.untyped import UntypedStorage
from ..operators.conversion import converted
from ..tensor.changing import UnbackedTensor
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor, make_tensor
from ..tensor.tensor_meta import extent, meta_of
from .numpy import as_numpy_array, numpy

PIECE = 1 << 26
"""Bytes of a storage that are taken at a time."""


def storage_bytes(storage: Storage) -> bytes:
    """All bytes of a storage; none for a device without data."""
    return b"" if storage.device.type == "meta" else read_device(storage.device, storage.pointer, storage.nbytes)


def storage_pieces(storage: Storage) -> Iterator[bytes]:
    """The bytes of storage_bytes, PIECE at a time where the storage lies on the CPU."""
    if storage.device is not cpu:
        yield storage_bytes(storage)
        return
    for begin in range(0, storage.nbytes, PIECE):
        yield read_bytes(storage.pointer + begin, min(PIECE, storage.nbytes - begin))


def rebuild_storage(data: bytes, nbytes: int, device: Device) -> Storage:
    """A storage of `nbytes` bytes with the given contents."""
    device = as_device(device)
    storage = allocate_storage(nbytes, device)
    if device.type != "meta":
        if len(data) != nbytes:
            raise RuntimeError(f"load(): a storage of {nbytes} bytes came with {len(data)} bytes")
        write_device(device, storage.pointer, data)
    return storage


def rebuild_tensor(
    storage: Storage, offset: int, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, lazy: int,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    """A tensor over `storage`. Raises RuntimeError when it does not fit."""
    needed = (offset + extent(sizes, strides)) * dtype.itemsize
    if offset < 0 or any(item < 0 for item in (*sizes, *strides)) or (0 not in sizes and needed > storage.nbytes):
        raise RuntimeError(
            f"load(): sizes {sizes}, strides {strides} and offset {offset} do not fit the storage of "
            f"{storage.nbytes} bytes"
        )
    result = make_tensor(meta_of(sizes, strides, dtype, storage.device, lazy), storage, offset, None)
    return set_requires_grad(result, True) if requires_grad else result


def reduce_storage(self: Storage) -> tuple[Any, ...]:
    """Return how pickle stores a storage: with all its bytes."""
    return rebuild_storage, (storage_bytes(self), self.nbytes, self.device)


def rebuild_subclass(cls: type[Tensor], parts: tuple[Any, ...]) -> Tensor:
    """Rebuild a tensor as the subclass `cls`, or as a plain Tensor."""
    plain = rebuild_tensor(*parts)
    if cls is Tensor or cls is UnbackedTensor:
        return plain
    made: Tensor = Tensor._make_subclass(cls, plain, plain.requires_grad)  # type: ignore[attr-defined]
    return made


def parts_of(tensor: Tensor) -> tuple[Any, ...]:
    """Return the arguments of rebuild_tensor; a tensor that requires grad becomes a leaf that does."""
    meta = tensor.meta
    return (
        tensor.storage_impl, tensor.offset, meta.sizes, meta.strides, meta.dtype, meta.lazy,
        tensor.requires_grad,  # type: ignore[attr-defined]
    )  # fmt: skip


def reduce_tensor(self: Tensor, protocol: int = 2) -> tuple[Any, ...]:
    """Return the pickle reduction of a tensor: class, storage, metadata, requires_grad and the user's attributes. A
    tensor with history becomes a leaf. Raises RuntimeError when multiprocessing sends one to another process."""
    parts = parts_of(self)
    if parts[-1] and not self.is_leaf and sys._getframe(1).f_globals.get("__name__") in PROCESSES:  # type: ignore[attr-defined]
        raise RuntimeError(
            "a non-leaf tensor that requires grad cannot be sent to another process, since its history cannot; "
            "send tensor.detach() instead"
        )
    cls = self.__class__
    plain = cls is Tensor or cls is UnbackedTensor
    made = (rebuild_tensor, parts) if plain else (rebuild_subclass, (cls, parts))
    return (*made, dict(self.__dict__)) if self.__dict__ else made


PROCESSES = frozenset({"multiprocessing.reduction", "gaugeblock.multiprocessing.reductions"})
"""The modules that pickle objects for another process."""


def rebuild_attributed(parts: tuple[Any, ...], attributes: dict[str, Any]) -> Tensor:
    """Rebuild a tensor with its user-set attributes. Raise TypeError for names that are not strings."""
    result = rebuild_tensor(*parts)
    restore_attributes(result, attributes)
    return result


def restore_attributes(self: Tensor, state: dict[str, Any]) -> None:
    """Set the attributes that a pickle holds. Raise TypeError unless `state` is a dict."""
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise TypeError(f"__setstate__(): argument 'state' must be a dict of attributes, not {type(state).__name__}")
    self.__dict__.update(state)


def deep_copy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A tensor on a copy of the whole storage; tensors that shared it share the copy. Raises RuntimeError inside a
    recorded history."""
    if self.autograd is not None and not self.is_leaf:  # type: ignore[attr-defined]
        raise RuntimeError("Only Tensors created explicitly by the user support the deepcopy protocol at the moment")
    own = self.storage_impl
    storage = memo.get(id(own))
    if storage is None:
        storage = memo[id(own)] = own.alike()
        if storage.pointer:
            move_bytes(own.device, storage.pointer, own.pointer, own.nbytes)
    result = rebuild_subclass(self.__class__, (storage, *parts_of(self)[1:]))
    memo[id(self)] = result
    if self.__dict__:
        result.__dict__.update(deepcopy(self.__dict__, memo))
    gradient = None if self.autograd is None else self.grad  # type: ignore[attr-defined]
    if gradient is not None:
        result.grad = deep_copy(gradient, memo)  # type: ignore[attr-defined]
    return result


def shallow_copy(self: Tensor) -> Tensor:
    """Return a new leaf on the same storage, with the attributes and requires_grad of `self`."""
    result = rebuild_subclass(self.__class__, parts_of(self))
    result.__dict__.update(self.__dict__)
    return result


NOT_WRAPPED.update((deep_copy, shallow_copy))


def __dlpack__(
    self: Tensor, *, stream: int | None = -1, max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None, copy: bool | None = None,
) -> Any:  # fmt: skip
    """Return a capsule that shares the tensor's memory, or has a copy; see interop.dlpack_export."""
    export = import_module(".dlpack_export", __package__)
    return export.dlpack(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    """Return DLPack's type of the tensor's device, and its index."""
    found: tuple[int, int] = import_module(".dlpack_export", __package__).dlpack_device(self)
    return found


def _shared(name: str, function: str) -> Any:
    """Return the method that is a function of multiprocessing.sharing, which is loaded when it is called."""

    def method(self: Any, *args: Any) -> Any:
        return getattr(import_module("..multiprocessing.sharing", __package__), function)(self, *args)

    method.__name__, method.__doc__ = name, f"See multiprocessing.sharing: {function}."
    return method


def array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """Return the module `array_api`, the standard's functions. Raises ValueError for a version it does not follow."""
    if api_version is not None and api_version not in API_VERSIONS:
        known = ", ".join(API_VERSIONS)
        raise ValueError(f"__array_namespace__(): argument 'api_version' must be one of {known}, got {api_version!r}")
    return PLACING.load(".array_api")


API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""The versions of the array API standard whose functions `array_api` has."""


def to_device(self: Tensor, device: Device | str, /, *, stream: Any = None) -> Tensor:
    """Return the tensor on a device, itself if it is there. Raises ValueError for a stream, which is not taken."""
    if stream is not None:
        raise ValueError(f"to_device(): argument 'stream' must be None, got {stream!r}; use a stream's own block")
    return converted(self, None, as_device(device))


METHODS: dict[str, Any] = {
    "numpy": numpy, "__array__": as_numpy_array, "__array_priority__": 1000,
    "__deepcopy__": deep_copy, "__copy__": shallow_copy,
    "__reduce_ex__": reduce_tensor, "__setstate__": restore_attributes,
    "__array_namespace__": array_namespace, "to_device": to_device,
    "__dlpack__": __dlpack__, "__dlpack_device__": __dlpack_device__,
    "share_memory_": _shared("share_memory_", "share_memory_"), "is_shared": _shared("is_shared", "is_shared"),
}  # fmt: skip

STORAGE_METHODS = {
    "share_memory_": "share_memory_of_storage", "is_shared": "is_shared_storage",
    "_share_filename_cpu_": "share_filename", "_share_fd_cpu_": "share_descriptor",
    "_new_shared_filename_cpu": "new_shared_filename", "_new_shared_fd_cpu": "new_shared_descriptor",
}  # fmt: skip
"""Method of UntypedStorage -> its function in multiprocessing.sharing; those with "new" are class methods."""

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
for _name, _function in STORAGE_METHODS.items():
    _method = _shared(_name, _function)
    setattr(UntypedStorage, _name, classmethod(_method) if "new" in _name else _method)
Storage.__reduce__ = reduce_storage  # type: ignore[method-assign, assignment]
