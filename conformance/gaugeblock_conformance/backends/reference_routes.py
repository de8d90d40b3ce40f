"""What the reference runs by loops of its own, and what by NumPy's functions: read off where its kernels are."""

from __future__ import annotations

import importlib
from typing import Any

from gaugeblock_spec import operators

NATIVE, FALLBACK = "native", "fallback"
# Modules of kernels that compile their loops for all operands, or move whole tensors.
_COMPILED = frozenset(
    """pointwise_operators reductions softmax joining copy conversion fill allocation
    networks.row_normalization numeric.components""".split()
)
# Packages and modules of kernels that NumPy carries: LAPACK, Fourier transforms, statistics.
_CARRIED = ("linear.", "spectral.", "numeric.")
_COMPOSITE = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")


def route(operator: str, key: str) -> str | None:
    """How the engine comes to the results of a schema name on the device of ``key``: ``native`` by a compiled loop of
    its own, ``fallback`` by other operators or by NumPy; None for views and where the operands decide."""
    row = operators.load().get(operator)
    if row is None or row.family in ("view", "metadata"):
        return None
    dispatch = importlib.import_module("gaugeblock.dispatch")
    has = dispatch.has_kernel_for_dispatch_key
    try:
        if has(operator, key):
            return _of_kernel(dispatch.REGISTRY.lookup(dispatch.REGISTRY.find(operator), key).function)
        return FALLBACK if any(has(operator, name) for name in _COMPOSITE) else None
    except (RuntimeError, ValueError):
        return None


def _of_kernel(function: Any) -> str | None:
    place = getattr(function, "_module", None) or getattr(function, "__module__", "")
    name = str(place).removeprefix("gaugeblock.operators").removeprefix(".")
    if name in _COMPILED:
        return NATIVE
    return FALLBACK if name.startswith(_CARRIED) else None
