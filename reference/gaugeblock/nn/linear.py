"""Linear: an affine map of the last dim."""

from __future__ import annotations

import math
from typing import Any

from ..calls.functions import ops
from ..tensor.tensor import Tensor
from .functional import linear
from .module import Module
from .parameter import Parameter


class Linear(Module):
    """Computes ``x @ weight.T + bias`` for x of shape ``(*, in_features)``. Weight and bias are drawn from U(-b, b)
    with b = 1 / sqrt(in_features). Source: torch.nn.Linear."""

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(ops.empty(out_features, in_features, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(ops.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for weight and bias."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        for parameter in self.parameters():
            parameter.data.uniform_(-bound, bound)  # type: ignore[attr-defined]

    def forward(self, input: Tensor) -> Any:
        """Return ``input @ weight.T + bias``, of shape ``(*, out_features)``."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the sizes and whether there is a bias, as text."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
