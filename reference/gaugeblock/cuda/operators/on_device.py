"""Copying within one CUDA device, in the order of its current stream."""

from __future__ import annotations

from ...operators.copy import copy_values, copying
from ...tensor.tensor import Tensor
from ..devices.drivers import runtime
from ..streams import current_handle
from .deferred import defer
from .twins import host_views


def copy_on_device(destination: Tensor, source: Tensor) -> None:
    """Write `source`, broadcast and converted, into `destination`, both on one device; nothing is waited for."""
    here, there = source.geometry, destination.geometry
    index = there.device.index or 0
    driver = runtime().driver
    same = here.dtype is there.dtype and here.sizes == there.sizes and here.lazy == there.lazy
    if same and here.strides == there.strides and here.dense:
        stream = current_handle(index)
        driver.memcpy(index, destination.pointer, source.pointer, there.nbytes, "d2d", stream)
        return
    views = host_views()
    target, given = views.of(destination), views.of(source)
    if not hasattr(driver, "enqueue"):
        from .ptx_launch import launch_loop

        launch = copying(target.geometry, given.geometry)
        if launch is not None:
            launch_loop(launch, [target.pointer, given.pointer], index)
        return
    defer(index, "copy_", lambda: copy_values(target, given), here.nbytes + there.nbytes, None)
