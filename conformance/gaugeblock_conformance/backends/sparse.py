"""PyData's sparse: arrays that keep the elements other than a fill value, made dense where values are read."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..backend import Array, Unsupported, dtype_name
from .array_api import ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .array_api_rules import RULES
from .array_api_table import STANDARD


class SparseDialect(ArrayApiDialect):
    """Snippets with ``COO.from_numpy`` and ``todense``: sparse arrays become dense for nobody by themselves."""

    def tensor(self, data: str, dtype: str) -> str:
        return f"{self.alias}.COO.from_numpy(np.array({data}, dtype={dtype!r}))"

    def shaped(self, data: str, dtype: str, sizes: tuple[int, ...]) -> str:
        reshape = "" if len(sizes) == 1 else f".reshape({sizes!r})"
        return f"{self.alias}.COO.from_numpy(np.array({data}, dtype={dtype!r}){reshape})"

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if operator == "tolist" and not kwargs:
            return f"{self.literal(args[0])}.todense().tolist()"
        return super().expression(operator, args, kwargs)

    def whole(self, variable: str) -> str:
        return f"{variable}.todense().tolist()"

    def cell(self, variable: str, index: int) -> str:
        return f"{variable}.todense().reshape(-1)[{index}]"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.todense()[{', '.join(map(str, index)) or '()'}]"


class SparseBackend(ArrayApiBackend):
    """The installed sparse, with arrays of class COO.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    # Its index arrays are NumPy's, and so are the places that nonzero gives. Those of extremes are documented for
    # positive elements beside the fill value 0 alone.
    capabilities = ArrayApiBackend.capabilities - {"sort", "index.adv"}
    lacks = frozenset(
        """index_select nonzero argwhere
        sort sort.stable argsort argsort.stable searchsorted.Tensor count_nonzero count_nonzero.dim_IntList cumsum
        argmax argmin max.dim min.dim cumprod take_along_dim outer isin.Tensor_Tensor meshgrid.indexing linspace arange
        arange.start arange.start_step""".split()
    ) | {name for name in STANDARD if name.startswith(("fft_", "linalg_"))}
    rules = RULES
    refuses_sizes = False
    longest_sum = 2**8

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"sparse: device must be 'cpu', not {device!r}")
        super().__init__(importlib.import_module("sparse"), "sparse")
        self.dialect = SparseDialect(self.table, "import sparse as xp")

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "sparse has no tensors that ask for gradients")
        self.native(dtype_name(array.dtype))
        return self.namespace.COO.from_numpy(np.array(array))

    def to_numpy(self, tensor: Any) -> Array:
        return np.array(tensor.todense())

    def finished(self, result: Any) -> Any:
        if isinstance(result, np.ndarray | np.generic):
            return self.namespace.COO.from_numpy(np.asarray(result))
        return super().finished(result)
