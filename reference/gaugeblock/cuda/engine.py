"""Joining CUDA devices to the engine, where one is first named for a tensor: their memory, copies and kernels."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..core.device import Device
from ..dispatch.dispatcher import REGISTRY
from ..dispatch.operator import Registration
from ..memory.storage import register_allocator, registered_allocator
from ..operators.copy import ELSEWHERE
from ..operators.device_loops import DEVICE_LOOPS
from .devices import DeviceMemory, check_device_index, current_device, runtime

DIRECT = ("fill_.Scalar", "zero_")
"""Operators with a composite for every device that would copy from the host."""


def placed(device: Device) -> Device:
    """A cuda device with its index; the first call joins the devices to the engine.

    RuntimeError when it is not there. Memory that a program has registered for "cuda" itself needs no driver.
    """
    memory = registered_allocator("cuda")
    if memory is not None and not isinstance(memory, Memories):
        return device
    found = runtime().devices
    index = current_device() if device.index is None else check_device_index("device", device.index)
    if memory is None:
        _join()
    return found[index]


def _join() -> None:
    register_allocator("cuda", Memories())
    ELSEWHERE["cuda"] = _later(".operators.copies", "copy_cuda")
    DEVICE_LOOPS["cuda"] = Loops()
    REGISTRY.register_fallback("CUDA", run, own=True)
    for name in DIRECT:
        REGISTRY.register(name, "CUDA", Registration(run, "kernel", boxed=True), own=True)


class Memories:
    """The memory of all devices, as storages ask for it."""

    def at(self, device: Device) -> DeviceMemory:
        """The memory of one device."""
        return runtime().memory(device.index or 0)

    def allocate(self, nbytes: int) -> int:
        """Memory of the current device."""
        return runtime().memory(current_device()).allocate(nbytes)

    def free(self, address: int, nbytes: int) -> None:
        """Take back what `allocate` gave."""
        runtime().memory(current_device()).free(address, nbytes)


def _later(module: str, name: str) -> Callable[..., Any]:
    """Return a function of this package whose module is imported when it is first called: it launches something."""

    def call(*args: Any) -> Any:
        return getattr(import_module(module, __package__), name)(*args)

    return call


run = _later(".operators.fallback", "run")
"""The boxed kernel of the key CUDA."""


class Loops:
    """CUDA devices as DEVICE_LOOPS has them, whichever driver is in use."""

    on_host = staticmethod(_later(".operators.meta_call", "on_host"))
    meta = staticmethod(_later(".operators.meta_call", "meta_elsewhere"))
    entry = staticmethod(_later(".operators.pointwise", "loop_entry"))
