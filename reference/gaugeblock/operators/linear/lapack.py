"""NumPy's linear algebra, called so that Ctrl-C is answered during long calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.away import away

STEPS = {"svd": 64.0, "eig": 256.0, "eigvals": 128.0, "eigh": 64.0, "eigvalsh": 32.0, "qr": 16.0}
"""Steps for each element and column of a matrix, about; 8 for the others."""


def _work(name: str, array: Any) -> float:
    """Steps that a decomposition of a stack of matrices takes, about."""
    shape = np.shape(array)
    return STEPS.get(name, 8.0) * float(np.prod(shape)) * min(shape[-2:]) if len(shape) > 1 else 0.0


def _interruptible(name: str) -> Callable[..., Any]:
    function = getattr(np.linalg, name)

    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        return away(_work(name, array), function, array, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"``numpy.linalg.{name}``."
    return call


svd, qr, eig, eigvals, eigh, eigvalsh, solve, inv, det, slogdet, cholesky = map(
    _interruptible, "svd qr eig eigvals eigh eigvalsh solve inv det slogdet cholesky".split()
)
