"""gaugeblock's own engine, driven through the same adapter as PyTorch: its names are torch's."""

from __future__ import annotations

import importlib
from typing import Any

from ..dialect import TorchDialect
from .torch_style import CAPABILITIES, WRITERS, TorchStyleBackend


class ReferenceBackend(TorchStyleBackend):
    """The reference engine on ``device``."""

    capabilities = CAPABILITIES | {"alloc.pluggable", "blob", "iter.introspect", "deterministic"}

    def __init__(self, device: str = "cpu") -> None:
        engine = importlib.import_module("gaugeblock")
        super().__init__(engine, device, "reference")
        self.dialect = TorchDialect("gaugeblock", "gb", device, special=WRITERS)

    def storage_id(self, tensor: Any) -> Any:
        return id(tensor.storage)
