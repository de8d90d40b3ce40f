"""Adapters of three lines over a module in torch's style that lacks some of torch."""

from __future__ import annotations

import types
from typing import Any

import gaugeblock
from gaugeblock_conformance.backends.torch_style import TorchStyleBackend


def _mul(x: Any, y: Any) -> Any:
    return x * y


class WithoutOut(TorchStyleBackend):
    """gaugeblock, of which ``mul`` takes no ``out=`` and no tensor can be resized."""

    def __init__(self) -> None:
        module = types.ModuleType("styled")
        vars(module).update(vars(gaugeblock) | {"__name__": "styled", "mul": _mul})
        super().__init__(module)
        self.probes = self.probes | {"resize": self._refuse}

    def _refuse(self) -> None:
        raise AttributeError("no resize_")
