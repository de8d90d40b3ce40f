"""Joining the device to the engine: its memory, its copies, its kernels. Importing this module does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.device import Device
from ..dispatch.dispatcher import REGISTRY, Operator, Registration
from ..memory.devices import register_allocator
from ..operators.copy import ELSEWHERE
from ..operators.device_loops import DEVICE_LOOPS
from .devices import devices
from .devices.drivers import runtime
from .operators.fast_loops import CudaLoops

DIRECT = ("fill_.Scalar", "zero_")
"""Operators with a composite for every device that would copy from the host."""


class Memories:
    """The allocators of all devices, as storages ask for them."""

    def at(self, device: Device) -> Any:
        """The allocator of one device."""
        return runtime().memory(device.index or 0)

    def allocate(self, nbytes: int) -> int:
        """Memory of the current device."""
        return runtime().memory(devices.current_device()).allocate(nbytes)

    def free(self, address: int, nbytes: int) -> None:
        """Take back what `allocate` gave."""
        runtime().memory(devices.current_device()).free(address, nbytes)


def run(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The boxed kernel of the key CUDA: what the driver in use has for it."""
    if hasattr(runtime().driver, "enqueue"):
        from .operators.kernels import run_deferred

        return run_deferred(operator, keys, args, kwargs)
    from .operators.fallback import run_on_gpu

    return run_on_gpu(operator, keys, args, kwargs)


def _copy(*args: Any) -> Any:
    """Copy between devices; see `copy_cuda`."""
    from .operators.copies import copy_cuda

    return copy_cuda(*args)


def _join() -> None:
    register_allocator("cuda", Memories())
    ELSEWHERE["cuda"] = _copy
    DEVICE_LOOPS["cuda"] = CudaLoops()
    REGISTRY.register_fallback("CUDA", run, own=True)
    for name in DIRECT:
        REGISTRY.register(name, "CUDA", Registration(run, "kernel", boxed=True), own=True)


_join()
