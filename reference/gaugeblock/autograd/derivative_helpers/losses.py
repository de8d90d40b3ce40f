"""Gradients of losses; `reduction` is 0 for none, 1 for the mean, 2 for the sum."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from ...calls.functions import tensor_ops as ops
from ...core.device import cpu
from ...core.dtype import int64
from ...dispatch.keys import any_autograd
from ...operators.networks.losses import NEVER, likelihoods, skips_of, states_of
from . import Tensor

Lengths = Sequence[int] | Tensor


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
    usual = weight is None and reduction and ignore_index < 0 and len(shape) == 2 and grad.device is cpu
    if usual and not any_autograd((grad,), {}):
        places, share = target.to(int64).unsqueeze(1), -(grad / total_weight if reduction == 1 else grad)
        try:
            return grad.new_zeros(shape).scatter(1, places, share.expand(tuple(places.shape)))
        except RuntimeError:
            pass  # a class is ignored
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


def _numbers(lengths: Lengths) -> list[int]:
    return [int(n) for n in (lengths.reshape((-1,)).tolist() if isinstance(lengths, Tensor) else lengths)]


def ctc_back(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, loss: Tensor,
    blank: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """``-grad`` times the likelihood of each class at each time, given the labels: that of the states before and after.
    Where no alignment exists, so that the loss is inf: 0 with `zero_infinity`, else nan."""
    steps, batch, _ = log_probs.shape
    times, lengths = _numbers(input_lengths), _numbers(target_lengths)
    if not steps or not batch:
        return ops.zeros_like(log_probs)
    rows, device = states_of(targets, lengths, blank), log_probs.device
    count = len(rows[0])
    turned = [row[2 * n :: -1] + row[2 * n + 1 :] for row, n in zip(rows, lengths, strict=True)]
    there = [[max(t - 1 - k, 0) if k < t else k for t in times] for k in range(steps)]
    back = [[2 * n - s if s <= 2 * n else s for s in range(count)] for n in lengths]
    states = ops.tensor(rows, device=device).expand((steps, batch, count))
    when = ops.tensor(there, device=device).unsqueeze(2).expand(states.shape)
    where = ops.tensor(back, device=device).expand(states.shape)
    scores = log_probs.gather(2, states)
    forward = likelihoods(scores, ops.tensor(skips_of(rows), device=device))
    mirrored = scores.gather(0, when).gather(2, where)
    backward = likelihoods(mirrored, ops.tensor(skips_of(turned), device=device)).gather(0, when).gather(2, where)
    ends = ops.tensor([2 * n for n in lengths], device=device).unsqueeze(1)
    valid = (ops.arange(steps, device=device).unsqueeze(1) < ops.tensor(times, device=device)).unsqueeze(2) & (
        ops.arange(count, device=device) <= ends
    )
    impossible = loss.isinf()
    share = (
        (forward + backward - scores + loss.masked_fill(impossible, 0).unsqueeze(1)).masked_fill(~valid, NEVER).exp()
    )
    weight = -grad.masked_fill(impossible, 0 if zero_infinity else nan).unsqueeze(1)
    return ops.zeros_like(log_probs).scatter_add(2, states, (share * weight).masked_fill(~valid, 0))
