"""What every device has that has memory: allocation, copies and conversions, unless it registers kernels of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dispatch.dispatcher import FALLTHROUGH, REGISTRY, Operator, call
from ..tensor.tensor import Tensor
from . import allocation, conversion, copy

NAMES = (
    "empty.memory_format", "empty_strided", "copy_", "clone", "to.dtype", "to.device", "to.other", "to.dtype_layout",
    "type_as",
)  # fmt: skip
"""Operators whose CPU kernels reach other devices through their allocators."""
WITH_NUMBERS = {
    **{f"{base}{mark}.Scalar": f"{base}{mark}.Tensor" for base in ("add", "sub", "mul", "div") for mark in ("", "_")},
    "div.Scalar_mode": "div.Tensor_mode",
    "div_.Scalar_mode": "div_.Tensor_mode",
    "floor_divide.Scalar": "floor_divide",
    "floor_divide_.Scalar": "floor_divide_.Tensor",
}
"""Operators with a number that are those of two tensors, whose kernels take numbers too."""
QUERIES = ("is_floating_point", "is_complex", "is_signed")
"""Questions about metadata, which no mode sees."""
MODULES = (allocation, conversion, copy)


def register() -> None:
    """Register the CPU kernels of these operators for all devices that have none."""
    for name in NAMES:
        entry = REGISTRY.find(name).active("CPU")
        assert entry is not None and entry.function is not None
        REGISTRY.register(name, "CompositeExplicitAutograd", entry.function)
    for name, other in WITH_NUMBERS.items():
        REGISTRY.register(name, "CompositeExplicitAutograd", _with_number(REGISTRY.find(other)))
    for name in QUERIES:
        REGISTRY.register(name, "Python", FALLTHROUGH)


def _with_number(operator: Operator) -> Callable[..., Any]:
    def run(self: Tensor, other: Any, alpha: Any = 1, **options: Any) -> Any:
        plain = alpha.__class__ is int and alpha == 1
        return call(operator, self, other, **options) if plain else call(operator, self, other, alpha=alpha)

    run.__qualname__ = operator.name
    return run


register()
