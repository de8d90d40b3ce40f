"""Losses over classes: negative log likelihood, cross entropy, and margins between classes."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

from ...core.device import cpu
from ...core.dtype import float32, float64, int64, uint8
from ...core.memory_format import contiguous_format
from ...core.promotion import UPSTREAM_NAMES
from ...iteration.tensor_iterator import Number
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import check_same_device, filled, outside, values
from ..composition import Part, composite
from ..fill import full_of
from ..invoke import result_type
from ..operand_checks import check_scalar_type
from ..plan import Planned, plannable
from .calls import check_dtype, made
from .losses import MEAN, NONE, reduced

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


@composite
def _of_counted_classes(part: Part, self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """The likelihood and the number of samples, of which each counts. Raises RuntimeError where one does not."""
    chosen = part("gather", self, 1, part("unsqueeze", target, 1))
    loss = part("neg", part("mean" if reduction == MEAN else "sum", chosen))
    return loss, part("clone", part.constant(full_of("nll_loss", loss.meta, self.meta.sizes[0])))


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
    plain = weight is None and reduction != NONE and self.meta.ndim == 2 and ignore_index < 0
    if plain and self.meta.numel and dtype in (float32, float64) and target.meta.dtype is int64:
        try:
            return _of_counted_classes.planned(self, target, reduction)
        except RuntimeError:
            pass  # a class is ignored, or not there: what follows tells which
    return _of_any_classes.planned(self, target, weight, reduction, ignore_index)


@composite
def _of_any_classes(
    part: Part, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    """The likelihood and the sum of weights where classes may be ignored. Raises IndexError for no such class."""
    dtype, place = self.meta.dtype, min(self.meta.ndim, 2) - 1
    batch, count = target.meta.sizes if place else (), self.meta.sizes[place]
    classes = part("to.dtype", part("reshape", target, batch), int64)
    kept = part("ne.Scalar", classes, ignore_index)
    classes = part("where.ScalarOther", kept, classes, 0)
    part.check(_check_classes, classes, kept, count)
    source = self if count else part("new_zeros", self, (*batch[:1], 1, *batch[1:]))
    picked = part("squeeze.dim", part("gather", source, place, part("unsqueeze", classes, place)), place)
    factors = part("to.dtype", kept, float64)
    if weight is not None and count:
        weights = part("reshape", part("index_select", weight, 0, part("reshape", classes, (-1,))), batch)
        factors = part("where.ScalarOther", kept, part("to.dtype", weights, float64), 0)
    terms = part("neg", part("mul.Tensor", part("to.dtype", picked, float64), factors))
    terms = part("where.ScalarOther", kept, terms, 0)
    if reduction == NONE:
        return part("to.dtype", terms, dtype), part("fill.Scalar", part("new_empty", self, ()), 0)
    total, weighed = part("sum", terms), part("sum", factors)
    if reduction == MEAN:
        total = made(part, "div", [total.meta], [total, weighed], float64)
    return part("to.dtype", total, dtype), part("to.dtype", weighed, dtype)


def _check_classes(classes: Tensor, kept: Tensor, count: int) -> None:
    given = values(classes)
    wrong = given[values(kept) & ((given < 0) | (given >= count))]
    if wrong.size:
        raise IndexError(f"nll_loss(): Target {wrong[0]} is out of bounds.")


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


@composite
def multi_margin_loss(
    part: Part, self: Tensor, target: Tensor, p: Number = 1, margin: Number = 1, weight: Tensor | None = None,
    reduction: int = MEAN,
) -> Tensor:  # fmt: skip
    """Mean over the other classes of max(0, margin - self[target] + self)**p, weighted by the target, reduced. Raises
    RuntimeError for sizes that do not fit, classes that there are not, and another p than 1 and 2."""
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
        raise RuntimeError(f"{name}(): inconsistent weight size, expected {classes} but got {list(weight.meta.sizes)}")
    check_dtype(name, self)
    check_scalar_type(f"{name}()", int64, target.meta.dtype)
    part.run(_check_targets, target, classes)
    scores, chosen = part("reshape", self, (samples, classes)), part("reshape", target, (samples, 1))
    room = part("add.Tensor", part("rsub.Scalar", part("gather", scores, 1, chosen), margin), scores)
    room = part("clamp_min", room, 0)
    room = room if p == 1 else part("mul.Tensor", room, room)
    if weight is not None:
        weights = part("index_select", weight, 0, part("reshape", target, (samples,)))
        room = part("mul.Tensor", room, part("unsqueeze", weights, 1))
    room = part("scatter.value", room, 1, chosen, 0)
    alone = self.meta.ndim < 2 and target.meta.ndim == 0
    losses = part("to.dtype", part("div.Scalar", part("sum.dim_IntList", room, (1,)), classes), self.meta.dtype)
    return reduced(part, part("reshape", losses, ()) if alone else losses, reduction)


def _check_targets(target: Tensor, classes: int) -> None:
    if target.meta.device is cpu and outside(values(target), classes) is not None:
        raise RuntimeError(f"multi_margin_loss(): target out of range, there are {classes} classes")


PAIRS = 1 << 22
"""Pairs of a label and a class whose margins are computed at once."""


@composite
def multilabel_margin_loss_forward(part: Part, self: Tensor, target: Tensor, reduction: int) -> Any:
    """(sum over labels and other classes of max(0, 1 - self[label] + self) / classes, reduced; 1 at the labels). A
    row's labels end at the first -1. Raises RuntimeError for sizes that do not fit and labels that there are not."""
    name = "multilabel_margin_loss"
    check_same_device(name, self, target)
    samples, classes = _samples(name, self)
    if target.meta.sizes != self.meta.sizes:
        raise RuntimeError(
            f"{name}(): inconsistent target size: {list(target.meta.sizes)} for input of size: "
            f"{list(self.meta.sizes)}"
        )
    check_dtype(name, self)
    check_scalar_type(f"{name}()", int64, target.meta.dtype)
    part.check(_check_labels, target, classes)
    scores, labels = part("reshape", self, (samples, classes)), part("reshape", target, (samples, classes))
    ended = part("gt.Scalar", part("cumsum", part("lt.Scalar", labels, 0), 1), 0)
    # Places behind the end are put in a column more; those of labels that there are not would be further out.
    wrong = part("bitwise_or.Tensor", part("lt.Scalar", labels, -1), part("ge.Scalar", labels, classes))
    first, behind, out = (part.constant(filled((), int64, place)) for place in (0, classes, classes + 1))
    places = part("where.self", wrong, out, part("where.self", ended, behind, labels))
    wide = samples, classes + 1
    has_data = self.meta.device is cpu
    none = part.constant(filled(wide, self.meta.dtype, 0)) if has_data else part("new_zeros", scores, wide)
    marks = part("narrow", part("scatter.value", none, 1, places, 1), 1, 0, classes)
    own = part("gather", scores, 1, part("where.self", ended, first, labels))
    room, known = part("rsub.Scalar", own, 1), part("unsqueeze", part("ne.Scalar", marks, 0), 1)
    others, count = part("unsqueeze", scores, 1), max(1, PAIRS // max(samples * classes, 1))
    losses: Tensor | None = None
    for begin in range(0, classes, count):
        length = min(count, classes - begin)
        some, left = (part("unsqueeze", part("narrow", one, 1, begin, length), 2) for one in (room, ended))
        margins = part("clamp_min", part("add.Tensor", some, others), 0)
        margins = part("where.ScalarSelf", part("bitwise_or.Tensor", left, known), 0, margins)
        found = part("sum.dim_IntList", margins, (1, 2))
        losses = found if losses is None else part("add.Tensor", losses, found)
    losses = part("div.Scalar", losses, classes) if losses is not None else part("new_zeros", scores, (samples,))
    kept = reduction == NONE and self.meta.ndim == 2
    losses = reduced(part, losses if kept or reduction != NONE else part("reshape", losses, ()), reduction)
    marks = part("clone", part("view", marks, target.meta.sizes), memory_format=contiguous_format)
    return result_type(f"{name}_forward")(losses, marks)


def _check_labels(target: Tensor, classes: int) -> None:
    if target.meta.device is cpu and outside(values(target), classes, -1) is not None:
        raise RuntimeError(
            f"multilabel_margin_loss(): argument #2 'target' is out of range, there are {classes} classes"
        )
