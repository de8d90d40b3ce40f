"""What uninitialised memory holds in deterministic mode: NaN, the largest integer, True."""

from __future__ import annotations

from ..core import lazy_numpy as np
from ..core.device import cpu, meta_device
from ..core.dtype import DType
from ..core.limits import iinfo
from ..core.rounding import rounded
from ..memory.elements import array_at
from ..memory.storage import Storage, write_device
from .array_view import array_of
from .hooks import hooks
from .tensor import Tensor


def undefined_value(dtype: DType) -> bool | int | float | complex:
    """The value that stands in fresh memory of `dtype`."""
    if dtype.is_complex:
        return complex("nan+nanj")
    if dtype.is_floating_point:
        return float("nan")
    return iinfo(dtype).max if dtype.kind else True


def fill_undefined(target: Tensor) -> None:
    """Fill every element of `target`."""
    meta = target.meta
    if meta.numel and meta.device is cpu:
        array_of(target).fill(rounded(undefined_value(meta.dtype), meta.dtype))
    elif meta.numel and meta.device is not meta_device:
        hooks.assign(target, undefined_value(meta.dtype))
        target.storage_impl.version = 0


def fill_grown(storage: Storage, old_nbytes: int, dtype: DType) -> None:
    """Fill what a storage gained past its first `old_nbytes` bytes, as elements of `dtype`."""
    first = -(-old_nbytes // dtype.itemsize)
    count = storage.nbytes // dtype.itemsize - first
    address = storage.pointer + first * dtype.itemsize
    if count > 0 and storage.device is cpu:
        array_at(address, dtype, (count,), (1,)).fill(rounded(undefined_value(dtype), dtype))
    elif count > 0 and storage.device is not meta_device:
        write_device(storage.device, address, np.full(count, rounded(undefined_value(dtype), dtype)).tobytes())
