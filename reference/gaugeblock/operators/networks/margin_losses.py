"""Losses with a margin, made of other operators."""

from __future__ import annotations

from ...tensor.tensor import Tensor
from ..invoke import apply
from ..number_limits import whole_number
from .reduction import MEAN, reduced

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
