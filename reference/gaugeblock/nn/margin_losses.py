"""Losses with a margin, with torch.nn.functional's signatures."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from .lookup import operator
from .reduction import number, reduced

Maybe = Tensor | None
Flag = bool | None


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """input where target is 1, max(0, margin - input) where it is -1."""
    return operator("hinge_embedding_loss")(input, target, margin, number(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Flag = None,
    reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin - target (input1 - input2)). Raises RuntimeError for different numbers of dims."""
    kind = number(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    return operator("margin_ranking_loss")(input1, input2, target, margin, kind)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Flag = None,
    reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1."""
    kind = number(reduction, size_average, reduce)
    return operator("cosine_embedding_loss")(input1, input2, target, margin, kind)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin + distance to positive - distance to negative). Raises ValueError for a margin not above 0."""
    kind = number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss(): margin must be greater than 0, got {margin}")
    return operator("triplet_margin_loss")(anchor, positive, negative, margin, p, eps, swap, kind)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Any:
    """log(1 + e**(-target input))."""
    return operator("soft_margin_loss")(input, target, number(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Maybe = None,
    size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Mean over the other classes of max(0, margin - input[target] + input)**p. ValueError for other p and weight."""
    kind = number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"multi_margin_loss(): weight must be one-dimensional, got {weight.ndim} dims")
    return operator("multi_margin_loss")(input, target, p, margin, weight, kind)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Any:
    """Sum of max(0, 1 - input[label] + input) over labels and the classes that are none, divided by the classes."""
    return operator("multilabel_margin_loss")(input, target, number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Maybe = None, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Mean over the classes of binary_cross_entropy_with_logits."""
    kind = number(reduction, size_average, reduce)
    positive, negative = operator("log_sigmoid")(input), operator("log_sigmoid")(-input)
    loss = -(target * positive + (1 - target) * negative)
    if weight is not None:
        loss = loss * weight
    mean = loss.sum(dim=input.ndim - 1) / input.size(-1)
    return reduced(mean, {0: "none", 1: "mean", 2: "sum"}[kind])
