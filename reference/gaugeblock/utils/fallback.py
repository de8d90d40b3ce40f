"""cpu_fallback: a boxed kernel that runs any operator on the CPU for a device that lacks it."""

from __future__ import annotations

from typing import Any

from ..core.device import Device, cpu
from ..dispatch.dispatcher import REGISTRY, call, check_one_device
from ..dispatch.keys import map_tensors, tensors_in
from ..iteration.dimensions import resize_output
from ..library.op_overload import OpOverload
from ..operators.copy import host_image
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import contiguous_meta

INDEXED = frozenset({"index", "index_put", "index_put_", "_index_put_impl_"})
"""Operators whose index tensors may lie on the CPU."""


def cpu_fallback(op: OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Run `op` on host copies of its tensors and bring results, and what it wrote, to the device.

    Meant for ``Library("_", "IMPL").fallback(cpu_fallback, "PrivateUse1")``. Raises RuntimeError for tensors on
    several devices, except 0-dim ones on the CPU.
    """
    operator = op._operator
    if op._opname not in INDEXED:
        check_one_device(operator, (*args, *kwargs.values()))
    place = _device((*args, *kwargs.values()))
    pairs: list[tuple[Tensor, Tensor]] = []

    def here(value: Tensor) -> Tensor:
        if value.meta.device is cpu:
            return value
        for original, image in pairs:
            if original is value:
                return image
        pairs.append((value, host_image(value)))
        return pairs[-1][1]

    def there(value: Tensor) -> Any:
        for original, image in pairs:
            if image is value:
                return original
        return call(REGISTRY.find("to.device"), value, place, None, False, False, None)

    options = map_tensors(here, kwargs)
    if isinstance(options.get("device"), Device):
        options["device"] = cpu
    result = op(*map_tensors(here, args), **options)
    written = {argument.name for argument in operator.schema.arguments if argument.written}
    for name, value in operator.by_name(args, kwargs).items():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if name in written or name == "out":
                _bring_back(part, pairs)
    return map_tensors(there, result)


def _device(values: tuple[Any, ...]) -> Device:
    """The device other than the CPU that the arguments name or lie on."""
    for value in values:
        places = [value] if isinstance(value, Device) else [one.meta.device for one in tensors_in([value])]
        for place in places:
            if place is not cpu:
                return place
    return cpu


def _bring_back(original: Any, pairs: list[tuple[Tensor, Tensor]]) -> None:
    for tensor, image in pairs:
        if tensor is original:
            if tensor.meta.sizes != image.meta.sizes:
                there = contiguous_meta(image.meta.sizes, tensor.meta.dtype, tensor.meta.device)
                resize_output(tensor, there, silent=True)
            call(REGISTRY.find("copy_"), tensor, image, False)
