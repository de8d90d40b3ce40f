"""An operator on copies in host memory: what waits for values, and what has no kernel for the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.device import Device, cpu
from ..dispatch.dispatcher import call
from ..dispatch.operator import Operator
from ..dispatch.registry import REGISTRY
from ..operators.generator import Generator
from ..utils.fallback import cpu_fallback
from .deferred import plain_state


class HostCall:
    """An operator as cpu_fallback calls it, its arguments already those of the schema."""

    __slots__ = ("_operator", "_opname")

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._opname = operator.name.partition(".")[0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call(self._operator, *args, **kwargs)


def on_host(
    operator: Operator, device: Device, args: tuple[Any, ...], kwargs: Mapping[str, Any], generator: Generator | None
) -> Any:
    """Wait for the current stream, run `operator` on the CPU, bring to the device what it gives and wrote."""
    with plain_state(generator):
        if "device" not in kwargs:
            return cpu_fallback(HostCall(operator), *args, **kwargs)
        made = call(operator, *args, **{**kwargs, "device": cpu})
        return call(REGISTRY.find("to.device"), made, device, None, False, False, None)
