"""Gradients of connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from ...calls.functions import tensor_ops as ops
from ...operators.networks.losses import NEVER, likelihoods, skips_of, states_of
from . import Tensor

Lengths = Sequence[int] | Tensor


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
