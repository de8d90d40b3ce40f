"""What a convolution may be asked for, and the size of its result."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.dtype import int64
from ...core.promotion import UPSTREAM_NAMES
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta
from ..arrays import check_same_device
from .windows import Ints, repeated, spans, window_counts

OPERATOR = "convolution"
Options = tuple[Ints, Ints, Ints, bool, Ints, int]
"""stride, padding, dilation, transposed, output_padding, groups."""


@dataclass(frozen=True, slots=True)
class Convolution:
    """Options for each spatial dim."""

    stride: Ints
    padding: Ints
    dilation: Ints
    transposed: bool
    output_padding: Ints
    groups: int

    def output_sizes(self, input: Ints, weight: Ints) -> Ints:
        """[batch, channels, spatial...] of the result."""
        kernel = weight[2:]
        if not self.transposed:
            counts = window_counts(input[2:], kernel, self.stride, self.padding, self.dilation)
            return (input[0], weight[0], *counts)
        reach = spans(kernel, self.dilation)
        grown = zip(input[2:], self.stride, self.padding, reach, self.output_padding, strict=True)
        return (input[0], weight[1] * self.groups, *((n - 1) * s - 2 * p + r + o for n, s, p, r, o in grown))


def planned(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    options: Options,
) -> tuple[Convolution, Ints]:
    """The options for each dim and the sizes of the result. Raises RuntimeError for what does not fit."""
    stride, padding, dilation, transposed, output_padding, groups = options
    check_same_device(OPERATOR, input, weight, *(() if bias is None else (bias,)))
    dims = weight.meta.ndim - 2
    if dims <= 0:
        raise RuntimeError(
            f"{OPERATOR}(): weight should have at least three dimensions, got {weight.meta.ndim}"
        )
    plan = Convolution(
        repeated(OPERATOR, "stride", stride, dims),
        repeated(OPERATOR, "padding", padding, dims),
        repeated(OPERATOR, "dilation", dilation, dims),
        transposed,
        repeated(OPERATOR, "output_padding", output_padding, dims),
        groups,
    )
    _check_options(plan)
    _check_sizes(plan, input.meta, weight.meta, bias)
    _check_dtypes(plan, input, weight, bias)
    sizes = plan.output_sizes(input.meta.sizes, weight.meta.sizes)
    _check_room(plan, input.meta.sizes, weight.meta.sizes, sizes)
    return plan, sizes


def _check_options(plan: Convolution) -> None:
    if plan.groups <= 0:
        raise RuntimeError(f"{OPERATOR}(): non-positive groups is not supported, got groups={plan.groups}")
    for name, values, least, message in (
        ("padding", plan.padding, 0, "negative padding is not supported"),
        ("output_padding", plan.output_padding, 0, "negative output_padding is not supported"),
        ("stride", plan.stride, 1, "non-positive stride is not supported"),
        ("dilation", plan.dilation, 1, f"dilation should be greater than zero, but got {list(plan.dilation)}"),
    ):
        if min(values) < least:
            raise RuntimeError(f"{OPERATOR}(): {message}, got {name}={list(values)}")
    if plan.transposed:
        for extra, step, spread in zip(plan.output_padding, plan.stride, plan.dilation, strict=True):
            if extra >= step and extra >= spread:
                raise RuntimeError(
                    f"{OPERATOR}(): output padding must be smaller than either stride or dilation, but got "
                    f"output_padding: {list(plan.output_padding)} stride: {list(plan.stride)} dilation: "
                    f"{list(plan.dilation)}"
                )


def _check_sizes(plan: Convolution, input: TensorMeta, weight: TensorMeta, bias: Tensor | None) -> None:
    groups, sizes, own = plan.groups, list(weight.sizes), list(input.sizes)
    label = f"transposed={int(plan.transposed)}" if plan.transposed else f"groups={groups}"
    if weight.ndim != input.ndim:
        raise RuntimeError(
            f"{OPERATOR}(): Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {sizes}, but "
            f"got {input.ndim}-dimensional input of size {own} instead"
        )
    if sizes[0] < groups:
        raise RuntimeError(
            f"{OPERATOR}(): Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got "
            f"weight of size {sizes} instead"
        )
    if sizes[0] % groups:
        raise RuntimeError(
            f"{OPERATOR}(): Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got "
            f"weight of size [{sizes}] instead"
        )
    wanted = sizes[0] if plan.transposed else sizes[1] * groups
    if own[1] != wanted:
        raise RuntimeError(
            f"{OPERATOR}(): Given {label}, weight of size {sizes}, expected input{own} to have {wanted} channels, but "
            f"got {own[1]} channels instead"
        )
    channels = sizes[1] * groups if plan.transposed else sizes[0]
    if bias is not None and bias.meta.sizes != (channels,):
        prefix = f"{label}, " if plan.transposed else ""
        raise RuntimeError(
            f"{OPERATOR}(): Given {prefix}weight of size {sizes}, expected bias to be 1-dimensional with {channels} "
            f"elements, but got bias of size {list(bias.meta.sizes)} instead"
        )


def _check_dtypes(plan: Convolution, input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    own = input.meta.dtype
    if weight.meta.dtype is not own:
        raise RuntimeError(
            f"{OPERATOR}(): expected scalar type {UPSTREAM_NAMES[own.name]} but found "
            f"{UPSTREAM_NAMES[weight.meta.dtype.name]} for weight"
        )
    if bias is not None and bias.meta.dtype is not own:
        raise RuntimeError(
            f"{OPERATOR}(): Input type ({own.name}) and bias type ({bias.meta.dtype.name}) should be the same"
        )
    if own.kind in (0, 3) or (plan.transposed and own.kind == 1 and own is not int64):
        raise NotImplementedError(f"\"{OPERATOR}\" not implemented for '{UPSTREAM_NAMES[own.name]}'")


def _check_room(plan: Convolution, input: Ints, weight: Ints, result: Ints) -> None:
    def across(sizes: tuple[int, ...]) -> str:
        return "(" + " x ".join(map(str, sizes)) + ")"

    if not plan.transposed:
        grown = tuple(n + 2 * p for n, p in zip(input[2:], plan.padding, strict=True))
        reach = spans(weight[2:], plan.dilation)
        if any(n < r for n, r in zip(grown, reach, strict=True)):
            raise RuntimeError(
                f"{OPERATOR}(): Calculated padded input size per channel: {across(grown)}. Kernel size: "
                f"{across(reach)}. Kernel size can't be greater than actual input size"
            )
    elif min(result[2:]) < 1:
        raise RuntimeError(
            f"{OPERATOR}(): Given input size per channel: {across(input[2:])}. Calculated output size per channel: "
            f"{across(result[2:])}. Output size is too small"
        )
