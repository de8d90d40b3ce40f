"""Gradients of losses; `reduction` is 0 for none, 1 for the mean, 2 for the sum."""

from __future__ import annotations

from ...calls.functions import tensor_ops as ops
from ...core.dtype import int64
from ...operators.networks.class_losses import likelihood_gradient
from . import Tensor


def unreduced(grad: Tensor, count: int, reduction: int) -> Tensor:
    """Return the gradient of each of `count` elements that were reduced."""
    return grad / count if reduction == 1 else grad


def _row_by_row(grad: Tensor, slope: Tensor, reduction: int) -> Tensor:
    """Return the slopes of rows that were each reduced to one element times what reaches that."""
    share = unreduced(grad, slope.shape[0], reduction)
    return slope * (share.reshape((-1, 1)) if reduction == 0 else share)


def mse_back(grad: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Twice the difference, times what reaches each element."""
    difference = self - target
    return unreduced(grad, difference.numel(), reduction) * difference * 2


def smooth_l1_back(grad: Tensor, difference: Tensor, beta: float, reduction: int) -> Tensor:
    """The difference divided by beta where that is smaller than 1, else its sign."""
    slope = difference.sign()
    if beta:
        slope = ops.where(difference.abs() < beta, difference / beta, slope)
    return unreduced(grad, difference.numel(), reduction) * slope


def huber_back(grad: Tensor, difference: Tensor, delta: float, reduction: int) -> Tensor:
    """The difference, limited to delta on both sides."""
    slope = ops.where(difference.abs() <= delta, difference, difference.sign() * delta)
    return unreduced(grad, difference.numel(), reduction) * slope


def weighted(grad: Tensor, weight: Tensor | None) -> Tensor:
    """`grad` times the weight, if there is one."""
    return grad if weight is None else grad * weight


def logits_back(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor:
    """sigmoid(x) - y, the positive part weighted by `pos_weight`."""
    share = self.sigmoid()
    if pos_weight is None:
        slope = share - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * share - positive
    return weighted(unreduced(grad, self.numel(), reduction) * slope, weight)


def nll_back(
    grad: Tensor, shape: tuple[int, ...], target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    total_weight: Tensor,
) -> Tensor:  # fmt: skip
    """Minus the weight of the class at the class of each target; nothing for the class that is ignored."""
    dim = 1 if len(shape) > 1 else 0
    if weight is None and reduction and ignore_index < 0 and len(shape) == 2:
        found: Tensor | None = likelihood_gradient(grad, total_weight, target, shape, reduction)
        if found is not None:
            return found
    classes = target.to(int64)
    if len(shape) == 1:
        classes = classes.reshape((1,))
        grad = grad.reshape((1,)) if reduction == 0 else grad
    ignored = classes == ignore_index
    places = classes.masked_fill(ignored, 0)
    share = grad / total_weight if reduction == 1 else grad
    if weight is not None:
        share = share * weight.index_select(0, places.reshape((-1,))).reshape(tuple(places.shape))
    share = share.expand(tuple(places.shape)).masked_fill(ignored, 0)
    if len(shape) > 1:
        places, share = places.unsqueeze(dim), share.unsqueeze(dim)
    return share.new_zeros(tuple(shape)).scatter(dim, places, -share)


def multi_margin_back(
    grad: Tensor, self: Tensor, target: Tensor, p: float, margin: float, weight: Tensor | None, reduction: int
) -> Tensor:
    """For each class but the target's the slope of its margin, and minus their sum at the target's."""
    rows = self.reshape((-1, self.shape[-1] if self.ndim else 1))
    places = target.reshape((-1, 1))
    distance = margin - rows.gather(1, places) + rows
    slope = (distance > 0).to(rows.dtype) if p == 1 else distance.clamp_min(0) * 2
    slope = slope.scatter(1, places, 0.0) / rows.shape[1]
    if weight is not None:
        slope = slope * weight.index_select(0, places.reshape((-1,))).unsqueeze(1)
    slope = slope.scatter(1, places, -slope.sum(1, keepdim=True))
    return _row_by_row(grad, slope, reduction).reshape(tuple(self.shape))


def multilabel_margin_back(grad: Tensor, self: Tensor, target: Tensor, is_target: Tensor, reduction: int) -> Tensor:
    """For each pair of a target and another class that are less than 1 apart: -1 and 1, divided by the classes."""
    classes = self.shape[-1] if self.ndim else 1
    rows, labels = self.reshape((-1, classes)), target.reshape((-1, classes))
    valid = ((labels < 0).to(int64).cumsum(1) == 0).unsqueeze(2)
    places = labels.clamp_min(0)
    close = 1 - rows.gather(1, places).unsqueeze(2) + rows.unsqueeze(1) > 0
    others = (is_target.reshape(tuple(rows.shape)) == 0).unsqueeze(1)
    pairs = (close & valid & others).to(rows.dtype)
    slope = pairs.sum(1).scatter_add(1, places, -pairs.sum(2)) / rows.shape[1]
    return _row_by_row(grad, slope, reduction).reshape(tuple(self.shape))
