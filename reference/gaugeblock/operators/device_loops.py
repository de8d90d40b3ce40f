"""Loops over the memory of other devices, as fast entries call them: what a device registers under its type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..core.device import Device
from ..dispatch.operator import Operator
from ..kernels.bound_call import Fresh, Into
from ..kernels.pointwise import Launch
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta
from .plan import Plannable


class DeviceLoops(Protocol):
    """A device that can run the loops of the CPU's plans."""

    def on_host(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands of a call, its tensors replaced by tensors of the CPU at the same addresses; for plans only."""

    def meta(self, meta: TensorMeta, device: Device) -> TensorMeta:
        """The same sizes, strides and dtype on the device."""

    def entry(self, operator: str, launch: Launch, operands: tuple[Any, ...]) -> Callable[..., None]:
        """Return the function that puts the loop on the current stream. It takes the result's address, the addresses
        and numbers of the operands, and a number that it does not use."""


DEVICE_LOOPS: dict[str, DeviceLoops] = {}
"""Device type -> its loops."""


def device_call(
    operator: Operator, values: Sequence[Any], options: Mapping[str, Any], given: Sequence[Any]
) -> Fresh | Into | None:
    """Return the call of a pointwise operator on tensors of one device; None where it has no loop for just `given`. The
    CPU's kernel plans for tensors of the CPU at the same addresses."""
    tensors = [one for one in values if isinstance(one, Tensor)]
    if not tensors:
        return None
    device = tensors[0].meta.device
    loops, kernel = DEVICE_LOOPS.get(device.type), operator.active("CPU")
    if loops is None or kernel is None or not isinstance(kernel.function, Plannable) or kernel.function.loop is None:
        return None
    plain = all(one.meta.device is device and not one.meta.lazy and one.meta.numel for one in tensors)
    if not plain or options:
        return None
    host = loops.on_host(tuple(values))
    loop = kernel.function.loop(*host)
    if loop is None or len(loop.operands) != len(given):
        return None
    place = {id(one): values[k] for k, one in enumerate(host)}
    if any(place.get(id(operand)) is not one for operand, one in zip(loop.operands, given, strict=True)):
        return None
    run = loops.entry(operator.name, loop.launch, tuple(values))
    if operator.name.partition(".")[0].endswith("_"):
        return Into(run, (loop.launch.count,), loop.limited, read=True, elementwise=True)
    return Fresh(run, (loops.meta(loop.result, device),), (loop.launch.count,), loop.limited)
