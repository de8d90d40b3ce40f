"""Pointwise calls that the bindings run by themselves: their loops, put on the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.device import Device
from ...operators.launch import Launch
from ...tensor.geometry import Geometry
from ...tensor.tensor import Tensor
from ..devices.drivers import runtime
from .deferred import defer_loop
from .ptx_launch import launch_loop
from .twins import geometry_elsewhere, host_views


def put_loop(index: int, operator: str, launch: Launch, values: list[Any], nbytes: int) -> None:
    """Put a loop over addresses and numbers, outputs first, on the current stream of a device."""
    if hasattr(runtime().driver, "enqueue"):
        defer_loop(index, operator, launch, values, nbytes, None)
    else:
        launch_loop(launch, values, index)


class CudaLoops:
    """The entries of fast paths for tensors on CUDA devices, whichever driver is in use."""

    def on_host(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tensors of the CPU at the same addresses."""
        views: tuple[Any, ...] = host_views().of(operands)
        return views

    def geometry(self, geometry: Geometry, device: Device) -> Geometry:
        """The same geometry on a device."""
        return geometry_elsewhere(geometry, device)

    def entry(self, operator: str, launch: Launch, operands: tuple[Any, ...]) -> Callable[..., None]:
        """What runs `launch` on other addresses and numbers; the tensors among `operands` tell device and traffic."""
        tensors = [one for one in operands if isinstance(one, Tensor)]
        index = tensors[0].geometry.device.index or 0
        nbytes = 2 * sum(one.geometry.nbytes for one in tensors)

        def run(*values: Any) -> None:
            put_loop(index, operator, launch, list(values[:-1]), nbytes)

        return run
