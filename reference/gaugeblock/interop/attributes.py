"""The Tensor and Storage methods that other libraries and the copy protocols ask for."""

from __future__ import annotations

from typing import Any

from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from .copying import deep_copy, reduce_storage, reduce_tensor, restore_attributes, shallow_copy
from .numpy import as_numpy_array, numpy


def dlpack(
    self: Tensor,
    *,
    stream: int | None = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule that shares the tensor's memory, or has a copy. BufferError for what DLPack cannot describe."""
    from .dlpack_export import dlpack as run

    return run(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """DLPack's type and index of the device. ValueError for devices without either."""
    from .dlpack_export import dlpack_device as run

    return run(self)


METHODS: dict[str, Any] = {
    "numpy": numpy,
    "__array__": as_numpy_array,
    "__deepcopy__": deep_copy,
    "__copy__": shallow_copy,
    "__reduce_ex__": reduce_tensor,
    "__setstate__": restore_attributes,
    "__array_priority__": 1000,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
}

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Storage.__reduce__ = reduce_storage  # type: ignore[method-assign, assignment]
