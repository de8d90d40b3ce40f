"""Kernels that work on copies in host memory: for layouts whose kernels on a device are those of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.device import Device, cpu
from ..dispatch.dispatcher import REGISTRY, call
from ..dispatch.keys import map_tensors, tensors_in
from ..iteration.tensor_iterator import common_device
from ..tensor.tensor import Tensor


class HostCopies:
    """Copies of tensors in host memory; tensors that are there already stand for themselves."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Tensor, Tensor]] = []

    def of(self, tensor: Tensor) -> Tensor:
        """Return the copy of a tensor, the same each time."""
        if tensor.meta.device is cpu:
            return tensor
        known = next((copy for one, copy in self.pairs if one is tensor), None)
        if known is None:
            known = on_device(tensor, cpu)
            self.pairs.append((tensor, known))
        return known

    def results_on(self, device: Device) -> Callable[[Tensor], Tensor]:
        """Return what gives a result of a call its place: the tensor that it is a copy of, else one on the device."""

        def found(made: Tensor) -> Tensor:
            known = next((one for one, copy in self.pairs if copy is made), None)
            return on_device(made, device) if known is None else known

        return found


def on_device(tensor: Tensor, device: Device) -> Tensor:
    """Return a tensor on a device."""
    return call(TO_DEVICE, tensor, device)  # type: ignore[no-any-return]


def write_back(tensor: Tensor, copy: Tensor) -> None:
    """Give a strided tensor the elements of its copy."""
    call(COPY, tensor, copy)


def on_host(name: str, write: Callable[[Tensor, Tensor], None] = write_back) -> Callable[..., Any]:
    """Return the kernel that makes copies of its tensors in host memory, calls the operator of a name on them, and puts
    on the device what it gives; `write` gives a tensor what its copy was changed to. It raises RuntimeError for tensors
    on several devices."""
    operator = REGISTRY.find(name)
    written = [(place, one.name) for place, one in enumerate(operator.schema.arguments) if one.written]

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = [*tensors_in(args), *tensors_in(kwargs.values())]
        device = common_device([one.meta for one in given], allow_cpu_scalars=True)
        copies = HostCopies()
        found = call(operator, *map_tensors(copies.of, args), **map_tensors(copies.of, kwargs))
        for value in (args[place] if place < len(args) else kwargs.get(argument) for place, argument in written):
            for tensor in tensors_in((value,)):
                write(tensor, copies.of(tensor))
        return map_tensors(copies.results_on(device), found)

    kernel.__name__ = kernel.__qualname__ = name.partition(".")[0]
    return kernel


COPY, TO_DEVICE = REGISTRY.find("copy_"), REGISTRY.find("to.device")
