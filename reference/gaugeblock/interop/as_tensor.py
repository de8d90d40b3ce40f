"""as_tensor and asarray: a tensor from anything, sharing memory where that is possible."""

from __future__ import annotations

from typing import Any

from ..core import lazy_numpy as np
from ..core.device import Device, as_device, cpu
from ..core.dtype import DEFAULTS, DType
from ..operators.arguments import dtype_argument
from ..operators.conversion import converted
from ..operators.copy import clone
from ..operators.tensor_data import tensor
from ..tensor.array_view import array_of_lazy
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor
from .numpy import from_numpy, frombuffer


def as_tensor(data: Any, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """`data` itself when it is a tensor of the wanted dtype and device, a tensor on an array's memory when the dtype
    agrees, else a copy. Raises as tensor() and from_numpy()."""
    place, dtype = as_device(device), dtype_argument("as_tensor", dtype)
    if isinstance(data, Tensor):
        meta = data.meta
        if (dtype is None or meta.dtype is dtype) and (device is None or meta.device is place):
            return data
        if meta.device is not cpu:
            return converted(data, dtype, None if device is None else place)
        kind = meta.dtype if dtype is None else dtype
        return tensor(array_of_lazy(data), dtype=kind, device=meta.device if device is None else place)
    if issubclass(type(data), np.ndarray) and place is cpu:
        shared = from_numpy(data)
        if dtype is None or shared.meta.dtype is dtype:
            return shared
    return tensor(data, dtype=dtype, device=place)


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def asarray(
    obj: Any, *, dtype: DType | None = None, device: Device | str | None = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Return `obj` as a tensor, with `copy` deciding whether the data is copied; None copies only if needed.

    `obj` may be anything that as_tensor accepts, a DLPack capsule, which is consumed, or an object with the buffer
    protocol, whose bytes become a 1-D tensor of `dtype` or the default dtype. Raises ValueError when `copy` is False
    but a copy is needed, and where frombuffer() does; RuntimeError when `copy` is False and `obj` is a NumPy scalar.
    Source: torch.asarray.
    """
    if copy is False and isinstance(obj, np.generic):
        raise RuntimeError("asarray(): can't alias a NumPy scalar with copy=False; convert it to an array first")
    if type(obj).__name__ == "PyCapsule":
        from .dlpack_import import from_dlpack

        obj = from_dlpack(obj)
    elif not isinstance(obj, Tensor | np.ndarray | np.generic) and _is_buffer(obj):
        obj = frombuffer(obj, dtype=dtype_argument("asarray", dtype) or DEFAULTS.dtype)
    if copy and not isinstance(obj, Tensor):
        result = tensor(obj, dtype=dtype, device=device)
    else:
        result = as_tensor(obj, dtype, device)
        result = clone(result) if copy and result is obj else result
    shares = result is obj or result.storage_impl.owner is obj
    if copy is False and not shares:
        raise ValueError("asarray(): can't alias the memory of 'obj' without a copy, and copy=False was given")
    return set_requires_grad(result) if requires_grad else result
