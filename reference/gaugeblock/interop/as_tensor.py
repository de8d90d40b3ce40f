"""as_tensor and asarray: a tensor from anything, sharing memory where that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import Device, as_device, cpu
from ..core.dtype import DType
from ..operators.conversion import converted
from ..operators.tensor_data import tensor
from ..tensor.array_view import array_of_lazy
from ..tensor.getters import set_requires_grad
from ..tensor.tensor import Tensor
from .numpy import from_numpy


def as_tensor(data: Any, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """`data` itself when it is a tensor of the wanted dtype and device, a tensor on an array's memory when the dtype
    agrees, else a copy. Raises as tensor() and from_numpy()."""
    place = as_device(device)
    if isinstance(data, Tensor):
        geometry = data.geometry
        if (dtype is None or geometry.dtype is dtype) and (device is None or geometry.device is place):
            return data
        if geometry.device is not cpu:
            return converted(data, dtype, None if device is None else place)
        return tensor(array_of_lazy(data), dtype=dtype, device=geometry.device if device is None else place)
    if isinstance(data, np.ndarray) and place is cpu:
        shared = from_numpy(data)
        if dtype is None or shared.geometry.dtype is dtype:
            return shared
    return tensor(data, dtype=dtype, device=place)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """as_tensor with a say on copying. Raises ValueError when `copy` is False and a copy would be needed."""
    result = tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)
    shares = result is obj or result.storage.owner is obj
    if copy is False and not shares:
        raise ValueError("asarray(): can't alias the memory of 'obj' without a copy, and copy=False was given")
    return set_requires_grad(result) if requires_grad else result
