"""The gradient of connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

from ...calls.functions import tensor_ops as ops
from ...operators.invoke import apply
from ...operators.networks.alignment import gradient
from ...operators.networks.calls import unrecorded
from . import Tensor

Lengths = Sequence[int] | Tensor
NEVER = -1e30
"""The logarithm of the likelihood of what cannot be; finite, so that differences of two are no nan."""


def _states_of(targets: Any, lengths: Lengths, blank: int) -> list[list[int]]:
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


def _skips_of(states: list[list[int]]) -> list[list[bool]]:
    """Return whether a state can follow the one before the last: a label that differs from the label before."""
    return [[s > 2 and s % 2 == 1 and row[s] != row[s - 2] for s in range(len(row))] for row in states]


def _likelihoods(scores: Any, skips: Any) -> Any:
    """Return the logarithms [time, batch, states] of the likelihood of being at each state at each time, it
    included."""
    steps, batch, count = scores.shape
    nothing: Any = apply("new_full", scores, (batch, 2), NEVER)
    barred, places = ~skips, apply("arange", count, device=scores.device)
    rows: list[Any] = [scores[0].masked_fill(apply("gt.Scalar", places, 1), NEVER)]
    for time in range(1, steps):
        before: Any = apply("cat", [nothing, rows[-1]], 1)
        jump = before.narrow(1, 0, count).masked_fill(barred, NEVER)
        rows.append(rows[-1].logaddexp(before.narrow(1, 1, count)).logaddexp(jump) + scores[time])
    return apply("stack", rows)


def _numbers(lengths: Lengths) -> list[int]:
    return [int(n) for n in (lengths.reshape((-1,)).tolist() if isinstance(lengths, Tensor) else lengths)]


def ctc_back(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, loss: Tensor,
    alphas: Tensor, blank: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """``-grad`` times the likelihood of each class at each time, given the labels: that of the states before and after.
    Where no alignment exists, so that the loss is inf: 0 with `zero_infinity`, else nan."""
    steps, batch, _ = log_probs.shape
    times, lengths = _numbers(input_lengths), _numbers(target_lengths)
    if not steps or not batch:
        return ops.zeros_like(log_probs)
    plain: list[Any] = [grad, log_probs, loss, alphas]
    if unrecorded(*plain):
        both = tuple(times), tuple(lengths)
        given: list[Any] = [grad, log_probs, targets, loss, alphas, both, blank, zero_infinity]
        found: Any = gradient(*given)
        return found  # type: ignore[no-any-return]
    rows, device = _states_of(targets, lengths, blank), log_probs.device
    count = len(rows[0])
    turned = [row[2 * n :: -1] + row[2 * n + 1 :] for row, n in zip(rows, lengths, strict=True)]
    there = [[max(t - 1 - k, 0) if k < t else k for t in times] for k in range(steps)]
    back = [[2 * n - s if s <= 2 * n else s for s in range(count)] for n in lengths]
    states = ops.tensor(rows, device=device).expand((steps, batch, count))
    when = ops.tensor(there, device=device).unsqueeze(2).expand(states.shape)
    where = ops.tensor(back, device=device).expand(states.shape)
    scores = log_probs.gather(2, states)
    forward = _likelihoods(scores, ops.tensor(_skips_of(rows), device=device))
    mirrored = scores.gather(0, when).gather(2, where)
    backward = _likelihoods(mirrored, ops.tensor(_skips_of(turned), device=device)).gather(0, when).gather(2, where)
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
