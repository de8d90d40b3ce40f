"""An adapter over the reference that gives some operators arguments of its own."""

from __future__ import annotations

from typing import Any

import gaugeblock
from gaugeblock_conformance.backend import DType
from gaugeblock_conformance.backends.torch_style import WRITERS, TorchStyleBackend
from gaugeblock_conformance.dialect import TorchDialect


class Explicit(TorchStyleBackend):
    def __init__(self, device: str = "cpu") -> None:
        super().__init__(gaugeblock, device)
        self.dialect = TorchDialect("gaugeblock", "gb", special=WRITERS)

    def call(self, operator: str, *args: Any, **kwargs: Any) -> Any:
        if operator == "sum":
            return super().call(operator, *args, dtype=DType("int32"))
        if operator == "argsort":
            return super().call(operator, *args[:2], descending=True)
        if operator == "mean":
            super().call("sum", *args)
        if operator == "maximum":
            return super().call(operator, args[0], self.module.ones(1) * 2)
        return super().call(operator, *args, **kwargs)

    def storage_id(self, tensor: Any) -> Any:
        return id(tensor.storage_impl)
