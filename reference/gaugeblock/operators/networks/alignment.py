"""The likelihood of sequences of labels, whatever their alignment with time: connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np

from ...core.device import cpu
from ...core.dtype import bool_, int32, int64
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import filled, from_array, values
from ..conversion import host
from ..invoke import apply, apply_for_many
from .calls import check_dtype
from .losses import MEAN, SUM

Lengths = Sequence[int]


def _check_ctc(log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int) -> None:
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


NEVER = -1e30
"""The logarithm of the likelihood of what cannot be; finite, so that differences of two are no nan."""


def states_of(targets: Any, lengths: Lengths, blank: int) -> list[list[int]]:
    """For each sequence its labels with blanks around them, filled up with blanks to the longest."""
    rows, start = [], 0
    listed = targets.tolist()
    for k, length in enumerate(lengths):
        labels = listed[start : start + length] if targets.ndim == 1 else listed[k][:length]
        start += length
        row = [blank] * (2 * max(lengths) + 1)
        row[1 : 2 * length : 2] = labels
        rows.append(row)
    return rows


def skips_of(states: list[list[int]]) -> list[list[bool]]:
    """Return whether a state can follow the one before the last: a label that differs from the label before."""
    return [[s > 2 and s % 2 == 1 and row[s] != row[s - 2] for s in range(len(row))] for row in states]


def likelihoods(scores: Any, skips: Any) -> Any:
    """The logarithms [time, batch, states] of the likelihood of being at each state at each time, it included."""
    steps, batch, count = scores.shape
    nothing: Any = apply("new_full", scores, (batch, 2), NEVER)
    barred, places = ~skips, apply("arange", count, device=scores.device)
    rows: list[Any] = [scores[0].masked_fill(apply("gt.Scalar", places, 1), NEVER)]
    for time in range(1, steps):
        before: Any = apply("cat", [nothing, rows[-1]], 1)
        jump = before.narrow(1, 0, count).masked_fill(barred, NEVER)
        rows.append(rows[-1].logaddexp(before.narrow(1, 1, count)).logaddexp(jump) + scores[time])
    return apply("stack", rows)


def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Lengths | Tensor, target_lengths: Lengths | Tensor,
    blank: int = 0, zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(the negative log likelihood of each sequence, the log likelihoods of its states) for log_probs [time, batch,
    classes] and targets [batch, length], or 1-D one behind the other. States that no sequence reaches have -inf.

    Raises RuntimeError for sizes, lengths and labels that do not fit, NotImplementedError for other dtypes.
    """
    input_lengths, target_lengths = _numbers(input_lengths, target_lengths)
    _check_ctc(log_probs, targets, input_lengths, target_lengths, blank)
    steps, batch, classes = log_probs.meta.sizes
    dtype, device = log_probs.meta.dtype, log_probs.meta.device
    count = 2 * max(target_lengths, default=0) + 1
    if device is not cpu or not batch:
        return empty_tensor((batch,), dtype, device), empty_tensor((batch, steps, count), dtype, device)
    states = states_of(values(targets), target_lengths, blank)
    if not all(0 <= label < classes for row in states for label in row):
        raise RuntimeError(f"ctc_loss(): targets must lie within the {classes} classes")
    alphas: Any = apply("new_full", log_probs, (batch, steps, count), -inf)
    if steps:
        chosen = apply("expand", from_array(np.asarray(states), int64), (steps, batch, count))
        found = likelihoods(apply("gather", log_probs, 2, chosen), from_array(np.asarray(skips_of(states)), bool_))
        late = np.arange(steps)[:, None] >= np.asarray(input_lengths)[:, None, None]
        beyond = np.arange(count) > 2 * np.asarray(target_lengths)[:, None, None]
        apply("copy_", alphas, found.transpose(0, 1))
        alphas.masked_fill_((alphas < NEVER / 2) | from_array(late | beyond, bool_), -inf)
    losses = [
        -alphas[k, time - 1, max(2 * length - 1, 0) : 2 * length + 1].logsumexp(0)
        if time
        else apply("new_full", log_probs, (), inf if length else 0)
        for k, (time, length) in enumerate(zip(input_lengths, target_lengths, strict=True))
    ]
    return apply("stack", losses), alphas


def _numbers(input_lengths: Lengths | Tensor, target_lengths: Lengths | Tensor) -> list[Lengths]:
    """Lengths, which may be given as tensors. Raises RuntimeError for those that are no whole numbers."""
    found: list[Lengths] = []
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if isinstance(given, Tensor):
            if given.meta.dtype.kind > 1 or given.meta.dtype.name == "bool":
                raise RuntimeError(f"ctc_loss(): {name} must be integral")
            given = tuple(int(n) for n in values(host(given)).reshape(-1))
        found.append(given)
    return found


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Lengths | Tensor, target_lengths: Lengths | Tensor,
    blank: int = 0, reduction: int = MEAN, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """_ctc_loss reduced; the mean is of losses over the lengths of their targets. One sequence needs no batch dim."""
    input_lengths, target_lengths = _numbers(input_lengths, target_lengths)
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
