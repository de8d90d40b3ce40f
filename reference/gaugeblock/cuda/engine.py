"""Joining CUDA devices to the engine, where one is first named for a tensor: their memory, copies and kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.device import Device
from ..dispatch.dispatcher import REGISTRY, Operator, Registration
from ..kernels.pointwise import Launch
from ..memory.storage import register_allocator, registered_allocator
from ..operators.copy import ELSEWHERE
from ..operators.device_loops import DEVICE_LOOPS
from ..tensor.tensor_meta import TensorMeta
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
    ELSEWHERE["cuda"] = _copy
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


# What launches something is imported when it is first called.


def run(operator: Operator, keys: int, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The boxed kernel of the key CUDA; see `fallback.run`."""
    from .operators import fallback

    return fallback.run(operator, keys, args, kwargs)


def _copy(*args: Any) -> Any:
    """Copy between devices; see `copy_cuda`."""
    from .operators.copies import copy_cuda

    return copy_cuda(*args)


class Loops:
    """CUDA devices as DEVICE_LOOPS has them, whichever driver is in use."""

    def on_host(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tensors of the CPU at the same addresses."""
        from .operators.meta_call import host_aliases

        aliases: tuple[Any, ...] = host_aliases().of(operands)
        return aliases

    def meta(self, meta: TensorMeta, device: Device) -> TensorMeta:
        """Return `meta` with another device."""
        from .operators.meta_call import meta_elsewhere

        return meta_elsewhere(meta, device)

    def entry(self, operator: str, launch: Launch, operands: tuple[Any, ...]) -> Callable[..., None]:
        """Return what puts the loop on the current stream; see `loop_entry`."""
        from .operators.pointwise import loop_entry

        return loop_entry(operator, launch, operands)
