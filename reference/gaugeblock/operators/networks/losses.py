"""Losses that compare element by element, and those with a margin."""

from __future__ import annotations

from collections.abc import Callable

from ...core import lazy_numpy as np
from ...core.device import cpu
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor
from ..arrays import values
from ..composition import Part, composite
from ..operand_checks import check_keeps_sizes, whole_number
from .calls import evaluated

NONE, MEAN, SUM = range(3)


def reduced(part: Callable[..., Tensor], loss: Tensor, reduction: int) -> Tensor:
    """The loss as it is, its mean or its sum."""
    return loss if reduction == NONE else part("mean" if reduction == MEAN else "sum", loss)


@composite
def mse_loss(part: Part, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """(self - target)**2, reduced. Raises NotImplementedError for other than floats."""
    return reduced(part, part.plan(evaluated, "mse_loss", "squared_difference", (self, target)), reduction)


@composite
def l1_loss(part: Part, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """|self - target|, reduced."""
    return reduced(part, part("abs", part("sub.Tensor", self, target)), reduction)


@composite
def smooth_l1_loss(part: Part, self: Tensor, target: Tensor, reduction: int = MEAN, beta: float = 1.0) -> Tensor:
    """Half the square over beta within beta, linear outside. Raises RuntimeError for a negative beta."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss(): smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return part("l1_loss", self, target, reduction)
    return reduced(part, part.plan(evaluated, "smooth_l1_loss", "smooth_l1", (self, target), (beta,)), reduction)


@composite
def huber_loss(part: Part, self: Tensor, target: Tensor, reduction: int = MEAN, delta: float = 1.0) -> Tensor:
    """Half the square within delta, linear outside. Raises RuntimeError for a delta not above 0."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss(): huber_loss does not support non-positive values for delta, got {delta}")
    loss = part.plan(evaluated, "huber_loss", "huber", (self, target), (delta,), result="input")
    return reduced(part, loss, reduction)


def _check_probabilities(self: Tensor) -> None:
    given = values(self)
    with np.errstate(all="ignore"):
        if not (given.min() >= 0 and given.max() <= 1):
            raise RuntimeError("binary_cross_entropy(): all elements of input should be between 0 and 1")


@composite
def binary_cross_entropy(
    part: Part, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN
) -> Tensor:
    """-(target log self + (1 - target) log(1 - self)), weighted, reduced; logarithms are -100 at least. Raises
    RuntimeError for elements of self outside [0, 1], NaN included, and for two dtypes."""
    own = self.meta.dtype
    for tensor in (target, *(() if weight is None else (weight,))):
        if tensor.meta.dtype is not own:
            raise RuntimeError(
                f"binary_cross_entropy(): Found dtype {UPSTREAM_NAMES[tensor.meta.dtype.name]} but expected "
                f"{UPSTREAM_NAMES[own.name]}"
            )
    loss = part.plan(evaluated, "binary_cross_entropy", "cross_entropy", (self, target))
    if self.meta.device is cpu and self.meta.numel:
        part.run(_check_probabilities, self)
    return reduced(part, loss if weight is None else part("mul.Tensor", loss, weight), reduction)


@composite
def binary_cross_entropy_with_logits(
    part: Part, self: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:  # fmt: skip
    """binary_cross_entropy of the sigmoid of self, `pos_weight` weighing the part of target. Raises RuntimeError."""
    name = "binary_cross_entropy_with_logits"
    if pos_weight is None:
        loss = part.plan(evaluated, name, "cross_entropy_of_logits", (self, target))
    else:
        loss = part.plan(evaluated, name, "cross_entropy_of_logits.weighted", (self, target, pos_weight))
    check_keeps_sizes(name, target.meta.sizes, loss.meta.sizes)
    return reduced(part, loss if weight is None else part("mul.Tensor", loss, weight), reduction)


@composite
def soft_margin_loss(part: Part, self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """log(1 + e**(-target self)), reduced. Raises RuntimeError for ints."""
    if self.meta.dtype.kind < 2:
        raise RuntimeError(
            f"soft_margin_loss(): result type Float can't be cast to the desired output type "
            f"{UPSTREAM_NAMES[self.meta.dtype.name]}"
        )
    if self.meta.dtype.is_complex:
        product = part("neg", part("mul.Tensor", self, target))
        return reduced(part, part("log1p", part("exp", product)), reduction)
    return reduced(part, part.plan(evaluated, "soft_margin_loss", "soft_margin", (self, target)), reduction)


@composite
def kl_div(part: Part, self: Tensor, target: Tensor, reduction: int = MEAN, *, log_target: bool = False) -> Tensor:
    """target (log target - self), reduced; `log_target` says that target is a logarithm. RuntimeError for ints."""
    for tensor in (self, target):
        if tensor.meta.dtype.kind < 2:
            raise RuntimeError(
                f"kl_div(): kl_div: Integral inputs not supported, got {UPSTREAM_NAMES[tensor.meta.dtype.name]}"
            )
    if log_target:
        loss = part("mul.Tensor", part("exp", target), part("sub.Tensor", target, self))
    else:
        loss = part("sub.Tensor", part("xlogy.Tensor", target, target), part("mul.Tensor", target, self))
    return reduced(part, loss, reduction)


@composite
def poisson_nll_loss(
    part: Part,
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """e**input - target input, or input - target log(input + eps); `full` adds Stirling's term above 1."""
    if log_input:
        loss = part("sub.Tensor", part("exp", input), part("mul.Tensor", target, input))
    else:
        logarithm = part("log", part("add.Scalar", input, eps))
        loss = part("sub.Tensor", input, part("mul.Tensor", target, logarithm))
    if full:
        circle: Number = 2 * np.pi
        root = part("mul.Scalar", part("log", part("mul.Scalar", target, circle)), 0.5)
        stirling = part("sub.Tensor", part("xlogy.Tensor", target, target), target)
        stirling = part("add.Tensor", stirling, root)
        loss = part("add.Tensor", loss, part("where.ScalarOther", part("gt.Scalar", target, 1), stirling, 0))
    return reduced(part, loss, reduction)


NEARLY_NOTHING = 1e-12
"""What keeps the norms of cosine_embedding_loss from being 0."""


@composite
def hinge_embedding_loss(
    part: Part, self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = MEAN
) -> Tensor:
    """self where target is not -1, plus max(0, margin - self) where it is not 1; ints take the margin as one."""
    limit = margin if self.meta.dtype.kind > 1 else whole_number("hinge_embedding_loss", margin)
    room = part("clamp_min", part("rsub.Scalar", self, limit), 0)
    apart = part("where.ScalarOther", part("ne.Scalar", target, 1), room, 0)
    close = part("where.ScalarOther", part("ne.Scalar", target, -1), self, 0)
    return reduced(part, part("add.Tensor", apart, close), reduction)


@composite
def margin_ranking_loss(
    part: Part,
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = MEAN
) -> Tensor:
    """max(0, margin - target (input1 - input2))."""
    product = part("mul.Tensor", part("neg", target), part("sub.Tensor", input1, input2))
    return reduced(part, part("clamp_min", part("add.Scalar", product, margin), 0), reduction)


@composite
def cosine_embedding_loss(
    part: Part,
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
        return part("sum.dim_IntList", part("mul.Tensor", a, b), (dims,))

    lengths = [part("add.Scalar", inner(x, x), NEARLY_NOTHING) for x in (input1, input2)]
    cosine = part("div.Tensor", inner(input1, input2), part("sqrt", part("mul.Tensor", *lengths)))
    close = part("where.ScalarOther", part("eq.Scalar", target, 1), part("rsub.Scalar", cosine, 1), 0)
    room = part("clamp_min", part("sub.Scalar", cosine, margin), 0)
    apart = part("where.ScalarOther", part("eq.Scalar", target, -1), room, 0)
    return reduced(part, part("add.Tensor", close, apart), reduction)


@composite
def triplet_margin_loss(
    part: Part, anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, reduction: int = MEAN,
) -> Tensor:  # fmt: skip
    """max(0, margin + distance to positive - distance to negative); `swap` takes the nearer of anchor and positive.
    Raises RuntimeError for different numbers of dims."""
    counts = [tensor.meta.ndim for tensor in (anchor, positive, negative)]
    if len(set(counts)) != 1:
        raise RuntimeError(
            f"triplet_margin_loss(): The anchor, positive, and negative tensors are expected to have the same number "
            f"of dimensions, but got: anchor {counts[0]}D, positive {counts[1]}D, and negative {counts[2]}D inputs"
        )
    near = part("pairwise_distance", anchor, positive, p, eps)
    far = part("pairwise_distance", anchor, negative, p, eps)
    if swap:
        far = part("minimum", far, part("pairwise_distance", positive, negative, p, eps))
    loss = part("clamp_min", part("add.Scalar", part("sub.Tensor", near, far), margin), 0)
    return reduced(part, loss, reduction)
