"""Losses over classes: negative log likelihood, cross entropy, and margins between classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import inf, nan, prod
from typing import Any

from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import float64, int64, uint8
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number, TensorIterator
from ...kernels.bound_call import Fresh
from ...kernels.class_losses import label_margins_kernel, likelihood_kernel, margins_kernel
from ...tensor.tensor import Tensor, empty_tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, recalled
from ..arrays import check_same_device, filled, outside, values
from ..composition import Part, composite
from ..indexing.scatter_loop import scatter_loop
from ..invoke import result_type
from ..loop_plan import LoopPlan, longest_first
from ..operand_checks import check_scalar_type
from ..plan import Planned, plannable, planned_fresh
from ..pointwise import formula_kernel
from .calls import check_dtype, unrecorded
from .losses import MEAN, NONE, reduced

SUMS = contiguous_meta((2,), float64)
IGNORED = -100
"""The class that counts for nothing unless another one is named."""


@plannable
def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor] | Planned[tuple[Tensor, Tensor]]:
    """(-self at the classes of target, weighted, reduced; the sum of the weights) for [classes] or [batch, classes].
    Raises RuntimeError for sizes and dtypes that do not fit, IndexError for a class that there is not."""
    own, wanted = self.meta.sizes, target.meta.sizes
    if len(own) not in (1, 2):
        raise RuntimeError(f"nll_loss(): input tensor should be 1D or 2D, got {len(own)}D")
    if len(wanted) > 1:
        raise RuntimeError(
            f"nll_loss(): 0D or 1D target tensor expected, multi-target not supported, got {len(wanted)}D"
        )
    if len(own) == 2 and wanted != own[:1]:
        raise RuntimeError(f"nll_loss(): size mismatch (got input: {list(own)}, target: {list(wanted)})")
    if len(own) == 1 and prod(wanted) != 1:
        raise RuntimeError(f"nll_loss(): For 1D input, 1D target must have size 1, but got target size: {list(wanted)}")
    return _likelihood("nll_loss", own[:-1], self, target, weight, reduction, ignore_index)


@plannable
def nll_loss2d_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor] | Planned[tuple[Tensor, Tensor]]:
    """The same for [batch, classes, height, width]. Raises RuntimeError and IndexError likewise."""
    own, wanted = self.meta.sizes, target.meta.sizes
    if len(wanted) != 3:
        raise RuntimeError(
            f"nll_loss2d(): only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{len(wanted)}"
        )
    if len(own) != 4:
        raise RuntimeError(
            f"nll_loss2d(): only batches of spatial inputs supported (4D tensors), but got input of dimension: "
            f"{len(own)}"
        )
    if (own[0], *own[2:]) != wanted:
        raise RuntimeError(f"nll_loss2d(): size mismatch (got input: {list(own)} , target: {list(wanted)})")
    return _likelihood("nll_loss2d", wanted, self, target, weight, reduction, ignore_index)


def _likelihood(
    operator: str, batch: tuple[int, ...], self: Tensor, target: Tensor, weight: Tensor | None, reduction: int,
    ignore_index: int,
) -> tuple[Tensor, Tensor] | Planned[tuple[Tensor, Tensor]]:  # fmt: skip
    dtype, device = self.meta.dtype, self.meta.device
    if target.meta.dtype not in (int64, uint8):
        raise RuntimeError(
            f"{operator}(): expected target dtype to be Long or Byte, but got "
            f"{UPSTREAM_NAMES[target.meta.dtype.name]}"
        )
    place = min(self.meta.ndim, 2) - 1
    count = self.meta.sizes[place]
    if weight is not None:
        if weight.meta.sizes != (count,):
            raise RuntimeError(
                f"{operator}(): weight tensor should be defined either for all {count} classes or no classes but got "
                f"weight tensor of shape: {list(weight.meta.sizes)}"
            )
        check_scalar_type(f"{operator}()", dtype, weight.meta.dtype)
    check_dtype(f"{operator}_forward", self)
    if device is not cpu:
        return empty_tensor(batch if reduction == NONE else (), dtype, device), empty_tensor((), dtype, device)
    metas = (self.meta, target.meta, *(() if weight is None else (weight.meta,)))
    key = ("likelihood", operator, *metas[1:], reduction, ignore_index)
    fresh = recalled(self.meta.plans, key, _likelihood_plan, metas, batch, place, reduction, ignore_index).fresh
    taken = (self, target) if weight is None else (self, target, weight)

    def check(self: Tensor, target: Tensor, *_: Tensor) -> None:
        given = values(target)
        wrong = given[(given != ignore_index) & ((given < 0) | (given >= count))]
        if wrong.size:
            raise IndexError(f"nll_loss(): Target {wrong[0]} is out of bounds.")

    return Planned.unrun(fresh, taken, fresh.native(), taken, check=check)


def _likelihood_plan(
    metas: Sequence[TensorMeta], batch: tuple[int, ...], place: int, reduction: int, ignored: int
) -> LoopPlan:
    """Return the plan for self, target and perhaps weight, self's classes along dim `place`."""
    own, wanted = metas[:2]
    dtype, sizes = own.dtype, batch or (1,)
    plan = LoopPlan(metas, [contiguous_meta(batch if reduction == NONE else (), dtype), contiguous_meta((), dtype)])
    plan.refusing = True
    if not prod(sizes):
        plan.fill(plan.results[0], nan if reduction == MEAN else 0)
        plan.fill(plan.results[1], 0)
        return plan
    source, target, *weights = plan.inputs
    count = own.sizes[place]
    # Without classes no element is read but this one, whatever is ignored.
    step = source.strides[place] if count else 0
    source = source.select(place, 0) if count else plan.constant(filled((1,), dtype, 0))
    weights = weights if count else [plan.constant(filled((1,), dtype, 0))] * len(weights)
    none = (0,) * len(sizes)
    views = [*plan.results, source, target, *weights]
    read = [source.strides if count and batch else none, wanted.byte_strides if batch else none]
    strides = [contiguous_meta(sizes, dtype).byte_strides if reduction == NONE else none, none, *read]
    strides += [none] * len(weights)
    steps = TensorIterator.restrided(sizes, strides, [view.dtype for view in views])
    several = reduction != NONE and len(steps.shape) > 1
    shape, *found = zip(*longest_first(steps.dims or [(1, *(0 for _ in views))]), strict=True)
    if several:
        views.insert(2, plan.fill(plan.temporary(SUMS), 0))
        found.insert(2, (0,) * len(shape))
    kernel = likelihood_kernel(dtype, wanted.dtype, bool(weights), reduction, several)
    given = ignored, count, step, weights[0].strides[0] if weights else 0
    plan.kernel(kernel, views, (*given, len(shape), *shape, *chain.from_iterable(found)))
    return plan


def likelihood_gradient(grad: Any, total: Any, target: Any, shape: tuple[int, ...], reduction: int) -> Any:
    """Return the gradient of a reduced likelihood without weights: minus `grad` at the class of each row, divided by
    the number of rows for a mean. None for recorded tensors, other devices than the CPU, and an ignored class."""
    if not (unrecorded(grad, total) and target.__class__ is Tensor and target.meta.dtype is int64 and 0 not in shape):
        return None
    key = ("likelihood gradient", total.meta, target.meta, shape, reduction)
    call = recalled(grad.meta.plans, key, _gradient_call, grad.meta, total.meta, target.meta, shape, reduction)
    return call(grad, total, target)


def _gradient_call(
    grad: TensorMeta, total: TensorMeta, target: TensorMeta, shape: tuple[int, ...], reduction: int
) -> Callable[..., Any]:
    dtype = grad.dtype
    result = contiguous_meta(shape, dtype)
    plan = LoopPlan([grad, total, target], [result])
    of_each, whole, classes = plan.inputs
    plan.refusing = True
    share = plan.temporary(contiguous_meta((), dtype))
    if reduction == MEAN:
        plan.loop(formula_kernel("div", [dtype, dtype], dtype, dtype), [share], [of_each, whole])
        of_each = share
    plan.loop(formula_kernel("neg", [dtype], dtype, dtype), [share], [of_each])
    plan.fill(plan.results[0], 0)
    index = meta_of((shape[0], 1), (*target.strides, 1), int64)
    steps = scatter_loop(result, meta_of(index.sizes, (0, 0), dtype), index, 1)
    plan.kernel(steps.builtin, [plan.results[0], share, classes], steps.tail)
    return plan.fresh.native()


def _first(operator: str, *defaults: Any) -> Callable[..., Tensor]:
    """Return a kernel for the first result of an operator. Arguments behind self and target have `defaults`."""

    def loss(part: Part, *given: Any) -> Tensor:
        return part.first(operator, *given, *defaults[len(given) - 2 :])

    return composite(loss)


nll_loss, nll_loss2d = (_first(f"nll_loss{dims}_forward", None, MEAN, IGNORED) for dims in ("", "2d"))
multilabel_margin_loss = _first("multilabel_margin_loss_forward", MEAN)


@composite
def nll_loss_nd(
    part: Part, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN,
    ignore_index: int = IGNORED,
) -> Tensor:  # fmt: skip
    """nll_loss for any number of dims after the classes. Raises ValueError for batches that do not fit."""
    own, wanted = self.meta.sizes, target.meta.sizes
    if not own:
        raise ValueError("nll_loss_nd(): Expected 1 or more dimensions (got 0)")
    if len(own) != 1 and (not wanted or own[0] != wanted[0]):
        raise ValueError(
            f"nll_loss_nd(): Expected input batch_size ({own[0]}) to match target batch_size "
            f"({wanted[0] if wanted else 'none'})."
        )
    options = (weight, reduction, ignore_index)
    if len(own) <= 2:
        return part("nll_loss", self, target, *options)
    if len(own) == 4:
        return part("nll_loss2d", self, target, *options)
    if wanted[1:] != own[2:]:
        raise RuntimeError(f"nll_loss_nd(): Expected target size {[own[0], *own[2:]]}, got {list(wanted)}")
    length = prod(own[2:])
    flat = part("reshape", self, (own[0], own[1], 1, length))
    loss = part("nll_loss2d", flat, part("reshape", target, (own[0], 1, length)), *options)
    return part("view", loss, (own[0], *own[2:])) if reduction == NONE else loss


@composite
def cross_entropy_loss(
    part: Part, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = MEAN,
    ignore_index: int = IGNORED, label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """nll_loss_nd of log_softmax, or for a target of self's shape the cross entropy with its probabilities. Raises
    RuntimeError for a smoothing outside [0, 1], ignore_index beside probabilities, and weights that do not fit."""
    own = self.meta.sizes
    place = 0 if len(own) == 1 else 1
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(
            f"cross_entropy_loss(): label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}"
        )
    if target.meta.sizes == own and target.meta.dtype.kind == 2:
        if ignore_index >= 0:
            raise RuntimeError(
                f"cross_entropy_loss(): ignore_index is not supported for floating point target, got {ignore_index}"
            )
        return _with_probabilities(part, self, target, weight, reduction, label_smoothing, place)
    logarithms = part("log_softmax.int", self, place)
    plain = part("nll_loss_nd", logarithms, target, weight, reduction, ignore_index)
    if label_smoothing == 0.0:
        return plain
    classes = own[place]
    scores = logarithms if weight is None else part("mul.Tensor", logarithms, _along(part, weight, place, len(own)))
    smooth = part("neg", part("sum.dim_IntList", scores, (place,)))
    ignored = part("eq.Scalar", target, ignore_index)
    smooth = part("where.ScalarSelf", ignored, 0, smooth)
    if reduction == MEAN:
        counted = part("logical_not", ignored)
        if weight is not None:
            safe = part("reshape", part("where.ScalarSelf", ignored, 0, target), (-1,))
            weights = part("reshape", part("index_select", weight, 0, safe), target.meta.sizes)
            counted = part("where.ScalarSelf", ignored, 0, weights)
        smooth = part("div.Tensor", part("sum", smooth), part("sum", counted))
    else:
        smooth = reduced(part, smooth, reduction)
    return part(
        "add.Tensor",
        part("mul.Scalar", plain, 1 - label_smoothing),
        part("mul.Scalar", smooth, label_smoothing / classes if classes else inf),
    )


def _along(part: Part, weight: Tensor, place: int, ndim: int) -> Tensor:
    return part("reshape", weight, (-1, *(1,) * (ndim - place - 1)))


def _with_probabilities(
    part: Part, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float, place: int
) -> Tensor:
    own = self.meta.sizes
    if weight is not None and weight.meta.sizes != (own[place],):
        raise RuntimeError(
            f"cross_entropy_loss(): cross_entropy: weight tensor should be defined either for all {own[place]} classes "
            f"or no classes but got weight tensor of shape: {list(weight.meta.sizes)}"
        )
    if label_smoothing > 0.0:
        scaled = part("mul.Scalar", target, 1 - label_smoothing)
        target = part("add.Scalar", scaled, label_smoothing / max(own[place], 1))
    terms = part("mul.Tensor", part("log_softmax.int", self, place), target)
    if weight is not None:
        terms = part("mul.Tensor", terms, _along(part, weight, place, len(own)))
    if reduction == NONE:
        return part("neg", part("sum.dim_IntList", terms, (place,)))
    total = part("neg", part("sum", terms))
    batch = prod(own) // own[place] if own[place] else 0
    return part("div.Scalar", total, float(batch)) if reduction == MEAN else total


def _samples(operator: str, self: Tensor) -> tuple[int, int]:
    """(samples, classes). Raises RuntimeError for an input without classes."""
    own = self.meta.sizes
    if len(own) > 2 or (len(own) and own[-1] == 0):
        raise RuntimeError(
            f"{operator}(): Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(own)}"
        )
    return (own[0] if len(own) == 2 else 1), (own[-1] if own else 1)


@plannable
def multi_margin_loss(
    self: Tensor, target: Tensor, p: Number = 1, margin: Number = 1, weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor | Planned[Tensor]:  # fmt: skip
    """Mean over the other classes of max(0, margin - self[target] + self)**p, weighted by the target, reduced. Raises
    RuntimeError for sizes that do not fit, classes that there are not, and another p than 1 and 2."""
    name = "multi_margin_loss"
    device = check_same_device(name, self, target)
    samples, classes = _samples(name, self)
    if p not in (1, 2):
        raise RuntimeError(f"{name}(): only p == 1 and p == 2 supported, got {p}")
    if target.meta.numel != samples or target.meta.ndim > 1:
        raise RuntimeError(
            f"{name}(): {name}: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{samples}], but got {list(target.meta.sizes)}."
        )
    if weight is not None and weight.meta.sizes != (classes,):
        raise RuntimeError(f"{name}(): inconsistent weight size, expected {classes} but got {list(weight.meta.sizes)}")
    check_dtype(name, self)
    check_scalar_type(f"{name}()", int64, target.meta.dtype)
    own, dtype = self.meta, self.meta.dtype
    alone = own.ndim < 2 and not target.meta.ndim
    result = contiguous_meta((samples,) if reduction == NONE and not alone else (), dtype, device)
    if device is not cpu or not samples:
        return _of_no_samples((self, target), [result], reduction).planned(self, target)
    weights = () if weight is None else (weight,)
    steps = own.byte_strides[-1:] or (0,), [one.meta.byte_strides[0] for one in weights] or (0,)
    strides = dtype.itemsize, own.byte_strides[0] if own.ndim > 1 else 0, *(target.meta.byte_strides or (0,))
    tail = classes, *chain(*steps), 1, samples, *strides, *(0 for _ in weights)
    kernel = margins_kernel(dtype, weight is not None, reduction)
    fresh = Fresh(long_call(samples * classes, kernel), (result,), tail, refusing=True)
    taken = self, target, p, margin, *weights

    def check(self: Tensor, target: Tensor, *_: Any) -> None:
        if outside(values(target), classes) is not None:
            raise RuntimeError(f"{name}(): target out of range, there are {classes} classes")

    return Planned.unrun(fresh, taken, fresh.native(), taken, check=check)


def _of_no_samples(tensors: Sequence[Tensor], results: Sequence[TensorMeta], reduction: int) -> LoopPlan:
    """Return the plan of the loss without samples, or on a device without data."""
    plan = LoopPlan([one.meta for one in tensors], results)
    if results[0].device is cpu and results[0].numel:
        plan.fill(plan.results[0], nan if reduction == MEAN else 0)
    return plan


@plannable
def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> Any:
    """(sum over labels and other classes of max(0, 1 - self[label] + self) / classes, reduced; 1 at the labels). A
    row's labels end at the first -1. Raises RuntimeError for sizes that do not fit and labels that there are not."""
    name, kind = "multilabel_margin_loss", result_type("multilabel_margin_loss_forward")
    device = check_same_device(name, self, target)
    samples, classes = _samples(name, self)
    if target.meta.sizes != self.meta.sizes:
        raise RuntimeError(
            f"{name}(): inconsistent target size: {list(target.meta.sizes)} for input of size: "
            f"{list(self.meta.sizes)}"
        )
    check_dtype(name, self)
    check_scalar_type(f"{name}()", int64, target.meta.dtype)
    own, dtype = self.meta, self.meta.dtype
    kept = (samples,) if reduction == NONE and own.ndim == 2 else ()
    results = [contiguous_meta(kept, dtype, device), contiguous_meta(target.meta.sizes, dtype, device)]
    if device is not cpu or not samples:
        return planned_fresh(_of_no_samples((self, target), results, reduction).fresh, self, target, kind=kind)
    given = own.byte_strides, target.meta.byte_strides
    steps = [one[-1] if one else 0 for one in given]
    strides = dtype.itemsize, classes * dtype.itemsize, *[one[0] if len(one) > 1 else 0 for one in given]
    kernel = long_call(samples * classes * classes, label_margins_kernel(dtype, reduction))
    fresh = Fresh(kernel, tuple(results), (classes, *steps, 1, samples, *strides), refusing=True)

    def check(self: Tensor, target: Tensor) -> None:
        if outside(values(target), classes, -1) is not None:
            raise RuntimeError(f"{name}(): argument #2 'target' is out of range, there are {classes} classes")

    named = planned_fresh(fresh, self, target, kind=kind).call
    return Planned.unrun(fresh, (self, target), named, (self, target), kind=kind, check=check)
