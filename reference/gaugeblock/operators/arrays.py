"""Between tensors and NumPy: values to compute on, fresh tensors to hold results, numbers that fit a dtype."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf, isnan
from typing import Any

import numpy as np

from ..core.device import Device, cpu
from ..core.dtype import DType, bfloat16, float16
from ..core.errors import check_sizes
from ..iteration.devices import common_device
from ..tensor.array_view import array_of, array_of_lazy
from ..tensor.geometry import CONJUGATE
from ..tensor.tensor import Tensor, empty_tensor
from ..tensor.versions import bump_version

Array = np.ndarray[Any, Any]


def values(tensor: Tensor) -> Array:
    """The tensor's values as an array; a view of its memory unless they are lazily conjugate or negative."""
    return array_of_lazy(tensor)


def filled(sizes: Sequence[int], dtype: DType, array: Any) -> Tensor:
    """A fresh row-major CPU tensor with the values of `array`, which broadcasts to `sizes` and is cast to `dtype`."""
    result = empty_tensor(tuple(sizes), dtype)
    with np.errstate(all="ignore"):
        array_of(result)[...] = array
    return result


def from_array(array: Array, dtype: DType) -> Tensor:
    """A fresh row-major CPU tensor with sizes and values of `array`."""
    return filled(array.shape, dtype, array)


def outline(sizes: Sequence[int], dtype: DType, device: Device = cpu) -> tuple[Tensor, Array | None]:
    """A fresh tensor and the array to fill it through; no array when the device holds no data."""
    check_sizes("empty", sizes)
    result = empty_tensor(tuple(sizes), dtype, device)
    return result, array_of(result) if device is cpu else None


def overwrite(tensor: Tensor, array: Any) -> Tensor:
    """Store `array`, which broadcasts to the tensor's sizes, in place; lazily conjugate memory gets the conjugate."""
    target = array_of(tensor)
    if tensor.geometry.lazy:
        array = np.conjugate(array) if tensor.geometry.lazy & CONJUGATE else np.asarray(array)
        array = array if tensor.geometry.lazy <= CONJUGATE else np.negative(array)
    with np.errstate(all="ignore"):
        target[...] = array
    bump_version(tensor)
    return tensor


def check_same_device(operator: str, *tensors: Tensor) -> Device:
    """The device of `tensors`. Raises RuntimeError when two differ."""
    first = tensors[0].geometry.device
    if all(tensor.geometry.device is first for tensor in tensors):
        return first
    return common_device([tensor.geometry for tensor in tensors])


def widened(array: Array, dtype: DType) -> Array:
    """`array` with half precision widened to float32, for accumulation."""
    return array.astype(np.float32) if dtype is float16 or dtype is bfloat16 else array


def number_as(dtype: DType, value: Any) -> Any:
    """A Python number that `dtype` can hold, from `value`. Raises RuntimeError when it does not fit.

    Floats lose their fraction on the way to integers; a negative number wraps into an unsigned dtype.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, complex) and not dtype.is_complex:
        if value.imag:
            raise _does_not_fit(dtype, value)
        value = value.real
    if dtype.kind == 0:
        return bool(value)
    if dtype.is_complex:
        return complex(value)
    if dtype.is_floating_point:
        value = float(value)
        if not isinf(value) and not isnan(value) and abs(value) > _largest(dtype):
            raise _does_not_fit(dtype, value)
        return value
    if isinstance(value, float) and (isnan(value) or isinf(value)):
        raise _does_not_fit(dtype, value)
    limits = np.iinfo(dtype.numpy)
    low, high = (int(limits.min) if dtype.is_signed else -int(limits.max)), int(limits.max)
    whole = int(value)
    if not low <= whole <= high:
        raise _does_not_fit(dtype, value)
    return whole if dtype.is_signed else whole % (high + 1)


def _largest(dtype: DType) -> float:
    if dtype is bfloat16:
        return 3.3895313892515355e38
    return float(np.finfo(dtype.numpy).max)


def _does_not_fit(dtype: DType, value: Any) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtype.name} without overflow: {value}")
