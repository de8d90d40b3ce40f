"""Where a cuda device is named for a tensor: it gets its index, and the engine its kernels, memory and copies."""

from __future__ import annotations

from importlib import import_module

from ..core.device import Device
from ..memory.devices import registered_allocator
from .devices import devices


def placed(device: Device) -> Device:
    """A cuda device with its index; the first call joins the device to the engine.

    RuntimeError when it is not there. Memory that a program has registered for "cuda" itself needs no driver.
    """
    memory = registered_allocator("cuda")
    if memory is not None and not hasattr(memory, "at"):
        return device
    found = devices.placed(device)
    if memory is None:
        import_module(".engine", __package__)
    return found
