"""Importing this module imports every module beside it, each of which registers its kernels; adding one needs no entry.

Those in the folders are loaded when they are first needed: the tables of `deferred` say which has which operator.
"""

from __future__ import annotations

import os
from importlib import import_module

from ..core.gc_pause import with_gc_paused
from ..dispatch.dispatcher import REGISTRY
from ..tensor.view_table import METADATA, VIEWS
from .deferred import register_deferred
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
        if extension == ".py" and name not in ("__init__", "registered"):
            import_module(f".{name}", __package__)
    register_deferred()
    REGISTRY.seal()


register_all()
