"""Normalization of each channel over the batch, or of each channel of each sample, with running statistics."""

from __future__ import annotations

import math

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...kernels import reduction_ops
from ...tensor.tensor import Tensor, empty_tensor
from ...tensor.tensor_meta import contiguous_meta
from ..arrays import store, values
from ..composition import Part, composite
from ..fresh_fill import full_of
from ..reductions import plan_reduction
from .calls import scaled_into, suggested, write
from .row_normalization import statistics_dtype

Parameters = tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]
NAMES = ("weight", "bias", "running_mean", "running_var")


@composite
def native_batch_norm(
    part: Part, input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(input normalized per channel (dim 1), mean, 1 / sqrt(variance + eps)) with statistics of the batch in training.

    The running statistics, with the unbiased variance, are updated in place then; otherwise they are what is used, and
    the other two results are empty. Raises RuntimeError for an empty input, missing statistics, dtypes that do not fit,
    IndexError for an input without channels.
    """
    parameters = (weight, bias, running_mean, running_var)
    meta = input.meta
    if meta.ndim < 2:
        raise IndexError(
            f"batch_norm(): Dimension out of range (expected to be in range of [{-meta.ndim}, "
            f"{meta.ndim - 1}], but got 1): the input has {meta.ndim} dims and no channels"
        )
    channels = meta.sizes[1]
    _check(channels, parameters, training=training)
    kept = statistics_dtype("batch_norm", input, *parameters)
    if not meta.numel:
        raise RuntimeError(
            f"batch_norm(): input tensor must have at least one element, but got input_sizes = {list(meta.sizes)}"
        )
    result = part.new(suggested(meta))
    count = channels if training else 0
    if meta.device is not cpu:
        means, inverses = (empty_tensor((count,), kept, meta.device) for _ in range(2))
        return result, means, inverses
    sizes, along = (channels,), (channels, *(1,) * (meta.ndim - 2))
    wide = float64 if meta.dtype is float64 else float32
    narrow = contiguous_meta(sizes, kept)
    factor, middle = (part.new(contiguous_meta(sizes, wide)) for _ in range(2))
    means, inverses = part.new(narrow), part.new(narrow)
    given = (running_mean, running_var)
    running = [part.new(narrow) if t is None else _flat(part, t, sizes) for t in given]
    if training:
        dims = tuple(d for d in range(meta.ndim) if d != 1)
        reduction = reduction_ops.variance_reduction(meta.dtype, False, True)
        reduce = plan_reduction("batch_norm", reduction, meta, dims, False, meta.dtype, (float64, float64))
        variance, mean = part.fresh(reduce, input, 0.0)
        kept_running = running
    else:
        mean, variance = running
        kept_running = [part.new(narrow) for _ in running]
    scale = part.constant(full_of("batch_norm", narrow, 1)) if weight is None else _flat(part, weight, sizes)
    size = meta.numel // channels
    unbiased = size / (size - 1) if size > 1 else math.nan
    write("batch_statistics", factor, [variance, mean, scale, *running], float64, middle, means, inverses,
          *kept_running, numbers=(eps, momentum, unbiased), part=part)  # fmt: skip
    shift = None if bias is None else part("reshape", bias, along)
    scaled_into(part, result, input, part("view", middle, along), part("view", factor, along), None, shift)
    if not training:
        return result, part.new(contiguous_meta((0,), kept)), part.new(contiguous_meta((0,), kept))
    for target, flat in zip(given, running, strict=True):
        if target is not None and flat.storage_impl is not target.storage_impl:
            part.run(lambda target, flat: store(target, values(flat).reshape(target.meta.sizes)), target, flat)
    return result, means, inverses


def _flat(part: Part, parameter: Tensor, sizes: tuple[int, ...]) -> Tensor:
    return parameter if parameter.meta.sizes == sizes else part("reshape", parameter, sizes)


def _check(channels: int, parameters: Parameters, *, training: bool) -> None:
    for name, parameter in zip(NAMES, parameters, strict=True):
        if parameter is not None and parameter.meta.numel != channels:
            raise RuntimeError(f"batch_norm(): {name} should contain {channels} elements not {parameter.meta.numel}")
        if parameter is None and not training and name in NAMES[2:]:
            raise RuntimeError(f"batch_norm(): {name} must be defined in evaluation mode")


@composite
def batch_norm(
    part: Part, input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """native_batch_norm without the statistics; an empty input stays empty. Raises RuntimeError as it does."""
    if not input.meta.numel:
        channels = input.meta.sizes[1] if input.meta.ndim > 1 else 0
        _check(channels, (weight, bias, running_mean, running_var), training=training)
        return part("clone", input)
    return part.first("native_batch_norm", input, weight, bias, running_mean, running_var, training, momentum, eps)


@composite
def instance_norm(
    part: Part, input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """batch_norm of each sample by itself; running statistics take the mean over the samples.

    Raises RuntimeError for missing statistics and parameters that do not fit.
    """
    running = (running_mean, running_var)
    if not use_input_stats and None in running:
        raise RuntimeError(
            "instance_norm(): Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    if input.meta.ndim < 2:
        raise RuntimeError(f"instance_norm(): input must have samples and channels, got {input.meta.ndim} dims")
    samples, channels = input.meta.sizes[:2]
    given = (weight, bias, *running)
    repeated = [None if p is None else part("repeat", p, (samples,)) for p in given]
    flat = part("reshape", input, (1, samples * channels, *input.meta.sizes[2:]))
    result = part("batch_norm", flat, *repeated, use_input_stats, momentum, eps, cudnn_enabled)
    for target, found in zip(running, repeated[2:], strict=True):
        if use_input_stats and target is not None and found is not None and target.meta.numel:
            part("copy_", target, part("mean.dim", part("view", found, (samples, channels)), (0,)))
    return part("view", result, input.meta.sizes)
