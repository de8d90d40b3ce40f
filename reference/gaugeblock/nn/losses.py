"""Losses with torch.nn.functional's signatures, and their argument `reduction`: "none", "mean" or "sum"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..calls.functions import ops
from ..core.warn import warn
from ..iteration.dimensions import broadcast_shapes
from ..operators.invoke import apply_for_many
from ..tensor.tensor import Tensor
from .checked import named

NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def _number(reduction: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number that operators take. Warns about the older flags, raises ValueError for another word."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warn(f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.")
    found = NUMBERS.get(reduction)
    if found is None:
        raise ValueError(f"{reduction} is not a valid value for reduction: expected one of {', '.join(NUMBERS)}")
    return found


def _reduced(loss: Any, kind: int) -> Any:
    """The loss as it is, its mean or its sum, for the number that operators take."""
    return loss if kind == 0 else getattr(ops, "mean" if kind == 1 else "sum")(loss)


Maybe = Tensor | None
Flag = bool | None


def _paired(input: Any, target: Any) -> Any:
    if target.shape == input.shape:
        return input, target
    warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely "
        f"lead to incorrect results due to broadcasting. Please ensure they have the same size."
    )
    return apply_for_many("broadcast_tensors", (input, target))


def _of_difference(name: str, input: Any, target: Any, weight: Any, kind: int, *numbers: float) -> Any:
    """The loss `name`; with weights the mean is weighted, but that of huber_loss."""
    pair = _paired(input, target)
    if weight is None:
        return getattr(ops, name)(*pair, kind, *numbers)
    if weight.shape != input.shape:
        raise ValueError(f"{name}(): Weights and input must have the same size, got {weight.shape} and {input.shape}")
    loss = getattr(ops, name)(*pair, 0, *numbers) * weight
    return ops.sum(loss) / ops.sum(weight) if kind == 1 and name != "huber_loss" else _reduced(loss, kind)


def _weighted(name: str, formula: str) -> Callable[..., Any]:
    def loss(
        input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
        weight: Maybe = None,
    ) -> Any:  # fmt: skip
        return _of_difference(name, input, target, weight, _number(reduction, size_average, reduce))

    return named(loss, name, f"{formula}; with weights the mean is weighted.")


l1_loss = _weighted("l1_loss", "|input - target|")
mse_loss = _weighted("mse_loss", "(input - target)**2")


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Maybe = None) -> Any:
    """Half the square within delta of the target, linear outside; with weights the mean is a plain one."""
    return _of_difference("huber_loss", input, target, weight, _number(reduction), delta)


def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
    beta: float = 1.0,
) -> Any:  # fmt: skip
    """huber_loss divided by its delta, here beta; l1_loss for 0."""
    pair = _paired(input, target)
    kind = _number(reduction, size_average, reduce)
    return ops.l1_loss(*pair, kind) if beta == 0.0 else ops.smooth_l1_loss(*pair, kind, beta)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """-(target log input + (1 - target) log(1 - input)). Raises ValueError for two sizes."""
    kind = _number(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy(): Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    if weight is not None:
        weight = ops.broadcast_to(weight, broadcast_shapes((target.shape, weight.shape)))
    return ops.binary_cross_entropy(input, target, weight, kind)


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
    kind = _number(reduction, size_average, reduce)
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, kind)


def nll_loss(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, ignore_index: int = -100,
    reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """-input at the classes that target names, weighted."""
    return ops.nll_loss_nd(input, target, weight, _number(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Maybe = None, size_average: Flag = None, ignore_index: int = -100,
    reduce: Flag = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """nll_loss of log_softmax of input, or for probabilities as target the cross entropy with them."""
    kind = _number(reduction, size_average, reduce)
    return ops.cross_entropy_loss(input, target, weight, kind, ignore_index, label_smoothing)


def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """The loss of labels whose places in time are not known."""
    given = (log_probs, targets, input_lengths, target_lengths, blank)
    return ops.ctc_loss(*given, _number(reduction), zero_infinity)


def kl_div(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """target (log target - input); "batchmean" is the sum divided by the first size."""
    plain = size_average is None and reduce is None
    if plain and reduction == "batchmean":
        total = ops.kl_div(input, target, 2, log_target=log_target)
        return total / input.shape[0] if input.ndim else total
    if plain and reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition."
        )
    return ops.kl_div(input, target, _number(reduction, size_average, reduce), log_target=log_target)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: Flag = None,
    eps: float = 1e-8, reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Negative log likelihood of a Poisson distribution."""
    return ops.poisson_nll_loss(input, target, log_input, full, eps, _number(reduction, size_average, reduce))


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Negative log likelihood of normal distributions. Raises ValueError for a negative variance or wrong sizes."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError(f"gaussian_nll_loss(): var has negative entry/entries, got {var}")
        var = ops.full_like(input, var)
    elif bool(ops.any(ops.lt(var, 0))):
        raise ValueError("gaussian_nll_loss(): var has negative entry/entries")
    if var.shape != input.shape:
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(n for m, n in zip(input.shape, var.shape, strict=True) if m != n) != 1:
            raise ValueError(
                f"gaussian_nll_loss(): var is of incorrect size {tuple(var.shape)} for input of size "
                f"{tuple(input.shape)}"
            )
    kind = _number(reduction)
    var = var.clamp(min=eps)
    loss = (var.log() + (input - target) ** 2 / var) * 0.5
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, kind)


def triplet_margin_with_distance_loss(
    anchor: Any, positive: Any, negative: Any, *, distance_function: Callable[[Any, Any], Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin + distance to positive - distance to negative). Raises ValueError for a margin not above 0."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss(): margin must be greater than 0, got {margin}")
    kind = _number(reduction)
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            f"triplet_margin_with_distance_loss(): The anchor, positive, and negative tensors are expected to have the "
            f"same number of dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    distance = ops.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = ops.minimum(far, distance(positive, negative))
    return _reduced(ops.clamp_min(near - far + margin, 0), kind)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """input where target is 1, max(0, margin - input) where it is -1."""
    return ops.hinge_embedding_loss(input, target, margin, _number(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Flag = None,
    reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin - target (input1 - input2)). Raises RuntimeError for different numbers of dims."""
    kind = _number(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    return ops.margin_ranking_loss(input1, input2, target, margin, kind)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Flag = None,
    reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1."""
    return ops.cosine_embedding_loss(input1, input2, target, margin, _number(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, margin + distance to positive - distance to negative). Raises ValueError for a margin not above 0."""
    kind = _number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss(): margin must be greater than 0, got {margin}")
    return ops.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, kind)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Any:
    """log(1 + e**(-target input))."""
    return ops.soft_margin_loss(input, target, _number(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Maybe = None,
    size_average: Flag = None, reduce: Flag = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Mean over the other classes of max(0, margin - input[target] + input)**p. ValueError for other p and weight."""
    kind = _number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss(): only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"multi_margin_loss(): weight must be one-dimensional, got {weight.ndim} dims")
    return ops.multi_margin_loss(input, target, p, margin, weight, kind)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Any:
    """Sum of max(0, 1 - input[label] + input) over labels and the classes that are none, divided by the classes."""
    return ops.multilabel_margin_loss(input, target, _number(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Any, target: Any, weight: Maybe = None, size_average: Flag = None, reduce: Flag = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Mean over the classes of binary_cross_entropy_with_logits."""
    kind = _number(reduction, size_average, reduce)
    positive, negative = ops.log_sigmoid(input), ops.log_sigmoid(-input)
    loss = -(target * positive + (1 - target) * negative)
    if weight is not None:
        loss = loss * weight
    mean = loss.sum(dim=input.ndim - 1) / input.size(-1)
    return _reduced(mean, kind)
