"""The Tensor and Storage methods that other libraries and the copy protocols ask for."""

from __future__ import annotations

from ..memory.storage import Storage
from ..tensor.tensor import Tensor
from .copying import deep_copy, reduce_storage, reduce_tensor, shallow_copy
from .numpy import as_numpy_array, numpy

METHODS = {
    "numpy": numpy,
    "__array__": as_numpy_array,
    "__deepcopy__": deep_copy,
    "__copy__": shallow_copy,
    "__reduce_ex__": reduce_tensor,
    "__array_priority__": 1000,
}

for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
Storage.__reduce__ = reduce_storage  # type: ignore[method-assign, assignment]
