"""Calls with out=: a runner's result, copied into a small tensor of just the result's geometry.

Larger results, and all others, are written by the operator's own out= form.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..core.device import cpu
from ..tensor.geometry import Geometry
from ..tensor.tensor import Tensor
from ..tensor.versions import bump_version

SMALL_BYTES = 16384
"""A copy of this size costs less than what the general path does beside the operator's work."""


def writable(geometry: Geometry) -> bool:
    """Whether tensors of a geometry may take results by a copy of their bytes."""
    small = 0 < geometry.nbytes <= SMALL_BYTES and geometry.contiguous
    return small and geometry.device is cpu and not geometry.lazy and not geometry.watched


def fills(result: Any, geometry: Geometry) -> bool:
    """Whether a result is one tensor of this geometry."""
    return result.__class__ is Tensor and result.geometry is geometry


def writing(runner: Any, geometry: Geometry) -> Callable[..., Tensor | None]:
    """The function of out= and the runner's arguments; it gives None where out= shares memory with one of them."""
    if runner.__class__ is tuple:
        kernel, _, tail = runner

        def run(out: Tensor, self: Tensor) -> Tensor | None:
            if out.storage_impl is self.storage_impl:
                return None
            bump_version(out)
            kernel(out.pointer, self.pointer, *tail)
            return out

        return run
    memmove, nbytes = ctypes.memmove, geometry.nbytes

    def copy(out: Tensor, *values: Any) -> Tensor | None:
        if shares(out, values):
            return None
        result = runner(*values)
        if result is None or result.geometry is not geometry:
            return None
        bump_version(out)
        memmove(out.pointer, result.pointer, nbytes)
        return out

    return copy


def shares(out: Tensor, values: Any) -> bool:
    """Whether a tensor among the values, those in lists included, is on the storage of `out`."""
    storage = out.storage_impl
    for value in values:
        kind = value.__class__
        if kind is Tensor:
            if value.storage_impl is storage:
                return True
        elif kind in (list, tuple) and shares(out, value):
            return True
    return False
