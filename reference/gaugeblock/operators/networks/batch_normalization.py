"""Normalization of each channel over the batch, or of each channel of each sample, with running statistics."""

from __future__ import annotations

import math
from typing import Any

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...kernels import reduction_ops
from ...tensor.tensor import Tensor, empty_tensor, new_like
from ..arrays import filled, store, values
from ..invoke import apply, apply_for_many, reshape
from ..reductions import reduce
from .calls import scaled_into, suggested, write
from .row_normalization import statistics_dtype

NAMES = ("weight", "bias", "running_mean", "running_var")


def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
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
    result = new_like(suggested(meta))
    count = channels if training else 0
    if meta.device is not cpu:
        means, inverses = (empty_tensor((count,), kept, meta.device) for _ in range(2))
        return result, means, inverses
    sizes, along = (channels,), (channels, *(1,) * (meta.ndim - 2))
    wide = float64 if meta.dtype is float64 else float32
    factor, middle, means, inverses = (empty_tensor(sizes, dtype) for dtype in (wide, wide, kept, kept))
    running = [empty_tensor(sizes, kept) if t is None else reshape(t, sizes) for t in (running_mean, running_var)]
    if training:
        dims = tuple(d for d in range(meta.ndim) if d != 1)
        reduction = reduction_ops.variance_reduction(meta.dtype, False, True)
        variance, mean = reduce("batch_norm", reduction, input, dims, False, meta.dtype, (float64, float64), (0.0,))
        kept_running = running
    else:
        mean, variance = running
        kept_running = [empty_tensor(sizes, kept) for _ in running]
    scale = filled(sizes, kept, 1.0) if weight is None else reshape(weight, sizes)
    size = meta.numel // channels
    unbiased = size / (size - 1) if size > 1 else math.nan
    write("batch_statistics", factor, [variance, mean, scale, *running], float64, middle, means, inverses,
          *kept_running, numbers=(eps, momentum, unbiased))  # fmt: skip
    shift = None if bias is None else reshape(bias, along)
    scaled_into(result, input, reshape(middle, along), reshape(factor, along), None, shift)
    if not training:
        return result, empty_tensor((0,), kept), empty_tensor((0,), kept)
    for given, flat in zip((running_mean, running_var), running, strict=True):
        if given is not None and flat.storage_impl is not given.storage_impl:
            store(given, values(flat).reshape(given.meta.sizes))
    return result, means, inverses


def _check(channels: int, parameters: tuple[Tensor | None, ...], *, training: bool) -> None:
    for name, parameter in zip(NAMES, parameters, strict=True):
        if parameter is not None and parameter.meta.numel != channels:
            raise RuntimeError(f"batch_norm(): {name} should contain {channels} elements not {parameter.meta.numel}")
        if parameter is None and not training and name in NAMES[2:]:
            raise RuntimeError(f"batch_norm(): {name} must be defined in evaluation mode")


def batch_norm(input: Tensor, *options: Any) -> Tensor:
    """native_batch_norm without the statistics; an empty input stays empty. Raises RuntimeError as it does."""
    if not input.meta.numel:
        _check(input.meta.sizes[1] if input.meta.ndim > 1 else 0, options[:4], training=options[4])
        return apply("clone", input)
    return apply_for_many("native_batch_norm", input, *options[:7])[0]


def instance_norm(input: Tensor, *options: Any) -> Tensor:
    """batch_norm of each sample by itself; running statistics take the mean over the samples.

    Raises RuntimeError for missing statistics and parameters that do not fit.
    """
    parameters, use_input_stats = options[:4], options[4]
    if not use_input_stats and None in parameters[2:]:
        raise RuntimeError(
            "instance_norm(): Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    if input.meta.ndim < 2:
        raise RuntimeError(f"instance_norm(): input must have samples and channels, got {input.meta.ndim} dims")
    samples, channels = input.meta.sizes[:2]
    repeated = [None if p is None else apply("repeat", p, (samples,)) for p in parameters]
    flat = apply("reshape", input, (1, samples * channels, *input.meta.sizes[2:]))
    result = apply("batch_norm", flat, *repeated, *options[4:])
    for target, found in zip(parameters[2:], repeated[2:], strict=True):
        if use_input_stats and target is not None and found is not None and target.meta.numel:
            apply("copy_", target, apply("mean.dim", apply("view", found, (samples, channels)), (0,)))
    return apply("view", result, input.meta.sizes)
