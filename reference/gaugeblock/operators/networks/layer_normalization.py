"""Normalization over the last dims: mean and deviation in one reduction, then one fused pass."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...core.dtype import DType, float32, float64
from ...core.promotion import UPSTREAM_NAMES
from ...kernels import reduction_ops, rowwise_normalization
from ...tensor.tensor import Tensor, empty_tensor
from ..arrays import check_same_device
from ..conversion import converted
from ..plan import Planned, plannable
from ..reduce_call import reduce
from .calls import apply_for_many
from .row_normalizing import normalized_rows, normalizing_call

Sizes = Sequence[int]


def normalized_dims(operator: str, input: Tensor, normalized_shape: Sizes, *parameters: Tensor | None) -> int:
    """How many dims are normalized. Raises RuntimeError unless they are the last and all parameters have that shape."""
    wanted, own = tuple(normalized_shape), input.meta.sizes
    if not wanted:
        raise RuntimeError(
            f"{operator}(): Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            f"element, but got normalized_shape = {list(wanted)}"
        )
    for name, parameter in zip(("weight", "bias"), parameters, strict=False):
        if parameter is not None and parameter.meta.sizes != wanted:
            raise RuntimeError(
                f"{operator}(): Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter.meta.sizes)} and normalized_shape = {list(wanted)}"
            )
    if len(own) < len(wanted) or own[len(own) - len(wanted) :] != wanted:
        raise RuntimeError(
            f"{operator}(): Given normalized_shape={list(wanted)}, expected input with shape "
            f"[*{', '.join(map(str, wanted))}], but got input of size{list(own)}"
        )
    return len(wanted)


def statistics_dtype(operator: str, input: Tensor, *parameters: Tensor | None) -> DType:
    """The dtype of mean and deviation that are returned: float32 for half precision with float32 parameters.

    Raises NotImplementedError for what is no float, RuntimeError for other mixtures.
    """
    own = input.meta.dtype
    check_same_device(operator, input, *(p for p in parameters if p is not None))
    if own.kind != 2:
        raise NotImplementedError(f"\"{operator}\" not implemented for '{UPSTREAM_NAMES[own.name]}'")
    given = {p.meta.dtype for p in parameters if p is not None}
    if not given or given == {own}:
        return own
    if own.itemsize == 2 and given == {float32}:
        return float32
    raise RuntimeError(
        f"{operator}(): mixed dtype (CPU): all inputs must share same datatype, or parameters be Float beside half "
        f"precision; got {', '.join(sorted(UPSTREAM_NAMES[dtype.name] for dtype in given))} beside "
        f"{UPSTREAM_NAMES[own.name]}"
    )


def native_layer_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """((input - mean) / sqrt(variance + eps) * weight + bias, mean, 1 / sqrt(variance + eps)) over the last dims.

    Raises RuntimeError for shapes and dtypes that do not fit.
    """
    count = normalized_dims("layer_norm", input, normalized_shape, weight, bias)
    meta = input.meta
    kept = statistics_dtype("layer_norm", input, weight, bias)
    wide = float64 if meta.dtype is float64 else float32
    weighted, biased = weight is not None, bias is not None
    found = normalized_rows(
        "layer_norm",
        partial(rowwise_normalization.layer_norm, meta.dtype, weighted, biased),
        input,
        count,
        (weight, bias),
        (wide, wide),
        eps,
    )
    if found is not None:
        result, mean, deviation = found
        return result, converted(mean, kept), converted(deviation, kept)
    dims = tuple(range(meta.ndim - count, meta.ndim))
    mean, deviation = reduce(
        "layer_norm", reduction_ops.moments_reduction(meta.dtype), input, dims, True, meta.dtype, (wide, wide), (eps,)
    )
    result = empty_tensor(meta.sizes, meta.dtype, meta.device)
    return result, converted(mean, kept), converted(deviation, kept)


@plannable
def layer_norm(
    input: Tensor,
    normalized_shape: Sizes,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor | Planned[Tensor]:
    """native_layer_norm without the statistics."""
    result = apply_for_many("native_layer_norm", input, normalized_shape, weight, bias, eps)[0]
    own, weighted, biased = input.meta.dtype, weight is not None, bias is not None
    count = len(normalized_shape)
    program = partial(rowwise_normalization.layer_norm, own, weighted, biased)
    return Planned(result, normalizing_call("layer_norm", program, input, count, (weight, bias), eps))
