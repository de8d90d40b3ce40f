"""Importing this module imports every module and package of operators, each of which registers its kernels.

Adding one needs no entry here. A package says which of its modules has which operator; those are loaded later.
"""

from __future__ import annotations

import os
from importlib import import_module

from ..core.gc_pause import with_gc_paused
from ..dispatch.dispatcher import REGISTRY
from ..tensor.view_table import METADATA, VIEWS
from .pointwise_operators import register_pointwise


@with_gc_paused
def register_all() -> None:
    """Register all kernels, then treat later registrations as overrides."""
    register_pointwise()
    for table in (VIEWS, METADATA):
        for name, function in table.items():
            if name in REGISTRY.operators:
                REGISTRY.put(name, ("CompositeExplicitAutograd",), function)
    for file in sorted(os.listdir(os.path.dirname(__file__))):
        name, extension = os.path.splitext(file)
        if extension in (".py", "") and name not in ("__init__", "__pycache__", "formulas", "registered"):
            import_module(f".{name}", __package__)
    REGISTRY.seal()


register_all()
