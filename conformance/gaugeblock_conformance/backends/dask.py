"""Dask: NumPy arrays in chunks, computed lazily."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..backend import Array, Unsupported
from .array_api import ArrayApiBackend
from .dask_table import DASK


class DaskBackend(ArrayApiBackend):
    """The installed Dask; every tensor lies in two chunks along each dim.

    The suite asks for results and errors of each call, so each call is computed, in this thread, before it returns.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    tables = (*ArrayApiBackend.tables, DASK)
    # Of arrays whose sizes are not known before they are computed, Dask stacks none.
    lacks = frozenset({"nonzero", "argwhere"})
    clips_slices = True

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"dask: device must be 'cpu', not {device!r}")
        self.dask = importlib.import_module("dask")
        super().__init__(importlib.import_module("dask.array"), "dask", "import dask.array as xp")

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "Dask has no tensors that ask for gradients")
        chunks = tuple(max(1, (n + 1) // 2) for n in array.shape)
        return self.namespace.from_array(np.array(array, order="C"), chunks=chunks)

    def finished(self, result: Any) -> Any:
        if isinstance(result, self.namespace.Array):
            result = result.persist(scheduler="synchronous")
            return result.compute_chunk_sizes() if any(np.isnan(n) for n in result.shape) else result
        return super().finished(result)

    def to_numpy(self, tensor: Any) -> Array:
        return np.array(tensor.compute(scheduler="synchronous"))
