"""The dropout family with torch.nn.functional's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..calls.functions import ops
from ..core.errors import type_error
from .checked import named, with_inplace


def _check(operator: str, p: float, training: bool) -> None:
    if not isinstance(p, int | float):
        type_error(operator, "p", p, "float")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{operator}(): dropout probability has to be between 0 and 1, but got {p}")


dropout = with_inplace(
    "dropout", "Each element 0 with probability p, else divided by 1 - p; nothing outside training.", _check,
    p=0.5, training=True,
)  # fmt: skip
alpha_dropout = with_inplace(
    "alpha_dropout", "dropout to the saturation of selu, that keeps mean and variance.", _check, p=0.5, training=False
)
feature_alpha_dropout = with_inplace(
    "feature_alpha_dropout", "alpha_dropout of whole channels.", _check, p=0.5, training=False
)


def _channel_dropout(dims: int) -> Callable[..., Any]:
    name = f"dropout{dims}d"

    def channel_dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        _check(name, p, training)
        if dims == 1 and input.ndim not in (2, 3):
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input.")
        drop = ops.feature_dropout_ if inplace else ops.feature_dropout
        if input.ndim == dims + 1 and dims != 2:
            result = drop(input.unsqueeze(0), p, training).squeeze(0)
            return input if inplace else result
        return drop(input, p, training)

    return named(channel_dropout, name, f"dropout of whole channels that have {dims} dims; without a batch too.")


dropout1d, dropout2d, dropout3d = (_channel_dropout(dims) for dims in (1, 2, 3))
