"""Losses that compare element by element, and those with a margin."""

from __future__ import annotations

import numpy as np

from ...core.device import cpu
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..arrays import values
from ..invoke import apply
from ..operand_checks import check_keeps_sizes, whole_number
from .calls import evaluated

NONE, MEAN, SUM = range(3)


def reduced(loss: Tensor, reduction: int) -> Tensor:
    """The loss as it is, its mean or its sum."""
    if reduction == MEAN:
        return apply("mean", loss)
    return apply("sum", loss) if reduction == SUM else loss


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
    check_keeps_sizes(name, target.meta.sizes, loss.meta.sizes)
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


NEARLY_NOTHING = 1e-12
"""What keeps the norms of cosine_embedding_loss from being 0."""


def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN) -> Tensor:
    """self where target is not -1, plus max(0, margin - self) where it is not 1; ints take the margin as one."""
    limit = margin if self.meta.dtype.kind > 1 else whole_number("hinge_embedding_loss", margin)
    room = apply("clamp_min", apply("rsub.Scalar", self, limit), 0)
    apart = apply("where.ScalarOther", apply("ne.Scalar", target, 1), room, 0)
    close = apply("where.ScalarOther", apply("ne.Scalar", target, -1), self, 0)
    return reduced(apply("add.Tensor", apart, close), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """max(0, margin - target (input1 - input2))."""
    product = apply("mul.Tensor", apply("neg", target), apply("sub.Tensor", input1, input2))
    return reduced(apply("clamp_min", apply("add.Scalar", product, margin), 0), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """1 - cosine where target is 1, plus max(0, cosine - margin) where it is -1. Raises RuntimeError for dims."""
    dims = target.meta.ndim
    if dims > 1:
        raise RuntimeError(
            f"cosine_embedding_loss(): 0D or 1D target tensor expected, multi-target not supported, got {dims}D"
        )
    if {input1.meta.ndim, input2.meta.ndim} != {dims + 1}:
        raise RuntimeError(
            f"cosine_embedding_loss(): {dims}D target tensor expects {dims + 1}D input tensors, but found inputs with "
            f"sizes {list(input1.meta.sizes)} and {list(input2.meta.sizes)}."
        )

    def inner(a: Tensor, b: Tensor) -> Tensor:
        return apply("sum.dim_IntList", apply("mul.Tensor", a, b), (dims,))

    lengths = [apply("add.Scalar", inner(x, x), NEARLY_NOTHING) for x in (input1, input2)]
    cosine = apply("div.Tensor", inner(input1, input2), apply("sqrt", apply("mul.Tensor", *lengths)))
    close = apply("where.ScalarOther", apply("eq.Scalar", target, 1), apply("rsub.Scalar", cosine, 1), 0)
    room = apply("clamp_min", apply("sub.Scalar", cosine, margin), 0)
    apart = apply("where.ScalarOther", apply("eq.Scalar", target, -1), room, 0)
    return reduced(apply("add.Tensor", close, apart), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = MEAN,
) -> Tensor:
    """max(0, margin + distance to positive - distance to negative); `swap` takes the nearer of anchor and positive.

    Raises RuntimeError for different numbers of dims.
    """
    counts = [tensor.meta.ndim for tensor in (anchor, positive, negative)]
    if len(set(counts)) != 1:
        raise RuntimeError(
            f"triplet_margin_loss(): The anchor, positive, and negative tensors are expected to have the same number "
            f"of dimensions, but got: anchor {counts[0]}D, positive {counts[1]}D, and negative {counts[2]}D inputs"
        )
    near = apply("pairwise_distance", anchor, positive, p, eps)
    far = apply("pairwise_distance", anchor, negative, p, eps)
    if swap:
        far = apply("minimum", far, apply("pairwise_distance", positive, negative, p, eps))
    loss = apply("clamp_min", apply("add.Scalar", apply("sub.Tensor", near, far), margin), 0)
    return reduced(loss, reduction)
