"""An operator on copies in host memory: what waits for values, and what has no kernel for the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.device import Device, cpu
from ...dispatch.dispatcher import REGISTRY, Operator, call, redispatch
from ...memory.devices import read_device
from ...memory.elements import write_bytes
from ...memory.storage import Storage, allocate_storage
from ...operators.copy import copy_values
from ...operators.generator import Generator
from .deferred import plain_state
from .operands import Operands
from .outlined_call import HOST_KEYS, Results, change_written, keys_for
from .twins import Twins


def on_host(
    operator: Operator, operands: Operands, args: tuple[Any, ...], kwargs: Mapping[str, Any],
    generator: Generator | None,
) -> Any:  # fmt: skip
    """Wait for the current stream, run `operator` on the CPU, bring to the device what it gives and wrote."""
    with plain_state(generator):
        if not operands.tensors:
            return _made_here(operator, operands.device, args, kwargs)
        copies = Twins(cpu, _copied, lambda tensor: tensor)
        given = [copies.of(value) for value in args]
        options = {name: cpu if isinstance(value, Device) else copies.of(value) for name, value in kwargs.items()}
        found = redispatch(operator, keys_for(HOST_KEYS, given, options), *given, **options)
        change_written(operands, copies)
        for tensor, copy in copies.pairs:
            if any(tensor is one for one in operands.written):
                copy_values(tensor, copy)
        made = Results(copies, operands)
        results = made.of(found)
        for tensor, source in made.fresh:
            copy_values(tensor, source)
        return results


def _copied(storage: Storage) -> Storage:
    made = allocate_storage(storage.nbytes)
    made.resizable = storage.resizable
    if storage.nbytes:
        write_bytes(made.pointer, read_device(storage.device, storage.pointer, storage.nbytes))
    return made


def _made_here(operator: Operator, device: Device, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """A call without tensors: made on the CPU, and copied."""
    made = call(operator, *args, **{**kwargs, "device": cpu})
    return call(REGISTRY.find("to.device"), made, device, None, False, False, None)
