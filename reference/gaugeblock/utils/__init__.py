"""Utilities under torch.utils' names: a new device from outside, dispatch modes."""

from __future__ import annotations

from ..dispatch.private_device import rename_privateuse1_backend
from ..memory.devices import register_allocator
from .fallback import cpu_fallback

__all__ = ["cpu_fallback", "register_allocator", "rename_privateuse1_backend"]
