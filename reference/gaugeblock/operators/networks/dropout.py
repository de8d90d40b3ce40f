"""The dropout family: elements or whole channels left out at random."""

from __future__ import annotations

import math
from collections.abc import Callable

from ...core.dtype import bool_
from ...tensor.tensor import Tensor
from ..invoke import apply
from ..pointwise_call import SELU_ALPHA, SELU_SCALE

SATURATION = SELU_ALPHA * SELU_SCALE
"""Minus what alpha dropout puts in place of an element, before mean and variance are put right."""


def _check(operator: str, p: float) -> None:
    if p < 0 or p > 1:
        raise RuntimeError(f"{operator}(): dropout probability has to be between 0 and 1, but got {p}")


def _noise(input: Tensor, p: float, whole_channels: bool) -> Tensor:
    """1 with probability 1 - p, else 0, for each element or for each channel (dim 1) of each sample."""
    if not whole_channels:
        return apply("bernoulli_.float", apply("empty_like", input), 1 - p)
    own = input.meta.sizes
    sizes = own[:2] + (1,) * (len(own) - 2)
    return apply("bernoulli_.float", apply("new_empty", input, sizes), 1 - p)


def _family(operator: str, *, whole_channels: bool, alpha: bool) -> Callable[..., Tensor]:
    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        _check(operator, p)
        if p == 0 or not train or not input.meta.numel:
            return input
        if p == 1:
            return apply("mul.Tensor", input, apply("zeros_like", input))
        if whole_channels and input.meta.ndim < 2:
            raise RuntimeError(
                f"{operator}(): Feature dropout requires at least 2 dimensions in the input, got {input.meta.ndim}"
            )
        noise = _noise(input, p, whole_channels)
        if not alpha:
            return apply("mul.Tensor", input, apply("div.Scalar", noise, 1 - p))
        factor = 1.0 / math.sqrt((SATURATION**2 * p + 1) * (1 - p))
        shift = apply("mul.Scalar", apply("sub.Scalar", noise, 1), SATURATION * factor)
        shift = apply("add.Scalar", shift, SATURATION * factor * p)
        return apply("add.Tensor", apply("mul.Tensor", input, apply("mul.Scalar", noise, factor)), shift)

    drop.__name__ = drop.__qualname__ = operator
    return drop


feature_dropout = _family("feature_dropout", whole_channels=True, alpha=False)
alpha_dropout = _family("alpha_dropout", whole_channels=False, alpha=True)
feature_alpha_dropout = _family("feature_alpha_dropout", whole_channels=True, alpha=True)
_dropout = _family("dropout", whole_channels=False, alpha=False)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each element 0 with probability p, else divided by 1 - p; the input itself outside training."""
    return _dropout(input, p, train)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """(dropout of the input, which elements are kept); without `train` (False) all are."""
    if train is False or not input.meta.numel:
        return apply("clone", input), apply("ones_like", input, dtype=bool_)
    kept = apply("bernoulli_.float", apply("empty_like", input, dtype=bool_), 1 - p)
    scale = 0.0 if p == 1 else 1.0 / (1.0 - p)
    return apply("mul.Scalar", apply("mul.Tensor", input, kept), scale), kept
