"""Copies to, from, within and between CUDA devices, with conversion, broadcasting and strides on the way.

A copy that does not block is ordered by the current stream of its device alone; one that blocks has been waited for.
Host memory takes part without a wait only when it is pinned.
"""

from __future__ import annotations

from ...core.device import Device, cpu
from ...core.dtype import DType
from ...operators.copy import copy_values, copying
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import contiguous_meta
from ..devices import current_handle, runtime
from ..pinned_memory import is_pinned_storage, used_on_stream
from .deferred import defer
from .meta_call import host_aliases


def copy_on_device(destination: Tensor, source: Tensor) -> None:
    """Write `source`, broadcast and converted, into `destination`, both on one device; nothing is waited for."""
    here, there = source.meta, destination.meta
    index = there.device.index or 0
    driver = runtime().driver
    same = here.dtype is there.dtype and here.sizes == there.sizes and here.lazy == there.lazy
    if same and here.strides == there.strides and here.dense:
        stream = current_handle(index)
        driver.memcpy(index, destination.pointer, source.pointer, there.nbytes, "d2d", stream)
        return
    aliases = host_aliases()
    target, given = aliases.of(destination), aliases.of(source)
    if not hasattr(driver, "enqueue"):
        from .pointwise import launch_loop

        launch = copying(target.meta, given.meta)
        if launch is not None:
            launch_loop(launch, [target.pointer, given.pointer], index)
        return
    defer(index, "copy_", lambda: copy_values(target, given), here.nbytes + there.nbytes, None)


def copy_cuda(destination: Tensor, source: Tensor, non_blocking: bool) -> None:
    """Write `source`, broadcast and converted, into `destination`; at least one of them is on a CUDA device."""
    if not destination.meta.numel:
        return
    there, here = destination.meta.device, source.meta.device
    if there is here:
        copy_on_device(destination, source)
    elif there is cpu:
        _to_host(destination, source, non_blocking)
    elif here is cpu:
        _to_device(destination, source, non_blocking)
    else:
        _between_devices(destination, source)


def _like(tensor: Tensor, device: Device, dtype: DType | None = None) -> Tensor:
    """A fresh row-major tensor of the sizes of `tensor`."""
    meta = tensor.meta
    return new_like(contiguous_meta(meta.sizes, dtype or meta.dtype, device))


def _plain(tensor: Tensor) -> bool:
    return tensor.meta.contiguous and not tensor.meta.lazy


def _prepared(destination: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """Return `source` in row-major order on its device, and what its bytes go to, to be converted on the other one."""
    meta = source.meta
    if not (_plain(source) and meta.sizes == destination.meta.sizes):
        prepared = _like(destination, meta.device, meta.dtype)
        copy_values(prepared, source)
        source = prepared
    direct = _plain(destination) and meta.dtype is destination.meta.dtype
    return source, destination if direct else _like(destination, destination.meta.device, meta.dtype)


def _to_device(destination: Tensor, source: Tensor, non_blocking: bool) -> None:
    source, target = _prepared(destination, source)
    index = destination.meta.device.index or 0
    stream = current_handle(index)
    driver = runtime().driver
    driver.memcpy(index, target.pointer, source.pointer, source.meta.nbytes, "h2d", stream)
    if is_pinned_storage(source.storage_impl):
        used_on_stream(source.storage_impl, index, stream)
    if target is not destination:
        copy_on_device(destination, target)
    if not non_blocking:
        driver.stream_synchronize(index, stream)


def _to_host(destination: Tensor, source: Tensor, non_blocking: bool) -> None:
    meta = destination.meta
    device = source.meta.device
    if not (_plain(source) and source.meta.dtype is meta.dtype and source.meta.sizes == meta.sizes):
        prepared = _like(destination, device)
        copy_on_device(prepared, source)
        source = prepared
    target = destination if _plain(destination) else _like(destination, cpu)
    index = device.index or 0
    stream = current_handle(index)
    driver = runtime().driver
    driver.memcpy(index, target.pointer, source.pointer, source.meta.nbytes, "d2h", stream)
    pinned = is_pinned_storage(target.storage_impl)
    if pinned:
        used_on_stream(target.storage_impl, index, stream)
    if not (non_blocking and pinned and target is destination):
        driver.stream_synchronize(index, stream)
    if target is not destination:
        copy_values(destination, target)


def _between_devices(destination: Tensor, source: Tensor) -> None:
    """A copy from one device to another: each device's current stream waits for the other where it has to."""
    there, here = destination.meta.device, source.meta.device
    source, target = _prepared(destination, source)
    _wait_for(here, there)
    index = there.index or 0
    driver = runtime().driver
    driver.memcpy(index, target.pointer, source.pointer, source.meta.nbytes, "d2d", current_handle(index))
    _wait_for(there, here)
    if target is not destination:
        copy_on_device(destination, target)


def _wait_for(first: Device, later: Device) -> None:
    """Let the current stream of `later` wait for what the one of `first` has now."""
    driver = runtime().driver
    index, other = first.index or 0, later.index or 0
    event = driver.event_create(index)
    driver.event_record(index, event, current_handle(index))
    driver.stream_wait_event(other, current_handle(other), event)
    driver.event_destroy(index, event)
