"""Losses with torch.nn.functional's signatures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.warn import warn
from ..operators.invoke import apply_for_many
from ..tensor.tensor import Tensor
from .lookup import operator
from .reduction import number, reduced

Maybe = Tensor | None
Flag = bool | None


def _paired(input: Any, target: Any) -> Any:
    if target.shape != input.shape:
        warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            f"likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )
    return apply_for_many("broadcast_tensors", (input, target))


def _weighted(name: str, pair: Any, input: Any, weight: Any, reduction: str, *numbers: float) -> Any:
    if weight.shape != input.shape:
        raise ValueError(f"{name}(): Weights and input must have the same size, got {weight.shape} and {input.shape}")
    loss = operator(name)(*pair, 0, *numbers) * weight
    if reduction == "mean" and name != "huber_loss":
        return operator("sum")(loss) / operator("sum")(weight)
    return reduced(loss, reduction)


def l1_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
    weight: Maybe = None,
) -> Any:  # fmt: skip
    """|input - target|; with weights the mean is weighted."""
    pair = _paired(input, target)
    if weight is not None:
        return _weighted("l1_loss", pair, input, weight, reduction)
    return operator("l1_loss")(*pair, number(reduction, size_average, reduce))


def mse_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
    weight: Maybe = None,
) -> Any:  # fmt: skip
    """(input - target)**2; with weights the mean is weighted."""
    pair = _paired(input, target)
    if weight is not None:
        return _weighted("mse_loss", pair, input, weight, reduction)
    return operator("mse_loss")(*pair, number(reduction, size_average, reduce))


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Maybe = None
) -> Any:
    """Half the square within delta of the target, linear outside; with weights the mean is a plain one."""
    pair = _paired(input, target)
    if weight is not None:
        return _weighted("huber_loss", pair, input, weight, reduction, delta)
    return operator("huber_loss")(*pair, number(reduction), delta)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Any:  # fmt: skip
    """huber_loss divided by its delta, here beta; l1_loss for 0."""
    pair = _paired(input, target)
    kind = number(reduction, size_average, reduce)
    return operator("l1_loss")(*pair, kind) if beta == 0.0 else operator("smooth_l1_loss")(*pair, kind, beta)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """-(target log input + (1 - target) log(1 - input)). Raises ValueError for two sizes."""
    kind = number(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy(): Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = operator("broadcast_to")(weight, operator("broadcast_shapes")(target.shape, weight.shape))
    return operator("binary_cross_entropy")(input, target, weight, kind)


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean", pos_weight: Maybe = None,
) -> Any:  # fmt: skip
    """binary_cross_entropy of the sigmoid of input. Raises ValueError for two sizes."""
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits(): Target size ({target.shape}) must be the same as input size "
            f"({input.shape})"
        )
    kind = number(reduction, size_average, reduce)
    return operator("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, kind)


def nll_loss(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, ignore_index: int = -100,
    reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """-input at the classes that target names, weighted."""
    kind = number(reduction, size_average, reduce)
    return operator("nll_loss_nd")(input, target, weight, kind, ignore_index)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, ignore_index: int = -100,
    reduce: Flag = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """nll_loss of log_softmax of input, or for probabilities as target the cross entropy with them."""
    kind = number(reduction, size_average, reduce)
    return operator("cross_entropy_loss")(input, target, weight, kind, ignore_index, label_smoothing)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The loss of labels whose places in time are not known."""
    given = (log_probs, targets, input_lengths, target_lengths, blank)
    return operator("ctc_loss")(*given, number(reduction), zero_infinity)


def kl_div(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """target (log target - input); "batchmean" is the sum divided by the first size."""
    if size_average is None and reduce is None and reduction == "batchmean":
        total = operator("kl_div")(input, target, 2, log_target=log_target)
        return total / input.shape[0] if input.ndim else total
    if size_average is None and reduce is None and reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition."
        )
    kind = number(reduction, size_average, reduce)
    return operator("kl_div")(input, target, kind, log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Flag = None,
    eps: float = 1e-8, reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Negative log likelihood of a Poisson distribution."""
    kind = number(reduction, size_average, reduce)
    return operator("poisson_nll_loss")(input, target, log_input, full, eps, kind)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Negative log likelihood of normal distributions. Raises ValueError for a negative variance or wrong sizes."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss(): var has negative entry/entries, got {var}")
        var = operator("full_like")(input, var)
    elif bool(operator("any")(operator("lt")(var, 0))):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries")
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(n for m, n in zip(input.shape, var.shape, strict=True) if m != n) != 1:
            raise ValueError(
                f"gaussian_nll_loss(): var is of incorrect size {tuple(var.shape)} for input of size "
                f"{tuple(input.shape)}"
            )
    number(reduction)
    var = var.clamp(min=eps)
    loss = (var.log() + (input - target) ** 2 / var) * 0.5
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def triplet_margin_with_distance_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    *,
    distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, margin + distance to positive - distance to negative). Raises ValueError for a margin not above 0."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss(): margin must be greater than 0, got {margin}")
    number(reduction)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"triplet_margin_with_distance_loss(): The anchor, positive, and negative tensors are expected to have the "
            f"same number of dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    distance = operator("pairwise_distance") if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = operator("minimum")(far, distance(positive, negative))
    return reduced(operator("clamp_min")(near - far + margin, 0), reduction)
