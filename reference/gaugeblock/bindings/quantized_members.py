"""Methods of quantized tensors; the package behind them is loaded when one is first called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from ..tensor.tensor import Tensor

METHODS = (
    "dequantize", "int_repr", "q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points",
    "q_per_channel_axis", "qscheme",
)


@cache
def _function(name: str) -> Callable[[Tensor], Any]:
    found: Callable[[Tensor], Any] = getattr(import_module("..quantized.functions", __package__), name)
    return found


def _later(name: str) -> Callable[..., Any]:
    def method(self: Tensor) -> Any:
        return _function(name)(self)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


for _name in METHODS:
    setattr(Tensor, _name, _later(_name))
Tensor.is_quantized = property(  # type: ignore[attr-defined]
    lambda self: self.meta.dtype.quantized, doc="Whether the elements are integers with a scale and a zero point."
)
