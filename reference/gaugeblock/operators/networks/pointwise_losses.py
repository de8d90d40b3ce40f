"""Losses that compare element by element: one fused pass, then the reduction."""

from __future__ import annotations

import numpy as np

from ...core.device import cpu
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..arrays import values
from ..invoke import apply
from .calls import evaluated
from .reduction import MEAN, reduced


def mse_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """(self - target)**2, reduced. Raises NotImplementedError for other than floats."""
    return reduced(evaluated("mse_loss", "squared_difference", (self, target)), reduction)


def l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """|self - target|, reduced."""
    return reduced(apply("abs", apply("sub.Tensor", self, target)), reduction)


def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = MEAN, beta: float = 1.0) -> Tensor:
    """Half the square over beta within beta, linear outside. Raises RuntimeError for a negative beta."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss(): smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return apply("l1_loss", self, target, reduction)
    return reduced(evaluated("smooth_l1_loss", "smooth_l1", (self, target), (beta,)), reduction)


def huber_loss(self: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Tensor:
    """Half the square within delta, linear outside. Raises RuntimeError for a delta not above 0."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss(): huber_loss does not support non-positive values for delta, got {delta}")
    return reduced(evaluated("huber_loss", "huber", (self, target), (delta,), result="input"), reduction)


def _weighted(loss: Tensor, weight: Tensor | None) -> Tensor:
    return loss if weight is None else apply("mul.Tensor", loss, weight)


def binary_cross_entropy(self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN) -> Tensor:
    """-(target log self + (1 - target) log(1 - self)), weighted, reduced; logarithms are -100 at least.

    Raises RuntimeError for elements of self outside [0, 1], NaN included, and for two dtypes.
    """
    own = self.meta.dtype
    for tensor in (target, *(() if weight is None else (weight,))):
        if tensor.meta.dtype is not own:
            raise RuntimeError(
                f"binary_cross_entropy(): Found dtype {UPSTREAM_NAMES[tensor.meta.dtype.name]} but expected "
                f"{UPSTREAM_NAMES[own.name]}"
            )
    loss = evaluated("binary_cross_entropy", "cross_entropy", (self, target))
    if self.meta.device is cpu:
        given = values(self)
        with np.errstate(all="ignore"):
            if given.size and not (given.min() >= 0 and given.max() <= 1):
                raise RuntimeError("binary_cross_entropy(): all elements of input should be between 0 and 1")
    return reduced(_weighted(loss, weight), reduction)


def binary_cross_entropy_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """binary_cross_entropy of the sigmoid of self, `pos_weight` weighing the part of target. Raises RuntimeError."""
    name = "binary_cross_entropy_with_logits"
    if pos_weight is None:
        loss = evaluated(name, "cross_entropy_of_logits", (self, target))
    else:
        loss = evaluated(name, "cross_entropy_of_logits.weighted", (self, target, pos_weight))
    if loss.meta.sizes != target.meta.sizes:
        raise RuntimeError(
            f"{name}(): output with shape {list(target.meta.sizes)} doesn't match the broadcast shape "
            f"{list(loss.meta.sizes)}"
        )
    return reduced(_weighted(loss, weight), reduction)


def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """log(1 + e**(-target self)), reduced. Raises RuntimeError for ints."""
    if self.meta.dtype.kind < 2:
        raise RuntimeError(
            f"soft_margin_loss(): result type Float can't be cast to the desired output type "
            f"{UPSTREAM_NAMES[self.meta.dtype.name]}"
        )
    if self.meta.dtype.is_complex:
        product = apply("neg", apply("mul.Tensor", self, target))
        return reduced(apply("log1p", apply("exp", product)), reduction)
    return reduced(evaluated("soft_margin_loss", "soft_margin", (self, target)), reduction)


def kl_div(self: Tensor, target: Tensor, reduction: int = MEAN, *, log_target: bool = False) -> Tensor:
    """target (log target - self), reduced; `log_target` says that target is a logarithm. RuntimeError for ints."""
    for tensor in (self, target):
        if tensor.meta.dtype.kind < 2:
            raise RuntimeError(
                f"kl_div(): kl_div: Integral inputs not supported, got {UPSTREAM_NAMES[tensor.meta.dtype.name]}"
            )
    if log_target:
        loss = apply("mul.Tensor", apply("exp", target), apply("sub.Tensor", target, self))
    else:
        loss = apply("sub.Tensor", apply("xlogy.Tensor", target, target), apply("mul.Tensor", target, self))
    return reduced(loss, reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """e**input - target input, or input - target log(input + eps); `full` adds Stirling's term above 1."""
    if log_input:
        loss = apply("sub.Tensor", apply("exp", input), apply("mul.Tensor", target, input))
    else:
        logarithm = apply("log", apply("add.Scalar", input, eps))
        loss = apply("sub.Tensor", input, apply("mul.Tensor", target, logarithm))
    if full:
        circle: Number = 2 * np.pi
        root = apply("mul.Scalar", apply("log", apply("mul.Scalar", target, circle)), 0.5)
        stirling = apply("sub.Tensor", apply("xlogy.Tensor", target, target), target)
        stirling = apply("add.Tensor", stirling, root)
        loss = apply("add.Tensor", loss, apply("where.ScalarOther", apply("gt.Scalar", target, 1), stirling, 0))
    return reduced(loss, reduction)
