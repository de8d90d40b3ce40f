"""Normalization of groups of channels within each sample."""

from __future__ import annotations

from math import prod

from ...core.dtype import float32, float64
from ...kernels import reduction_ops
from ...tensor.reshaping import contiguous, view
from ...tensor.tensor import Tensor
from ..conversion import converted
from ..reduce_call import reduce
from .calls import apply_for_many, scaled_into
from .layer_normalization import statistics_dtype
from .layouts import empty_in_suggested_format


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(input normalized over each of `group` groups of its C channels, scaled per channel; means; inverse deviations).

    The statistics have sizes [N, group]. Raises RuntimeError for shapes and dtypes that do not fit.
    """
    _check(input, group, weight, bias, C)
    kept = statistics_dtype("group_norm", input, weight, bias)
    own = input.meta.dtype
    wide = float64 if own is float64 else float32
    source = input if input.meta.contiguous else contiguous(input)
    grouped = view(source, (N, group, C // group, HxW))
    moments = reduction_ops.moments_reduction(own)
    mean, inverse = reduce("group_norm", moments, grouped, (2, 3), True, own, (wide, wide), (eps,))
    result = empty_in_suggested_format(input.meta)
    target = result if result.meta.contiguous else empty_in_suggested_format(source.meta)
    per_channel = [None if p is None else view(contiguous(p), (group, C // group, 1)) for p in (weight, bias)]
    scaled_into(view(target, grouped.meta.sizes), grouped, mean, inverse, *per_channel)
    if target is not result:
        from ..copy import copy_values

        copy_values(result, target)
    means, inverses = (converted(view(part, (N, group)), kept) for part in (mean, inverse))
    return result, means, inverses


def _check(input: Tensor, groups: int, weight: Tensor | None, bias: Tensor | None, channels: int) -> None:
    sizes = list(input.meta.sizes)
    if groups <= 0:
        raise RuntimeError(f"group_norm(): Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise RuntimeError(
            f"group_norm(): Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{sizes} and num_groups={groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.meta.sizes != (channels,):
            raise RuntimeError(
                f"group_norm(): Expected {name} to be a vector of size equal to the number of channels in input, but "
                f"got {name} of shape {list(parameter.meta.sizes)} and input of shape {sizes}"
            )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """native_group_norm without the statistics; channels stand in dim 1. Raises IndexError for no channels."""
    sizes = input.meta.sizes
    if len(sizes) < 2:
        raise IndexError(
            f"group_norm(): Dimension out of range (expected to be in range of [{-len(sizes)}, {len(sizes) - 1}], but "
            f"got 1): the input has {len(sizes)} dims and no channels"
        )
    _check(input, num_groups, weight, bias, sizes[1])
    return apply_for_many(
        "native_group_norm", input, weight, bias, sizes[0], sizes[1], prod(sizes[2:]), num_groups, eps
    )[0]
