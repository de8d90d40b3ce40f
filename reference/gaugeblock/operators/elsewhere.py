"""What every device has that has memory: allocation, copies and conversions, unless it registers kernels of its own."""

from __future__ import annotations

from ..dispatch.registry import REGISTRY
from . import allocation, conversion, copy

NAMES = (
    "empty.memory_format", "empty_strided", "copy_", "clone", "to.dtype", "to.device", "to.other", "to.dtype_layout",
    "type_as",
)  # fmt: skip
"""Operators whose CPU kernels reach other devices through their allocators."""
MODULES = (allocation, conversion, copy)


def register() -> None:
    """Register the CPU kernels of these operators for all devices that have none."""
    for name in NAMES:
        entry = REGISTRY.find(name).active("CPU")
        assert entry is not None and entry.function is not None
        REGISTRY.register(name, "CompositeExplicitAutograd", entry.function)


register()
