"""Neural networks: ``nn.functional`` with torch.nn.functional's names, ``nn.operators`` for the operators behind it;
``nn.Parameter``, ``nn.Module`` and ``nn.Linear``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import functional as functional
from . import operators as operators

_MODULES = {"Linear": "linear", "Module": "module", "Parameter": "parameter"}
"""Class -> its module, imported on first access."""


def __getattr__(name: str) -> Any:
    if name in ("linear", "module", "parameter"):
        return import_module(f".{name}", __name__)
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
