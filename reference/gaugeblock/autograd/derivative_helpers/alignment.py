"""Gradients of connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import TYPE_CHECKING

from ...bindings.functions import tensor_ops as ops

if TYPE_CHECKING:
    from gaugeblock import Tensor
else:
    from ...tensor.tensor import Tensor

NEVER = -1e30
"""The logarithm of the likelihood of what cannot be; finite, so that differences of two are no nan."""
Lengths = Sequence[int] | Tensor


def _numbers(lengths: Lengths) -> list[int]:
    return [int(n) for n in (lengths.reshape((-1,)).tolist() if isinstance(lengths, Tensor) else lengths)]


def _states(targets: Tensor, lengths: list[int], blank: int) -> list[list[int]]:
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


def _skips(states: list[list[int]]) -> list[list[bool]]:
    """Return whether a state can follow the one before the last: a label that differs from the label before."""
    return [[s > 2 and s % 2 == 1 and row[s] != row[s - 2] for s in range(len(row))] for row in states]


def _likelihoods(scores: Tensor, skips: Tensor) -> Tensor:
    """The logarithms [time, batch, states] of the likelihood of being at each state at each time, it included."""
    steps, batch, count = scores.shape
    nothing = ops.full((batch, 2), NEVER, dtype=scores.dtype, device=scores.device)
    late = ops.arange(count, device=scores.device) > 1
    rows = [scores[0].masked_fill(late, NEVER)]
    for time in range(1, steps):
        before = ops.cat([nothing, rows[-1]], 1)
        jump = before.narrow(1, 0, count).masked_fill(~skips, NEVER)
        rows.append(ops.stack([rows[-1], before.narrow(1, 1, count), jump]).logsumexp(0) + scores[time])
    return ops.stack(rows)


def ctc_back(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, loss: Tensor,
    blank: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """``-grad`` times the likelihood of each class at each time, given the labels: that of the states before and after.

    Where no alignment exists, so that the loss is inf: 0 with `zero_infinity`, else nan.
    """
    steps, batch, _ = log_probs.shape
    times, lengths = _numbers(input_lengths), _numbers(target_lengths)
    if not steps or not batch:
        return ops.zeros_like(log_probs)
    rows, device = _states(targets, lengths, blank), log_probs.device
    count = len(rows[0])
    turned = [row[2 * n :: -1] + row[2 * n + 1 :] for row, n in zip(rows, lengths, strict=True)]
    there = [[max(t - 1 - k, 0) if k < t else k for t in times] for k in range(steps)]
    back = [[2 * n - s if s <= 2 * n else s for s in range(count)] for n in lengths]
    states = ops.tensor(rows, device=device).expand((steps, batch, count))
    when = ops.tensor(there, device=device).unsqueeze(2).expand(states.shape)
    where = ops.tensor(back, device=device).expand(states.shape)
    scores = log_probs.gather(2, states)
    forward = _likelihoods(scores, ops.tensor(_skips(rows), device=device))
    mirrored = scores.gather(0, when).gather(2, where)
    backward = _likelihoods(mirrored, ops.tensor(_skips(turned), device=device)).gather(0, when).gather(2, where)
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
