"""Losses with a margin between classes."""

from __future__ import annotations

import numpy as np

from ...core.device import cpu
from ...core.dtype import int64
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import Array, check_same_device, values
from ..invoke import apply_for_many
from .calls import check_dtype
from .reduction import MEAN, NONE


def _samples(operator: str, self: Tensor) -> tuple[int, int]:
    """(samples, classes). Raises RuntimeError for an input without classes."""
    own = self.meta.sizes
    if len(own) > 2 or (len(own) and own[-1] == 0):
        raise RuntimeError(
            f"{operator}(): Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(own)}"
        )
    return (own[0] if len(own) == 2 else 1), (own[-1] if own else 1)


def _check_target(operator: str, target: Tensor) -> None:
    if target.meta.dtype is not int64:
        raise RuntimeError(
            f"{operator}(): expected scalar type Long but found {UPSTREAM_NAMES[target.meta.dtype.name]}"
        )


def _store(result: Tensor, losses: Array, reduction: int) -> Tensor:
    if reduction == NONE:
        array_of(result)[...] = losses.reshape(result.meta.sizes)
    else:
        array_of(result)[...] = losses.mean() if reduction == MEAN else losses.sum()
    return result


def multi_margin_loss(
    self: Tensor,
    target: Tensor,
    p: Number = 1,
    margin: Number = 1,
    weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:
    """Mean over the other classes of max(0, margin - self[target] + self)**p, weighted by the target, reduced.

    Raises RuntimeError for sizes that do not fit, classes that there are not, and another p than 1 and 2.
    """
    name = "multi_margin_loss"
    check_same_device(name, self, target)
    samples, classes = _samples(name, self)
    if p not in (1, 2):
        raise RuntimeError(f"{name}(): only p == 1 and p == 2 supported, got {p}")
    if target.meta.numel != samples or target.meta.ndim > 1:
        raise RuntimeError(
            f"{name}(): {name}: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{samples}], but got {list(target.meta.sizes)}."
        )
    if weight is not None and weight.meta.sizes != (classes,):
        raise RuntimeError(
            f"{name}(): inconsistent weight size, expected {classes} but got {list(weight.meta.sizes)}"
        )
    check_dtype(name, self)
    _check_target(name, target)
    alone = self.meta.ndim < 2 and target.meta.ndim == 0
    sizes = () if reduction != NONE or alone else (samples,)
    result = empty_tensor(sizes, self.meta.dtype, self.meta.device)
    if result.meta.device is not cpu:
        return result
    scores = values(self).reshape(samples, classes)
    chosen = values(target).reshape(samples)
    if ((chosen < 0) | (chosen >= classes)).any():
        raise RuntimeError(f"{name}(): target out of range, there are {classes} classes")
    rows = np.arange(samples)
    with np.errstate(all="ignore"):
        room = np.maximum(margin - scores[rows, chosen][:, None] + scores, 0) ** p
        if weight is not None:
            room = room * values(weight)[chosen][:, None]
        room[rows, chosen] = 0
        return _store(result, room.sum(1) / classes, reduction)


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = MEAN) -> Tensor:
    """The first result of multilabel_margin_loss_forward."""
    return apply_for_many("multilabel_margin_loss_forward", self, target, reduction)[0]


def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """(sum over labels and other classes of max(0, 1 - self[label] + self) / classes, reduced; 1 at the labels).

    A row's labels end at the first -1. Raises RuntimeError for sizes that do not fit and labels that there are not.
    """
    name = "multilabel_margin_loss"
    check_same_device(name, self, target)
    samples, classes = _samples(name, self)
    if target.meta.sizes != self.meta.sizes:
        raise RuntimeError(
            f"{name}(): inconsistent target size: {list(target.meta.sizes)} for input of size: "
            f"{list(self.meta.sizes)}"
        )
    check_dtype(name, self)
    _check_target(name, target)
    sizes = (samples,) if reduction == NONE and self.meta.ndim == 2 else ()
    result = empty_tensor(sizes, self.meta.dtype, self.meta.device)
    marked = empty_tensor(target.meta.sizes, self.meta.dtype, self.meta.device)
    if result.meta.device is not cpu:
        return result, marked
    scores, labels = values(self).reshape(samples, classes), values(target).reshape(samples, classes)
    if ((labels < -1) | (labels >= classes)).any():
        raise RuntimeError(f"{name}(): argument #2 'target' is out of range, there are {classes} classes")
    valid = np.cumsum(labels < 0, axis=1) == 0
    is_label = np.zeros((samples, classes), bool)
    rows = np.broadcast_to(np.arange(samples)[:, None], labels.shape)
    is_label[rows[valid], labels[valid]] = True
    losses = np.zeros(samples, scores.dtype)
    with np.errstate(all="ignore"):
        for place in range(classes):
            own = np.take_along_axis(scores, np.maximum(labels[:, place : place + 1], 0), 1)
            room = np.where(is_label, 0, np.maximum(1 - own + scores, 0)).sum(1)
            losses += np.where(valid[:, place], room, 0)
    array_of(marked)[...] = is_label.reshape(target.meta.sizes)
    return _store(result, losses / classes, reduction), marked
