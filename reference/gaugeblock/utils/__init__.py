"""Utilities under torch.utils' names: a new device from outside, dispatch modes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..dispatch.table import rename_privateuse1_backend
from ..memory.storage import register_allocator
from .fallback import cpu_fallback

__all__ = ["cpu_fallback", "register_allocator", "rename_privateuse1_backend"]


def __getattr__(name: str) -> Any:
    if name in ("_python_dispatch", "checkpoint", "dlpack"):
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
