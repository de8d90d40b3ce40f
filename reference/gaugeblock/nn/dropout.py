"""The dropout family with torch.nn.functional's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.errors import type_error
from .checked import either


def _check(operator: str, p: float) -> None:
    if not isinstance(p, int | float):
        type_error(operator, "p", p, "float")
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{operator}(): dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element 0 with probability p, else divided by 1 - p; nothing outside training."""
    _check("dropout", p)
    return either("dropout", inplace, input, p, training)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """dropout to the saturation of selu, that keeps mean and variance."""
    _check("alpha_dropout", p)
    return either("alpha_dropout", inplace, input, p, training)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """alpha_dropout of whole channels."""
    _check("feature_alpha_dropout", p)
    return either("feature_alpha_dropout", inplace, input, p, training)


def _channel_dropout(dims: int) -> Callable[..., Any]:
    def channel_dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        name = f"dropout{dims}d"
        _check(name, p)
        if dims == 1 and input.ndim not in (2, 3):
            raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.ndim}D input.")
        if input.ndim == dims + 1 and dims != 2:
            result = either("feature_dropout", inplace, input.unsqueeze(0), p, training).squeeze(0)
            return input if inplace else result
        return either("feature_dropout", inplace, input, p, training)

    channel_dropout.__name__ = channel_dropout.__qualname__ = f"dropout{dims}d"
    channel_dropout.__doc__ = f"dropout of whole channels that have {dims} dims; without a batch too."
    return channel_dropout


dropout1d, dropout2d, dropout3d = (_channel_dropout(dims) for dims in (1, 2, 3))
