"""Normalization of each channel over the batch, or of each channel of each sample, with running statistics."""

from __future__ import annotations

import math

from ...core.device import cpu
from ...core.dtype import float32, float64
from ...kernels import reduction_ops
from ...kernels.bound_call import Fresh, nothing
from ...kernels.conversion import Immediate
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import contiguous_meta, recalled
from ..arrays import store, values
from ..composition import Part, composite
from ..fill import full_of
from ..launch import element_launch
from ..reductions import plan_reduction
from .calls import made, normalized, suggested
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
    wanted, empty = suggested(meta), contiguous_meta((channels if training else 0,), kept, meta.device)
    if meta.device is not cpu:
        return new_like(wanted), new_like(empty), new_like(empty)
    sizes, along = (channels,), (channels, *(1,) * (meta.ndim - 2))
    wide = float64 if meta.dtype is float64 else float32
    narrow = contiguous_meta(sizes, kept)
    given = (running_mean, running_var)
    running = [part.new(narrow) if t is None else _flat(part, t, sizes) for t in given]
    size = meta.numel // channels
    if training:
        dims = tuple(d for d in range(meta.ndim) if d != 1)
        reduction = reduction_ops.variance_reduction(meta.dtype, False, True)
        reduce = plan_reduction("batch_norm", reduction, meta, dims, False, meta.dtype, (float64, float64))
        variance, mean = part.fresh(reduce, input, 0.0)
        if running_mean is not None or running_var is not None:
            unbiased = size / (size - 1) if size > 1 else math.nan
            _update(part, running, [mean, variance], momentum, unbiased)
        for target, flat in zip(given, running, strict=True):
            if target is not None and flat.storage_impl is not target.storage_impl:
                part.run(lambda target, flat: store(target, values(flat).reshape(target.meta.sizes)), target, flat)
    else:
        mean, variance = running
    scale = part.constant(full_of("batch_norm", narrow, 1)) if weight is None else _flat(part, weight, sizes)
    metas = [contiguous_meta(sizes, one) for one in ((wide, wide, kept, kept) if training else (wide, wide))]
    operands = [variance, mean, scale]
    formula = "batch_statistics" if training else "batch_scale"
    factor, middle, *statistics = made(part, formula, metas, operands, float64, (eps,))
    shift = None if bias is None else part("reshape", bias, along)
    middle, factor = part("view", middle, along), part("view", factor, along)
    result = normalized(part, wanted, input, middle, factor, None, shift)
    means, inverses = statistics or (part.fresh(Fresh(nothing, (empty,), ())) for _ in range(2))
    return result, means, inverses


def _update(part: Part, running: list[Tensor], found: list[Tensor], momentum: float, unbiased: float) -> None:
    """Move the running mean and variance towards those that were found, in place."""
    metas = [one.meta for one in (*running, *found)]
    operands, key = [*metas, Immediate(float64), Immediate(float64)], ("running_statistics", *metas[1:])
    plans, formula = metas[0].plans, "running_statistics"
    launch = recalled(plans, key, element_launch, formula, metas[0], operands, float64, [metas[1]])
    if launch is not None:
        part.launch(launch, [*running, *running, *found], (momentum, unbiased))


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
    """batch_norm of each sample by itself; running statistics take the mean over the samples. Raises RuntimeError for
    missing statistics and parameters that do not fit."""
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
