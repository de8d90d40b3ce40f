"""Convolutions and gradients of their weights, by kernels over planes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from ...core.device import cpu
from ...core.dtype import float32, int64
from ...core.promotion import UPSTREAM_NAMES
from ...kernels.compiler import Builtin
from ...kernels.convolution import convolution_kernel
from ...kernels.convolution_gradient import convolution_gradient_kernel
from ...kernels.parallel import GRAIN, THREADS
from ...kernels.planes import lanes
from ...tensor.tensor import Tensor, empty_tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, remember, suggested_format
from ..arrays import check_same_device
from ..invoke import apply
from ..operand_checks import check_scalar_type
from ..plan import Planned, plannable
from .calls import suggested, unrecorded
from .convolution_plan import Operand, Table, convolution_table, gradient_table
from .windows import Ints, repeated, spans, window_counts

MOST_WORK = 1 << 31
"""Products of a unit of work beyond which it is split, so that signals are looked for."""
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
    if 0 in weight.meta.sizes[2:]:
        raise RuntimeError(
            f"{OPERATOR}(): kernel size should be greater than zero, but got {list(weight.meta.sizes[2:])}"
        )
    _check_sizes(plan, input.meta, weight.meta, bias)
    _check_dtypes(plan, input, weight, bias)
    sizes = plan.output_sizes(input.meta.sizes, weight.meta.sizes)
    _check_room(plan, input.meta.sizes, weight.meta.sizes, sizes)
    return plan, sizes


def _check_options(plan: Convolution) -> None:
    if plan.groups <= 0:
        raise RuntimeError(f"{OPERATOR}(): non-positive groups is not supported, got groups={plan.groups}")
    for name, given, least, message in (
        ("padding", plan.padding, 0, "negative padding is not supported"),
        ("output_padding", plan.output_padding, 0, "negative output_padding is not supported"),
        ("stride", plan.stride, 1, "non-positive stride is not supported"),
        ("dilation", plan.dilation, 1, f"dilation should be greater than zero, but got {list(plan.dilation)}"),
    ):
        if min(given) < least:
            raise RuntimeError(f"{OPERATOR}(): {message}, got {name}={list(given)}")
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
    check_scalar_type(f"{OPERATOR}()", own, weight.meta.dtype, " for weight")
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


MOST_OF_A_VOLUME = 20480
"""Elements of a small volume, the last dim aside; results of larger ones may be channels last."""
Runner = Callable[[Tensor, Tensor, Tensor | None], Tensor]


@plannable
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor | Planned[Tensor]:
    """Cross-correlation of [batch, channels, spatial...] with [out channels, channels / groups, kernel...].

    `transposed` takes [channels, out channels / groups, kernel...] and adds up the spread windows instead. Half
    precision is computed in float32 and rounded once. Raises RuntimeError for sizes, options and dtypes that do not
    fit, NotImplementedError for bool.
    """
    options = (tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups)
    key = ("convolution", weight.meta, None if bias is None else bias.meta, options)
    run: Runner | None = input.meta.plans.get(key)
    if run is None:
        plan, sizes = planned(input, weight, bias, options)
        made = _result(input.meta, weight.meta, sizes)
        run = remember(input.meta.plans, key, _runner(input.meta, weight.meta, bias, made, plan, options))
    return Planned(run(input, weight, bias), run)


def _result(input: TensorMeta, weight: TensorMeta, sizes: Ints) -> TensorMeta:
    """Channels last when input or weight is, else row-major; one small volume always is."""
    small_volume = input.ndim == 5 and input.sizes[0] == 1 and prod(input.sizes[:4]) <= MOST_OF_A_VOLUME
    if small_volume or input.dtype.kind != 2:
        return contiguous_meta(sizes, input.dtype, input.device)
    return suggested(input if suggested_format(input.sizes, input.strides) else weight, sizes)


def _runner(
    input: TensorMeta, weight: TensorMeta, bias: Tensor | None, made: TensorMeta, plan: Convolution, options: Options
) -> Runner:
    """Return what convolves tensors of these metas."""
    if made.device is not cpu or not made.numel:
        return lambda input, weight, bias: new_like(made)
    operands = [input, weight, *(() if bias is None else (bias.meta,))]
    if any(one.lazy for one in operands):
        return lambda *given: _materialised(given, options)
    if input.dtype.kind == 2 and input.dtype.itemsize == 2:
        return lambda *given: _in_float32(made, given, options)
    spatial = list(zip(weight.sizes[2:], plan.stride, plan.padding, plan.dilation, strict=True))
    table = convolution_table(
        _operand(input), _operand(weight), _operand(made), spatial, made.dtype.itemsize, lanes(made.dtype), plan.groups,
        transposed=plan.transposed,
    )  # fmt: skip
    kernel = convolution_kernel(made.dtype)
    strided = bias is not None and not bias.meta.contiguous

    def run(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        result = new_like(made)
        added = apply("contiguous", bias) if strided else bias
        if not table.covered:
            filler = apply("zeros", (1,), dtype=made.dtype) if added is None else added
            apply("copy_", result, apply("reshape", filler, (-1, *(1,) * (made.ndim - 2))))
        pointers = result.pointer, input.pointer, weight.pointer, 0 if added is None else added.pointer
        _launch(kernel, table, *pointers)
        return result

    return run


def _operand(meta: TensorMeta) -> Operand:
    return Operand(meta.sizes, tuple(stride * meta.dtype.itemsize for stride in meta.strides))


def _launch(kernel: Builtin, table: Table, *pointers: int) -> None:
    """Run a kernel over planes, its units split where threads or signals want more of them."""
    threads = THREADS.number if table.work > GRAIN else 1
    wanted = max(2 * threads if threads > 1 else 1, table.work // MOST_WORK)
    splits = max(1, min(table.splits, -(-wanted // table.units)))
    units = table.units * splits
    slots = min(threads, units)
    scratch = empty_tensor(((table.scratch + slots * table.slot) // 8,), int64, cpu)
    kernel(*pointers, table.address, scratch.pointer, slots, splits, units, table.work)


def _in_float32(made: TensorMeta, given: Sequence[Tensor | None], options: Options) -> Tensor:
    wide = [None if one is None else apply("to.dtype", one, float32) for one in given]
    result = new_like(made)
    return apply("copy_", result, apply("convolution", *wide, *options))


def _materialised(given: Sequence[Tensor | None], options: Options) -> Tensor:
    plain = [None if one is None else apply("resolve_neg", apply("resolve_conj", one)) for one in given]
    return apply("convolution", *plain, *options)


def weight_gradient(
    small: Tensor,
    wide: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor | None:
    """Return what each element of a weight of `sizes` [small's channels, wide's channels / groups, kernel...] saw.

    That is the sum of the products of `small` [batch, channels, windows...] with the window elements of `wide` [batch,
    channels, spatial...].

    None for tensors that are followed, and of other dtypes than float32 and float64.
    """
    if not unrecorded(small, wide):
        return None
    dtype = small.meta.dtype
    options = (tuple(sizes), tuple(stride), tuple(padding), tuple(dilation), groups)
    key = ("weight_gradient", wide.meta, options)
    plans = small.meta.plans
    table: Table | None = plans.get(key)
    if table is None:
        spatial = list(zip(sizes[2:], stride, padding, dilation, strict=True))
        weight = Operand(tuple(sizes), (0,) * len(sizes))
        operands = _operand(wide.meta), weight, _operand(small.meta)
        table = remember(plans, key, gradient_table(*operands, spatial, dtype.itemsize, lanes(dtype), groups))
    result = apply("new_zeros", small, tuple(sizes))
    if small.meta.numel and wide.meta.numel and result.meta.numel:
        kernel = convolution_gradient_kernel(dtype)
        _launch(kernel, table, result.pointer, wide.pointer, small.pointer, 0)
    return result
