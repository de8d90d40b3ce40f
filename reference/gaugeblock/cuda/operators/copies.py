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
from ..driver.protocol import CopyKind
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
    if destination.meta.device is source.meta.device:
        copy_on_device(destination, source)
    else:
        _copy_across(destination, source, non_blocking)


def _like(tensor: Tensor, device: Device, dtype: DType) -> Tensor:
    """A fresh row-major tensor of the sizes of `tensor`."""
    return new_like(contiguous_meta(tensor.meta.sizes, dtype, device))


def _plain(tensor: Tensor) -> bool:
    return tensor.meta.contiguous and not tensor.meta.lazy


def _prepared(destination: Tensor, source: Tensor) -> tuple[Tensor, Tensor]:
    """Return `source` in row-major order on its device, and what its bytes go to; devices convert, not the host."""
    meta, there = source.meta, destination.meta
    dtype = there.dtype if there.device is cpu else meta.dtype
    if not (_plain(source) and meta.dtype is dtype and meta.sizes == there.sizes):
        prepared = _like(destination, meta.device, dtype)
        copy_values(prepared, source)
        source = prepared
    direct = _plain(destination) and dtype is there.dtype
    return source, destination if direct else _like(destination, there.device, dtype)


def _copy_across(destination: Tensor, source: Tensor, non_blocking: bool) -> None:
    """A copy between host and device, or between devices: each one's current stream waits for the other's."""
    there, here = destination.meta.device, source.meta.device
    source, target = _prepared(destination, source)
    between = cpu not in (here, there)
    index = (here if there is cpu else there).index or 0
    driver, stream = runtime().driver, current_handle(index)
    if between:
        _wait_for(here, there)
    kind: CopyKind = "d2d" if between else "d2h" if there is cpu else "h2d"
    driver.memcpy(index, target.pointer, source.pointer, source.meta.nbytes, kind, stream)
    if between:
        _wait_for(there, here)
    host = (target if there is cpu else source).storage_impl
    used_on_stream(host, index, stream)
    if there is cpu and not (non_blocking and target is destination and is_pinned_storage(host)):
        driver.stream_synchronize(index, stream)
    if target is not destination:
        copy_values(destination, target)
    if here is cpu and not non_blocking:
        driver.stream_synchronize(index, stream)


def _wait_for(first: Device, later: Device) -> None:
    """Let the current stream of `later` wait for what the one of `first` has now."""
    driver = runtime().driver
    index, other = first.index or 0, later.index or 0
    event = driver.event_create(index)
    driver.event_record(index, event, current_handle(index))
    driver.stream_wait_event(other, current_handle(other), event)
    driver.event_destroy(index, event)
