"""Pointwise calls that the bindings run by themselves: their loops, put on the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.device import Device
from ...kernels.operand import operand_kinds
from ...operators.launch import Launch
from ...tensor.geometry import Geometry
from ...tensor.tensor import Tensor
from ..devices.drivers import runtime
from .deferred import defer_loop
from .ptx_launch import launch_loop
from .twins import geometry_elsewhere, host_views

WHOLE = {"n": (-(1 << 63), 1 << 63), "i": (-(1 << 63), 1 << 64), "u": (-(1 << 63), 1 << 64)}
"""Which whole numbers a kernel takes, by the kind of its operand; addresses are among both."""


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

        limits = [WHOLE[kind] for kind in operand_kinds(getattr(launch.kernel, "operands", ())) if kind in WHOLE]
        if not limits:
            return run
        least, end = limits[0]

        def run_checked(*values: Any) -> None:
            for value in values:
                if value.__class__ is int and not least <= value < end:
                    raise OverflowError(f"int {'too big' if value >= end else 'too small'} to convert: {value}")
            run(*values)

        return run_checked
