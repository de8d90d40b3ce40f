"""Connectionist temporal classification: the likelihood of sequences of labels, whatever their alignment with time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from math import inf
from typing import Any, NamedTuple

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import int32, int64
from ...core.promotion import UPSTREAM_NAMES
from ...kernels import alignment
from ...kernels.alignment import ARRAYS, BEHIND
from ...kernels.compiler import Builtin
from ...memory.elements import read_elements
from ...tensor.reshaping import contiguous
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, preserve_format_strides, recalled, remember
from ..arrays import filled, outside, values
from ..composition import Part, composite
from ..conversion import converted, host
from ..invoke import apply
from ..loop_plan import Ints, LoopPlan, View
from ..plan import Planned, plannable
from .calls import check_dtype
from .losses import MEAN, SUM, reduced

Lengths = Sequence[int]
STEPS = 256
"""Steps of work that a state at one time takes, about."""


def _check_ctc(log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int) -> None:
    name = "ctc_loss"
    check_dtype("_ctc_loss", log_probs)
    if targets.meta.dtype not in (int32, int64):
        raise RuntimeError(f"{name}(): targets must be Long or Int, but got {UPSTREAM_NAMES[targets.meta.dtype.name]}")
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


class _Sequences(NamedTuple):
    """What the kernels have to know of sequences of so many steps and labels each."""

    states: int
    room: int
    table: Tensor
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, log_probs: TensorMeta, targets: TensorMeta, lengths: tuple[Lengths, Lengths], blank: int) -> _Sequences:
        """Return the description of sequences with labels in the rows of a matrix or one behind the other."""
        times, counts = lengths
        states = 2 * max(counts, default=0) + 1
        room = -(-(states + BEHIND) // 64) * 64
        along, row = targets.byte_strides[-1], targets.byte_strides[0]
        begins = [k * row for k in range(len(counts))] if targets.ndim == 2 else [
            begin * along for begin in accumulate(counts[:-1], initial=0)
        ]
        table = filled((len(counts), 3), int64, np.array([times, counts, begins]).T)
        steps = log_probs.byte_strides[0], log_probs.byte_strides[2], along
        return cls(states, room, table, (log_probs.sizes[2], blank, *steps, states, room))

    def add(
        self, plan: LoopPlan, kernel: Builtin, results: Sequence[View], read: Sequence[View], more: Ints
    ) -> LoopPlan:
        """Add a kernel of results, scratch memory, the logarithms, labels and lengths, and what else is read."""
        log_probs, targets = plan.inputs[:2]
        steps, batch, _ = log_probs.sizes
        scratch = plan.temporary(contiguous_meta((batch, ARRAYS * self.room), int64))
        lengths = plan.constant(self.table)
        shown = [view.strides[0] for view in (*results, scratch, lengths, *read)]
        many = len(results) + 1
        strides = *shown[:many], log_probs.strides[1], 0, *shown[many:]
        views = [*results, scratch, log_probs, targets, lengths, *read]
        work = STEPS * steps * batch * self.states
        plan.kernel(long_call(work, kernel), views, (*self.numbers, *more, 1, batch, *strides))
        return plan


def _numbers(input_lengths: Tensor, target_lengths: Tensor) -> tuple[Lengths, Lengths]:
    """Lengths of inputs and targets in tensors. Raises RuntimeError for those that are no whole numbers."""
    found: list[Lengths] = []
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if given.meta.dtype.kind > 1 or given.meta.dtype.name == "bool":
            raise RuntimeError(f"ctc_loss(): {name} must be integral")
        there = given if given.meta.contiguous and given.meta.device is cpu else contiguous(host(given))
        found.append(read_elements(there.meta.dtype, there.pointer, there.meta.numel) if there.meta.numel else ())
    return found[0], found[1]


def _likelihoods_plan(log_probs: Tensor, targets: Tensor, lengths: tuple[Lengths, Lengths], blank: int) -> LoopPlan:
    """Return the plan of _ctc_loss, kept in the meta of `log_probs`. Raises as _ctc_loss does."""
    meta = log_probs.meta

    def build() -> LoopPlan:
        _check_ctc(log_probs, targets, *lengths, blank)
        steps, batch, _ = meta.sizes
        states = 2 * max(lengths[1], default=0) + 1
        sizes = (batch,), (batch, steps, states)
        plan = LoopPlan([meta, targets.meta], [contiguous_meta(one, meta.dtype, meta.device) for one in sizes])
        if meta.device is not cpu or not batch:
            return plan
        plan.refusing = True
        plan.fill(plan.results[1], -inf)
        kernel = alignment.likelihoods_kernel(meta.dtype, targets.meta.dtype)
        return _Sequences.of(meta, targets.meta, lengths, blank).add(plan, kernel, plan.results, (), ())

    return recalled(meta.plans, ("ctc", targets.meta, lengths, blank), build)


def _check_labels(lengths: Lengths, log_probs: Tensor, targets: Tensor) -> None:
    if not targets.meta.numel or targets.meta.device is not cpu:
        return
    given, classes = values(targets), log_probs.meta.sizes[2]
    rows = [row[:count] for row, count in zip(given, lengths, strict=True)] if given.ndim == 2 else [given]
    if any(outside(row, classes) is not None for row in rows):
        raise RuntimeError(f"ctc_loss(): targets must lie within the {classes} classes")


@plannable
def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int = 0,
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """(the negative log likelihood of each sequence, the log likelihoods of its states) for log_probs [time, batch,
    classes] and targets [batch, length], or 1-D one behind the other. States that no sequence reaches have -inf.

    Raises RuntimeError for sizes, lengths and labels that do not fit, NotImplementedError for other dtypes.
    """
    lengths = tuple(input_lengths), tuple(target_lengths)
    fresh = _likelihoods_plan(log_probs, targets, lengths, blank).fresh
    taken = log_probs, targets
    return Planned.unrun(fresh, taken, fresh.native(), taken, check=partial(_check_labels, lengths[1]))


@plannable
def _ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """_ctc_loss with lengths in tensors. Raises RuntimeError as that does, and unless they are whole numbers."""
    lengths = _numbers(input_lengths, target_lengths)
    plan, taken = _likelihoods_plan(log_probs, targets, lengths, blank), (log_probs, targets)

    def take(log_probs: Tensor, targets: Tensor, *given: Tensor) -> tuple[Tensor, Tensor] | None:
        return (log_probs, targets) if _numbers(*given) == lengths else None

    def of_lengths(log_probs: Tensor, targets: Tensor, *given: Tensor) -> Any:
        found = _numbers(*given)
        run = kept.get(found) or remember(kept, found, _likelihoods_plan(log_probs, targets, found, blank).call)
        return run(log_probs, targets)

    kept = {lengths: plan.call}
    check = partial(_check_labels, lengths[1])
    planned = Planned.taking(plan.fresh, take, (*taken, input_lengths, target_lengths), values=taken, check=check)
    planned.call = of_lengths
    return planned


def gradient(
    grad: Tensor, log_probs: Tensor, targets: Tensor, losses: Tensor, alphas: Tensor, lengths: tuple[Lengths, Lengths],
    blank: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """Return the gradient of _ctc_loss, whose results are given, for plain tensors."""
    tensors = log_probs, targets, losses, alphas, grad
    metas = [one.meta for one in tensors]
    own = metas[0]

    def build() -> LoopPlan:
        made = meta_of(own.sizes, preserve_format_strides(own.sizes, own.strides), own.dtype)
        plan = LoopPlan(metas, [made])
        plan.fill(plan.results[0], 0)
        sequences = _Sequences.of(own, metas[1], lengths, blank)
        result = plan.results[0]
        along = result._replace(strides=(result.strides[1], result.strides[0], result.strides[2]))
        more = result.strides[0], result.strides[2], int(zero_infinity)
        kernel = alignment.gradient_kernel(own.dtype, metas[1].dtype)
        return sequences.add(plan, kernel, [along], plan.inputs[2:], more)

    plan = recalled(own.plans, ("ctc gradient", *metas[1:], lengths, blank, zero_infinity), build)
    return plan.planned(*tensors).result  # type: ignore[no-any-return]


@composite
def ctc_loss(
    part: Part, log_probs: Tensor, targets: Tensor, input_lengths: Lengths, target_lengths: Lengths, blank: int = 0,
    reduction: int = MEAN, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """_ctc_loss reduced; the mean is of losses over the lengths of their targets. One sequence needs no batch dim."""
    single = log_probs.meta.ndim == 2
    rows = part("unsqueeze", log_probs, 1) if single else log_probs
    loss = part.first("_ctc_loss", rows, targets, input_lengths, target_lengths, blank, zero_infinity)
    dtype, device = loss.meta.dtype, loss.meta.device
    if zero_infinity:
        finite = part("ne.Scalar", loss, inf)
        zero = part.constant(converted(filled((), dtype, 0), dtype, device))
        loss = part("where.self", finite, loss, zero)
    if reduction == MEAN:
        lengths = filled((len(target_lengths),), dtype, np.maximum(target_lengths, 1))
        loss = part("div.Tensor", loss, part.constant(converted(lengths, dtype, device)))
    elif single and reduction != SUM:
        return part("squeeze.dim", loss, 0)
    return reduced(part, loss, reduction)


def ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    reduction: int = MEAN, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """ctc_loss with lengths in tensors. Raises RuntimeError for lengths that are no whole numbers, and as that does."""
    lengths = _numbers(input_lengths, target_lengths)
    return apply("ctc_loss.IntList", log_probs, targets, *lengths, blank, reduction, zero_infinity)
