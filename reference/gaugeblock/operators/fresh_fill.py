"""Filling the memory of a fresh dense tensor with one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.away import away
from ..core.device import cpu, meta_device
from ..core.dtype import ALL_DTYPES, DEFAULTS, DType, dtype_of_number
from ..core.rounding import ROUNDED_HERE
from ..dispatch.dispatcher import REGISTRY, call
from ..iteration.tensor_iterator import Number
from ..memory.elements import pack_element, read_bytes, store_bytes
from ..memory.host_allocator import SMALL_LIMIT, host_allocator, memset
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, remember
from .fill import run_fill
from .operand_checks import stored_number

FEW_BYTES = 2048
PACKED = frozenset(dtype for dtype in ALL_DTYPES if not dtype.is_complex) - ROUNDED_HERE


def fill_zeros(target: Tensor) -> None:
    """Set every byte of a fresh dense tensor to 0."""
    meta = target.meta
    nbytes = meta.nbytes
    if nbytes and meta.device is cpu:
        if nbytes <= FEW_BYTES:
            store_bytes(target.pointer, bytes(nbytes))
        elif nbytes <= SMALL_LIMIT or not host_allocator.zeros_for_nothing(target.pointer, nbytes):
            away(8 * nbytes, memset, target.pointer, 0, nbytes)
    elif nbytes:
        _fill_elsewhere(target, 0)


def _fill_elsewhere(target: Tensor, value: Number) -> None:
    if target.meta.device is not meta_device:
        call(REGISTRY.find("fill_.Scalar"), target, value)
        target.storage_impl.version = 0


def fill_number(target: Tensor, value: Number) -> None:
    """Set every element of a fresh dense tensor to `value`, as `stored_number` gives it for its dtype."""
    meta, dtype = target.meta, target.meta.dtype
    if not meta.numel:
        return
    if meta.device is not cpu:
        _fill_elsewhere(target, value)
    elif meta.nbytes <= FEW_BYTES and dtype in PACKED:
        if dtype.kind == 1 and not dtype.is_signed:
            value = int(value.real) % (1 << (8 * dtype.itemsize))
        store_bytes(target.pointer, pack_element(dtype, value) * meta.numel)
    else:
        run_fill(target, value)


def fill_kept(target: Tensor, key: Any, fill: Callable[[Tensor], object]) -> None:
    """Fill a fresh dense tensor by `fill`; the bytes of a small one are kept with its meta under `key`."""
    meta = target.meta
    pattern = meta.plans.get(key)
    if pattern is not None:
        store_bytes(target.pointer, pattern)
        return
    fill(target)
    if 0 < meta.nbytes <= FEW_BYTES and meta.device is cpu:
        remember(meta.plans, key, read_bytes(target.pointer, meta.nbytes))


def fill_ones(target: Tensor) -> None:
    """Set every element of a fresh dense tensor to 1."""
    fill_kept(target, "ones", lambda target: fill_number(target, 1))


NUMBERS = frozenset({float, int, bool, complex})


def quick_full(given: tuple[Any, ...], dtype: DType | None, operator: str = "full") -> Tensor | None:
    """Return full of sizes in a tuple or list and a number, on the CPU; None for anything else."""
    if len(given) != 2 or given[1].__class__ not in NUMBERS or not isinstance(given[0], (tuple, list)):
        return None
    size, value = given
    for one in size:
        if one.__class__ is not int:
            return None
    return full_of(operator, contiguous_meta(tuple(size), dtype or dtype_of_number(value)), value)


def quick_scalar_tensor(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return scalar_tensor of a number, on the CPU; None for anything else."""
    return quick_full(((), *given), dtype or DEFAULTS.dtype, "scalar_tensor")


def quick_full_like(given: tuple[Any, ...], dtype: DType | None) -> Tensor | None:
    """Return full_like of a dense tensor on the CPU and a number; None for anything else."""
    if len(given) != 2 or dtype is not None or given[0].__class__ is not Tensor or given[1].__class__ not in NUMBERS:
        return None
    meta = given[0].meta
    if not meta.dense or meta.device is not cpu or meta.lazy or meta.has_autograd:
        return None
    return full_of("full_like", meta, given[1])


def full_of(operator: str, meta: TensorMeta, value: Any) -> Tensor:
    """Return a new dense tensor of a number. RuntimeError when its dtype cannot hold it, naming the operator."""
    result = new_like(meta)
    fill_number(result, stored_number(operator, value, meta.dtype))
    return result
