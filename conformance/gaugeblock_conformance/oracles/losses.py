"""Losses by their definitions, on widened operands: elementwise first, then as they are reduced."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..backend import Array
from .activations import log_shares
from .distances import cosine, distance
from .moves import Oracle


def reduced(loss: Array, reduction: int) -> Array:
    return np.asarray(loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum())


def smooth(x: Array, y: Array, beta: float) -> Array:
    off = np.abs(x - y)
    return np.asarray(np.where(off < beta, off**2 / (2 * np.longdouble(beta)), off - np.longdouble(beta) / 2))


def huber(x: Array, y: Array, delta: float) -> Array:
    off, wide = np.abs(x - y), np.longdouble(delta)
    return np.asarray(np.where(off <= delta, off**2 / 2, wide * (off - wide / 2)))


def classes_of(x: Array) -> int:
    """The dim of the classes: the second, or the only one."""
    return min(x.ndim - 1, 1)


def likelihood(
    x: Array, target: Array, weight: Array | None, reduction: int, ignored: int = -100
) -> tuple[Array, Array]:
    """The negative of the element of each row that ``target`` names, and the weight of all that count."""
    counts = target != ignored
    named = np.where(counts, target, 0)
    shares = np.where(counts, np.ones(target.shape, np.longdouble) if weight is None else weight[named], 0)
    axis = classes_of(x)
    each = -np.take_along_axis(x, np.expand_dims(named, axis), axis).squeeze(axis) * shares
    whole = shares.sum() if reduction else np.longdouble(0)
    return np.asarray(each if not reduction else each.sum() / (whole if reduction == 1 else 1)), np.asarray(whole)


def cross_entropy(
    x: Array, target: Array, weight: Array | None, reduction: int, ignored: int, smoothing: float
) -> Array:
    """The likelihood of the target class, or the mean of all by how likely ``target`` says they are, mixed with that of
    all classes alike."""
    return _mixed(log_shares(x, classes_of(x)), target, weight, reduction, ignored, smoothing)


def cross_entropy_unit(
    x: Array, target: Array, weight: Array | None, reduction: int, ignored: int, smoothing: float
) -> Array:
    """The logarithms of shares are as exact as the largest of their operands."""
    largest = np.broadcast_to(np.abs(x).max(axis=classes_of(x), keepdims=True, initial=0), x.shape)
    return _mixed(-largest, target, weight, reduction, ignored, smoothing)


def _mixed(
    logs: Array, target: Array, weight: Array | None, reduction: int, ignored: int, smoothing: float
) -> Array:
    axis, share = classes_of(logs), np.longdouble(smoothing)
    classes = logs.shape[axis]
    if weight is not None:
        weighted = logs * weight.reshape(-1, *[1] * (logs.ndim - 1 - axis))
    else:
        weighted = logs
    if target.dtype.kind == "f":
        wanted = (1 - share) * target + share / classes
        return reduced(-(weighted * wanted).sum(axis=axis), reduction)
    loss, whole = likelihood(logs, target, weight, reduction, ignored)
    each = np.where(target == ignored, 0, -weighted.sum(axis=axis))
    alike = each if reduction == 0 else each.sum() / (whole if reduction == 1 else 1)
    return np.asarray((1 - share) * loss + share / classes * alike)


def of_chances(x: Array, target: Array, weight: Array | None, reduction: int) -> Array:
    """Binary cross entropy; a logarithm below -100 counts as -100."""
    yes, no = (np.maximum(np.log(v), -100) for v in (x, 1 - x))
    return reduced(-(target * yes + (1 - target) * no) * (1 if weight is None else weight), reduction)


def _logit_terms(x: Array, target: Array, weight: Array | None, positive: Array | None) -> tuple[Array, Array]:
    share = 1 + (0 if positive is None else positive - 1) * target
    by = 1 if weight is None else weight
    return (1 - target) * x * by, share * np.logaddexp(0, -x) * by


def of_logits(x: Array, target: Array, weight: Array | None, positive: Array | None, reduction: int) -> Array:
    left, right = _logit_terms(x, target, weight, positive)
    return reduced(left + right, reduction)


def of_logits_unit(x: Array, target: Array, weight: Array | None, positive: Array | None, reduction: int) -> Array:
    left, right = _logit_terms(x, target, weight, positive)
    return reduced(np.abs(left) + np.abs(right), reduction)


def _divergence_terms(x: Array, target: Array, log_target: bool) -> tuple[Array, Array]:
    if log_target:
        return np.exp(target) * target, np.exp(target) * x
    return np.where(target > 0, target * np.log(np.where(target > 0, target, 1)), 0), target * x


def divergence(x: Array, target: Array, reduction: int, log_target: bool) -> Array:
    left, right = _divergence_terms(x, target, log_target)
    return reduced(left - right, reduction)


def divergence_unit(x: Array, target: Array, reduction: int, log_target: bool) -> Array:
    left, right = _divergence_terms(x, target, log_target)
    return reduced(np.abs(left) + np.abs(right), reduction)


def _poisson_terms(x: Array, target: Array, log_input: bool, full: bool, eps: float) -> list[Array]:
    small = np.longdouble(eps)
    terms = [np.exp(x), -target * x] if log_input else [x, -target * np.log(x + small)]
    if full:
        large = np.maximum(target, 1)
        rest = large * np.log(large), -large, np.log(2 * np.longdouble(np.pi) * large) / 2
        terms += [np.where(target > 1, term, 0) for term in rest]
    return terms


def poisson(x: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: int) -> Array:
    return reduced(np.asarray(sum(_poisson_terms(x, target, log_input, full, eps))), reduction)


def poisson_unit(x: Array, target: Array, log_input: bool, full: bool, eps: float, reduction: int) -> Array:
    return reduced(np.asarray(sum(map(np.abs, _poisson_terms(x, target, log_input, full, eps)))), reduction)


def hinge(x: Array, target: Array, margin: float, reduction: int) -> Array:
    return reduced(np.where(target == 1, x, np.maximum(0, np.longdouble(margin) - x)), reduction)


def ranking(left: Array, right: Array, target: Array, margin: float, reduction: int) -> Array:
    return reduced(np.maximum(0, np.longdouble(margin) - target * (left - right)), reduction)


def of_angles(left: Array, right: Array, target: Array, margin: float, reduction: int) -> Array:
    near = cosine(left, right, -1, 1e-12)
    return reduced(np.where(target == 1, 1 - near, np.maximum(0, near - np.longdouble(margin))), reduction)


def of_angles_unit(left: Array, right: Array, target: Array, margin: float, reduction: int) -> Array:
    return reduced(1 + np.abs(cosine(left, right, -1, 1e-12)), reduction)


def triplet(
    anchor: Array, positive: Array, negative: Array, margin: float, p: float, eps: float, swap: bool, reduction: int
) -> Array:
    off = np.longdouble(eps)
    far = distance(anchor - negative + off, p)
    if swap:
        far = np.minimum(far, distance(positive - negative + off, p))
    return reduced(np.maximum(0, np.longdouble(margin) + distance(anchor - positive + off, p) - far), reduction)


def triplet_unit(
    anchor: Array, positive: Array, negative: Array, margin: float, p: float, eps: float, swap: bool, reduction: int
) -> Array:
    sums = [distance(np.abs(a) + np.abs(b), p) for a, b in ((anchor, positive), (anchor, negative))]
    return reduced(np.abs(np.longdouble(margin)) + sums[0] + sums[1], reduction)


def of_one_class(x: Array, target: Array, p: Any, margin: Any, weight: Array | None, reduction: int) -> Array:
    """How far the other classes of each row come within ``margin`` of the named one."""
    each = []
    for row, wanted in zip(np.atleast_2d(x), target.reshape(-1), strict=True):
        off = np.maximum(0, np.longdouble(margin) - row[wanted] + np.delete(row, wanted)) ** int(p)
        each.append((1 if weight is None else weight[wanted]) * off.sum() / len(row))
    return reduced(np.array(each, np.longdouble).reshape(target.shape), reduction)


def of_many_classes(x: Array, target: Array, reduction: int) -> tuple[Array, Array]:
    """The same for all classes that a row of ``target`` names before its first -1, and which classes those are."""
    each, named = [], np.zeros(x.shape, x.dtype)
    for row, wanted, marks in zip(*map(np.atleast_2d, (x, target, named)), strict=True):
        stop = int(np.argmax(wanted < 0)) if (wanted < 0).any() else len(wanted)
        marks[wanted[:stop]] = 1
        others = row[marks == 0]
        each.append(sum(np.maximum(0, 1 - row[k] + others).sum() for k in wanted[:stop]) / np.longdouble(len(row)))
    return reduced(np.array(each, np.longdouble).reshape(x.shape[:-1]), reduction), named


LOSSES: dict[str, Oracle] = {
    "l1_loss": lambda x, y, reduction: reduced(np.abs(x - y), reduction),
    "mse_loss": lambda x, y, reduction: reduced((x - y) ** 2, reduction),
    "smooth_l1_loss": lambda x, y, reduction, beta: reduced(smooth(x, y, beta), reduction),
    "huber_loss": lambda x, y, reduction, delta: reduced(huber(x, y, delta), reduction),
    **{name: lambda *a: likelihood(*a)[0] for name in ("nll_loss", "nll_loss_nd", "nll_loss2d")},
    "nll_loss_forward": likelihood,
    "nll_loss2d_forward": likelihood,
    "cross_entropy_loss": cross_entropy,
    "binary_cross_entropy": of_chances,
    "binary_cross_entropy_with_logits": of_logits,
    "soft_margin_loss": lambda x, y, reduction: reduced(np.logaddexp(0, -y * x), reduction),
    "kl_div": divergence,
    "poisson_nll_loss": poisson,
    "hinge_embedding_loss": hinge,
    "margin_ranking_loss": ranking,
    "cosine_embedding_loss": of_angles,
    "triplet_margin_loss": triplet,
    "multi_margin_loss": of_one_class,
    "multilabel_margin_loss": lambda *a: of_many_classes(*a)[0],
    "multilabel_margin_loss_forward": of_many_classes,
}

# Sums of absolute terms, where they are not the loss of absolute values.
LOSS_UNITS: dict[str, Oracle] = {
    "cross_entropy_loss": cross_entropy_unit,
    "binary_cross_entropy": of_chances,
    "binary_cross_entropy_with_logits": of_logits_unit,
    "soft_margin_loss": LOSSES["soft_margin_loss"],
    "kl_div": divergence_unit,
    "poisson_nll_loss": poisson_unit,
    "cosine_embedding_loss": of_angles_unit,
    "triplet_margin_loss": triplet_unit,
}
