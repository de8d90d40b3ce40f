"""Dask: NumPy arrays in chunks, computed lazily."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..backend import Array, Unsupported, dtype_name
from ..case import TensorCase
from ..dialect import array_literal
from .array_api import ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .array_api_rules import RULES
from .array_api_table import STANDARD
from .dask_table import DASK
from .numpy_rules import POWER


def _chunks(sizes: Sequence[int]) -> tuple[int, ...]:
    return tuple(max(1, (n + 1) // 2) for n in sizes)


class DaskDialect(ArrayApiDialect):
    """Snippets with chunked arrays."""

    def create(self, target: str, source: TensorCase | Array) -> list[str]:
        if isinstance(source, TensorCase) or 0 in source.shape[:-1]:
            return super().create(target, source)
        return [f"{target} = {self._array(array_literal(source), dtype_name(source.dtype), source.shape)}"]

    def shaped(self, data: str, dtype: str, sizes: tuple[int, ...]) -> str:
        return self._array(data, dtype, sizes, "" if len(sizes) == 1 else f".reshape({sizes!r})")

    def _array(self, data: str, dtype: str, sizes: tuple[int, ...], reshape: str = "") -> str:
        return f"{self.alias}.from_array(np.array({data}, dtype={dtype!r}){reshape}, chunks={_chunks(sizes)!r})"


class DaskBackend(ArrayApiBackend):
    """The installed Dask; every tensor lies in two chunks along each dim.

    The suite asks for results and errors of each call, so each call is computed, in this thread, before it returns.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    tables = (*ArrayApiBackend.tables, DASK)
    capabilities = ArrayApiBackend.capabilities - {"sort"}
    # Of arrays whose sizes are not known before they are computed, Dask stacks none; spectra want one chunk along the
    # dim, decompositions one matrix; the others have no function.
    lacks = frozenset(
        """nonzero argwhere pow.Tensor_Tensor sort sort.stable argsort argsort.stable unbind.int take_along_dim outer
        is_floating_point is_complex""".split()
    ) | {name for name in STANDARD if name.startswith(("fft_", "linalg_"))}
    rules = (*RULES, POWER)
    clips_slices = True
    refuses_sizes = False  # Arrays larger than memory are what Dask is for.

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"dask: device must be 'cpu', not {device!r}")
        self.dask = importlib.import_module("dask")
        super().__init__(importlib.import_module("dask.array"), "dask")
        self.dialect = DaskDialect(self.table, "import dask.array as xp")

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if operator == "__getitem__" and not self.shape(args[0]) and self.is_array(args[1]):
            raise Unsupported(operator, "Dask indexes along dims")
        return super()._run(operator, args, kwargs)

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "Dask has no tensors that ask for gradients")
        self.native(dtype_name(array.dtype))
        return self.namespace.from_array(np.array(array, order="C"), chunks=_chunks(array.shape))

    def finished(self, result: Any) -> Any:
        if isinstance(result, self.namespace.Array):
            if all(isinstance(part, np.ndarray) for part in dict(result.dask).values()):
                return result
            result = result.persist(scheduler="synchronous")
            return result.compute_chunk_sizes() if any(np.isnan(n) for n in result.shape) else result
        return super().finished(result)

    def to_numpy(self, tensor: Any) -> Array:
        return np.array(tensor.compute(scheduler="synchronous"))
