"""Connectionist temporal classification: the likelihood of a sequence of labels, whatever its alignment in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.device import cpu
from ...core.dtype import int32, int64
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.array_view import array_of
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import Array, filled, values
from ..conversion import host
from ..invoke import apply, apply_for_many
from .calls import check_dtype
from .losses import MEAN, SUM

Lengths = Sequence[int]


def _check(log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int) -> None:
    name = "ctc_loss"
    check_dtype("_ctc_loss", log_probs)
    if targets.meta.dtype not in (int32, int64):
        raise RuntimeError(
            f"{name}(): targets must be Long or Int, but got {UPSTREAM_NAMES[targets.meta.dtype.name]}"
        )
    if log_probs.meta.ndim != 3:
        raise RuntimeError(f"{name}(): log_probs must have 3 dims, but got {log_probs.meta.ndim}")
    steps, batch, classes = log_probs.meta.sizes
    if not 0 <= blank < classes:
        raise RuntimeError(f"{name}(): blank must be in label range, below {classes}, but got {blank}")
    for label, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name}(): {label} must be of size batch_size {batch}, but got {len(lengths)}")
        if lengths and min(lengths) < 0:
            raise RuntimeError(f"{name}(): Expected {label} to have value at least 0, but got value {min(lengths)}")
    if input_lengths and max(input_lengths) > steps:
        raise RuntimeError(
            f"{name}(): Expected input_lengths to have value at most {steps}, but got value {max(input_lengths)}"
        )
    given = targets.meta.sizes
    needed = sum(target_lengths) if len(given) == 1 else max(target_lengths, default=0)
    if len(given) not in (1, 2) or (len(given) == 2 and given[0] != batch):
        raise RuntimeError(f"{name}(): targets must be 1-D or [{batch}, length], but got sizes {list(given)}")
    if given[-1] < needed or (len(given) == 1 and given[0] != needed):
        raise RuntimeError(
            f"{name}(): Expected tensor to have size {'' if len(given) == 1 else 'at least '}{needed} at dimension "
            f"{len(given) - 1}, but got size {given[-1]} for argument #2 'targets'"
        )


def _padded(targets: Array, lengths: Lengths, longest: int, blank: int) -> Array:
    """A row of labels for each sequence, blanks behind its end."""
    rows = np.full((len(lengths), longest), blank, np.int64)
    start = 0
    for k, length in enumerate(lengths):
        rows[k, :length] = targets[start : start + length] if targets.ndim == 1 else targets[k, :length]
        start += length
    return rows


def _log_sum(parts: Array) -> Array:
    """The logarithm of the sum of exponentials along the first dim; -inf for nothing."""
    top = parts.max(axis=0)
    base = np.where(np.isneginf(top), parts.dtype.type(0), top)
    return np.asarray(np.log(np.exp(parts - base).sum(axis=0)) + base)


def _forward(logs: Array, labels: Array, blank: int, alpha: Array) -> None:
    """Fill alpha [batch, time, states]: the log likelihood of being at each label, or a blank between, by each time."""
    batch, longest = labels.shape
    states = np.full((batch, 2 * longest + 1), blank, np.int64)
    states[:, 1::2] = labels
    skips = np.zeros(states.shape, bool)
    skips[:, 3::2] = labels[:, 1:] != labels[:, :-1]
    rows = np.arange(batch)[:, None]
    alpha[:, 0, :2] = logs[0][rows, states[:, :2]]
    nothing = np.full((batch, 2), -np.inf, logs.dtype)
    for time in range(1, len(logs)):
        before = np.concatenate([nothing, alpha[:, time - 1]], axis=1)
        jump = np.where(skips, before[:, :-2], -np.inf).astype(logs.dtype)
        alpha[:, time] = _log_sum(np.stack([before[:, 2:], before[:, 1:-1], jump])) + logs[time][rows, states]


def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(the negative log likelihood of each sequence, the log likelihoods of its states) for log_probs [time, batch,
    classes] and targets [batch, length], or 1-D one behind the other. States that no sequence reaches have -inf.

    Raises RuntimeError for sizes, lengths and labels that do not fit, NotImplementedError for other dtypes.
    """
    _check(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, classes = log_probs.meta.sizes
    dtype, device = log_probs.meta.dtype, log_probs.meta.device
    longest = max(target_lengths, default=0)
    losses = empty_tensor((batch,), dtype, device)
    alphas = empty_tensor((batch, steps, 2 * longest + 1), dtype, device)
    if device is not cpu or not batch:
        return losses, alphas
    labels = _padded(values(targets), target_lengths, longest, blank)
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise RuntimeError(f"ctc_loss(): targets must lie within the {classes} classes")
    alpha, loss = array_of(alphas), array_of(losses)
    alpha[...] = -np.inf
    with np.errstate(all="ignore"):
        if steps:
            _forward(values(log_probs), labels, blank, alpha)
        for k, (time, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
            alpha[k, time:] = -np.inf
            alpha[k, :, 2 * length + 1 :] = -np.inf
            ends = alpha[k, time - 1, max(2 * length - 1, 0) : 2 * length + 1]
            loss[k] = -_log_sum(ends) if time else 0.0 if not length else np.inf
    return losses, alphas


def _ctc_loss_Tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """_ctc_loss with lengths as tensors."""
    lengths = [_numbers(name, given) for name, given in _named(input_lengths, target_lengths)]
    losses, alphas = apply_for_many("_ctc_loss", log_probs, targets, *lengths, blank, zero_infinity)
    return losses, alphas


def _named(input_lengths: Tensor, target_lengths: Tensor) -> tuple[tuple[str, Tensor], tuple[str, Tensor]]:
    return ("input_lengths", input_lengths), ("target_lengths", target_lengths)


def _numbers(name: str, lengths: Tensor) -> tuple[int, ...]:
    if lengths.meta.dtype.kind > 1 or lengths.meta.dtype.name == "bool":
        raise RuntimeError(f"ctc_loss(): {name} must be integral")
    return tuple(int(n) for n in values(host(lengths)).reshape(-1))


def ctc_loss_IntList(
    log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int = 0,
    reduction: int = MEAN, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """_ctc_loss reduced; the mean is of losses over the lengths of their targets. One sequence needs no batch dim."""
    single = log_probs.meta.ndim == 2
    if single:
        log_probs = apply("unsqueeze", log_probs, 1)
    loss = apply_for_many("_ctc_loss", log_probs, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = apply("where.ScalarOther", apply("ne.Scalar", loss, float("inf")), loss, 0)
    if reduction == MEAN:
        lengths = filled((len(target_lengths),), loss.meta.dtype, np.maximum(target_lengths, 1))
        on_device = lengths if loss.meta.device is cpu else apply("to.device", lengths, loss.meta.device)
        return apply("mean", apply("div.Tensor", loss, on_device))
    if reduction == SUM:
        return apply("sum", loss)
    return apply("squeeze.dim", loss, 0) if single else loss


def ctc_loss_Tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, *options: Any
) -> Tensor:
    """ctc_loss with lengths as tensors. Raises RuntimeError for lengths that are no whole numbers."""
    lengths = [_numbers(name, given) for name, given in _named(input_lengths, target_lengths)]
    return apply("ctc_loss.IntList", log_probs, targets, *lengths, *options)
