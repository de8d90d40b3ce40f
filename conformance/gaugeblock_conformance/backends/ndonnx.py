"""ndonnx: arrays of the array API standard, computed by ONNX."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..backend import Array, Unsupported, dtype_name
from .array_api import ArrayApiBackend
from .array_api_dialect import ArrayApiDialect
from .array_api_rules import RULES
from .array_api_table import STANDARD


class NdonnxDialect(ArrayApiDialect):
    """Snippets that read values by ndonnx's own call, since ``np.array`` makes objects of its arrays."""

    def expression(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if operator == "tolist" and not kwargs:
            return f"{self.literal(args[0])}.unwrap_numpy().tolist()"
        return super().expression(operator, args, kwargs)

    def whole(self, variable: str) -> str:
        return f"{variable}.unwrap_numpy().tolist()"

    def cell(self, variable: str, index: int) -> str:
        return f"{variable}.unwrap_numpy().reshape(-1)[{index}]"

    def element(self, variable: str, index: tuple[int, ...]) -> str:
        return f"{variable}.unwrap_numpy()[{', '.join(map(str, index)) or '()'}]"


class NdonnxBackend(ArrayApiBackend):
    """The installed ndonnx, whose arrays have values: their operators are computed when they are called.

    Raises:
        ValueError: a device other than ``"cpu"``.
    """

    capabilities = ArrayApiBackend.capabilities - {"complex"}
    lacks = frozenset("outer isin.Tensor_Tensor".split()) | {n for n in STANDARD if n.startswith(("fft_", "linalg_"))}
    rules = RULES
    any_index_dtype = False
    refuses_sizes = False
    longest_sum = 2**8

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError(f"ndonnx: device must be 'cpu', not {device!r}")
        super().__init__(importlib.import_module("ndonnx"), "ndonnx")
        self.dialect = NdonnxDialect(self.table, "import ndonnx as xp")

    def from_numpy(self, array: Array, requires_grad: bool = False) -> Any:
        if requires_grad:
            raise Unsupported("requires_grad", "ndonnx has no tensors that ask for gradients")
        self.native(dtype_name(array.dtype))
        return self.namespace.asarray(np.array(array))

    def _run(self, operator: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = super()._run(operator, args, kwargs)
        for part in result if isinstance(result, tuple | list) else (result,):
            if self.is_array(part) and not _has_value(part):
                raise Unsupported(operator, "ndonnx does not propagate its values, and promises it of no call")
        return result

    def to_numpy(self, tensor: Any) -> Array:
        return np.array(tensor.unwrap_numpy())


def _has_value(array: Any) -> bool:
    try:
        array.unwrap_numpy()
    except ValueError:
        return False
    return True
