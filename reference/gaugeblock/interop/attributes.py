"""The Tensor and Storage methods that other libraries and the copy protocols ask for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from .copying import deep_copy, reduce_storage, reduce_tensor, restore_attributes, shallow_copy
from .numpy import as_numpy_array, numpy


def _exported(name: str) -> Any:
    """Return the method that is a function of dlpack_export, which is loaded when it is called."""

    def method(self: Tensor, **options: Any) -> Any:
        return getattr(import_module(".dlpack_export", __package__), name)(self, **options)

    method.__name__, method.__doc__ = f"__{name}__", f"See interop.dlpack_export: {name}."
    return method


METHODS: dict[str, Any] = {
    "numpy": numpy, "__array__": as_numpy_array, "__array_priority__": 1000,
    "__deepcopy__": deep_copy, "__copy__": shallow_copy,
    "__reduce_ex__": reduce_tensor, "__setstate__": restore_attributes,
    "__dlpack__": _exported("dlpack"), "__dlpack_device__": _exported("dlpack_device"),
}  # fmt: skip

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Storage.__reduce__ = reduce_storage  # type: ignore[method-assign, assignment]
