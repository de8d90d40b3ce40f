"""Neural networks: ``nn.functional`` with torch.nn.functional's names, ``nn.operators`` for the operators behind it;
``nn.Parameter``, ``nn.Module``, and modules with torch.nn's names and state dicts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from . import functional as functional
from . import operators as operators

_MODULES = {
    name: module
    for module, names in {
        "module": "Module",
        "parameter": "Parameter",
        "containers": "Flatten Identity ModuleDict ModuleList Sequential",
        "layers": """BatchNorm1d BatchNorm2d BatchNorm3d Conv1d Conv2d Conv3d Embedding GroupNorm LayerNorm Linear
            RMSNorm""",
    }.items()
    for name in names.split()
}
"""Class -> its module, imported on first access. Those of one function each are in a table of `function_layers`."""


def __getattr__(name: str) -> Any:
    if name in _MODULES.values() or name == "function_layers":
        return import_module(f".{name}", __name__)
    if name in _MODULES:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    found = None if name[:1] == "_" else _classes().get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def _classes() -> dict[str, Any]:
    classes: dict[str, Any] = import_module(".function_layers", __name__).CLASSES
    return classes


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_classes()})
