"""Importing this module imports every operator module, each of which registers its kernels.

A module of this package registers its kernels when it is imported; adding one needs no entry here.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

from ..dispatch.registry import REGISTRY
from ..tensor.view_table import METADATA, VIEWS
from .pointwise import register_pointwise


def register_all() -> None:
    """Register all kernels, then treat later registrations as overrides."""
    register_pointwise()
    for table in (VIEWS, METADATA):
        for name, function in table.items():
            if name in REGISTRY.operators:
                REGISTRY.register(name, "CompositeExplicitAutograd", function)
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.ispkg and module.name != "registered":
            import_module(f".{module.name}", __package__)
    REGISTRY.seal()


register_all()
