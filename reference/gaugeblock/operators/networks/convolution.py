"""Convolutions and gradients of their weights, by kernels over planes; padding by name, inputs without batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ...core.device import cpu
from ...core.dtype import float32, int64
from ...core.warn import warn_once
from ...kernels.compiler import Builtin
from ...kernels.convolution import convolution_kernel
from ...kernels.convolution_gradient import convolution_gradient_kernel
from ...kernels.parallel import GRAIN, THREADS
from ...tensor.tensor import Tensor, empty_tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, remember, suggested_format
from ..arrays import check_same_device
from ..composition import Part, composite
from ..copy import copy_values
from ..invoke import apply
from ..operand_checks import check_implemented, check_scalar_type
from ..plan import Filling, Planned, plannable
from .calls import suggested, unrecorded
from .convolution_plan import Operand, Table, convolution_table, gradient_table
from .windows import Ints, repeated, spans, window_counts

MOST_WORK = 1 << 31
"""Products of a unit of work beyond which it is split, so that signals are looked for."""
OPERATOR = "convolution"


class Convolution(NamedTuple):
    """Options for each spatial dim."""

    stride: Ints
    padding: Ints
    dilation: Ints
    transposed: bool
    output_padding: Ints
    groups: int


def _checked(input: Tensor, weight: Tensor, bias: Tensor | None, options: Convolution) -> tuple[Convolution, Ints]:
    """Return the options for each dim and the sizes of the result. Raise RuntimeError for what does not fit."""
    check_same_device(OPERATOR, input, weight, *(() if bias is None else (bias,)))
    dims = weight.meta.ndim - 2
    if dims <= 0:
        raise RuntimeError(f"{OPERATOR}(): weight should have at least three dimensions, got {weight.meta.ndim}")
    listed = [(name, value) for name, value in options._asdict().items() if isinstance(value, tuple)]
    found: dict[str, Any] = {name: repeated(OPERATOR, name, value, dims) for name, value in listed}
    plan = options._replace(**found)
    _check_options(plan)
    if 0 in weight.meta.sizes[2:]:
        raise RuntimeError(
            f"{OPERATOR}(): kernel size should be greater than zero, but got {list(weight.meta.sizes[2:])}"
        )
    _check_sizes(plan, input.meta, weight.meta, bias)
    own = input.meta.dtype
    check_scalar_type(f"{OPERATOR}()", own, weight.meta.dtype, " for weight")
    if bias is not None and bias.meta.dtype is not own:
        raise RuntimeError(
            f"{OPERATOR}(): Input type ({own.name}) and bias type ({bias.meta.dtype.name}) should be the same"
        )
    check_implemented(OPERATOR, own, own.kind in (1, 2) and (own.kind == 2 or not plan.transposed or own is int64))
    given, reach = input.meta.sizes[2:], spans(weight.meta.sizes[2:], plan.dilation)
    counts, channels = window_counts(given, weight.meta.sizes[2:], *plan[:3]), weight.meta.sizes[0]
    if plan.transposed:
        steps = zip(given, plan.stride, plan.padding, reach, plan.output_padding, strict=True)
        counts = tuple((n - 1) * s - 2 * p + r + o for n, s, p, r, o in steps)
        channels = weight.meta.sizes[1] * plan.groups
    if min(counts) < 1:
        if plan.transposed:
            raise RuntimeError(
                f"{OPERATOR}(): Given input size per channel: {_across(given)}. Calculated output size per channel: "
                f"{_across(counts)}. Output size is too small"
            )
        grown = [n + 2 * p for n, p in zip(given, plan.padding, strict=True)]
        raise RuntimeError(
            f"{OPERATOR}(): Calculated padded input size per channel: {_across(grown)}. Kernel size: {_across(reach)}. "
            f"Kernel size can't be greater than actual input size"
        )
    return plan, (input.meta.sizes[0], channels, *counts)


def _across(sizes: Sequence[int]) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


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


MOST_OF_A_VOLUME = 20480
"""Elements of a small volume, the last dim aside; results of larger ones may be channels last."""
Runner = Callable[..., Tensor]
"""Takes input, weight and bias, and the result if that is allocated already."""


@plannable
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Tensor | Planned[Tensor]:  # fmt: skip
    """Cross-correlation of [batch, channels, spatial...] with [out channels, channels / groups, kernel...].

    `transposed` takes [channels, out channels / groups, kernel...] and adds up the spread windows instead. Half
    precision is computed in float32 and rounded once. Raises RuntimeError for sizes, options and dtypes that do not
    fit, NotImplementedError for bool.
    """
    lists = tuple(stride), tuple(padding), tuple(dilation)
    options = Convolution(*lists, transposed, tuple(output_padding), groups)
    key = ("convolution", weight.meta, None if bias is None else bias.meta, options)
    kept: tuple[TensorMeta, Runner] | None = input.meta.plans.get(key)
    if kept is None:
        plan, sizes = _checked(input, weight, bias, options)
        made = _result(input.meta, weight.meta, sizes)
        kept = remember(input.meta.plans, key, (made, _runner(input.meta, weight.meta, bias, made, plan)))
    made, run = kept
    filling = Filling((made,), lambda out: run(input, weight, bias, out))
    return Planned.unrun(filling, (input, weight, bias), run, None)


def _result(input: TensorMeta, weight: TensorMeta, sizes: Ints) -> TensorMeta:
    """Channels last when input or weight is, else row-major; one small volume always is."""
    small_volume = input.ndim == 5 and input.sizes[0] == 1 and prod(input.sizes[:4]) <= MOST_OF_A_VOLUME
    if small_volume or input.dtype.kind != 2:
        return contiguous_meta(sizes, input.dtype, input.device)
    return suggested(input if suggested_format(input.sizes, input.strides) else weight, sizes)


def _runner(input: TensorMeta, weight: TensorMeta, bias: Tensor | None, made: TensorMeta, plan: Convolution) -> Runner:
    """Return what convolves tensors of these metas."""
    if made.device is not cpu or not made.numel:
        return lambda input, weight, bias, out=None: new_like(made) if out is None else out
    if input.dtype.kind == 2 and input.dtype.itemsize == 2:

        def in_float32(input: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor | None = None) -> Tensor:
            wide = [None if one is None else apply("to.dtype", one, float32) for one in (input, weight, bias)]
            result = new_like(made) if out is None else out
            copy_values(result, apply("convolution", *wide, *plan))
            return result

        return in_float32
    spatial = list(zip(weight.sizes[2:], plan.stride, plan.padding, plan.dilation, strict=True))
    seen, by, into = (Operand(one.sizes, one.byte_strides) for one in (input, weight, made))
    table = convolution_table(seen, by, into, spatial, made.dtype, plan.groups, transposed=plan.transposed)
    kernel = convolution_kernel(made.dtype)
    strided = bias is not None and not bias.meta.contiguous

    def run(input: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor | None = None) -> Tensor:
        result = new_like(made) if out is None else out
        added = apply("contiguous", bias) if strided else bias
        if not table.covered:
            filler = apply("zeros", (1,), dtype=made.dtype) if added is None else added
            copy_values(result, apply("reshape", filler, (-1, *(1,) * (made.ndim - 2))))
        pointers = result.pointer, input.pointer, weight.pointer, 0 if added is None else added.pointer
        _launch(kernel, table, *pointers)
        return result

    return run


def _launch(kernel: Builtin, table: Table, *pointers: int) -> None:
    """Run a kernel over planes, its units split where threads or signals want more of them."""
    threads = THREADS.number if table.work > GRAIN else 1
    wanted = max(2 * threads if threads > 1 else 1, table.work // MOST_WORK)
    splits = max(1, min(table.splits, -(-wanted // table.units)))
    units = table.units * splits
    slots = min(threads, units)
    scratch = empty_tensor(((table.scratch + slots * table.slot) // 8,), int64, cpu)
    kernel(*pointers, table.address, scratch.pointer, slots, splits, units, table.work)


def weight_gradient(
    small: Tensor, wide: Tensor, sizes: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> Tensor | None:  # fmt: skip
    """Return what each element of a weight of `sizes` [small's channels, wide's channels / groups, kernel...] saw.

    That is the sum of the products of `small` [batch, channels, windows...] with the window elements of `wide` [batch,
    channels, spatial...].

    None for tensors that are followed, and of other dtypes than float32 and float64.
    """
    if not unrecorded(small, wide):
        return None
    dtype = small.meta.dtype
    key = ("weight_gradient", wide.meta, *map(tuple, (sizes, stride, padding, dilation)), groups)
    plans = small.meta.plans
    table: Table | None = plans.get(key)
    if table is None:
        spatial = list(zip(sizes[2:], stride, padding, dilation, strict=True))
        weight = Operand(tuple(sizes), (0,) * len(sizes))
        seen, grad = (Operand(one.meta.sizes, one.meta.byte_strides) for one in (wide, small))
        table = remember(plans, key, gradient_table(seen, weight, grad, spatial, dtype, groups))
    result = apply("new_zeros", small, tuple(sizes))
    if small.meta.numel and wide.meta.numel and result.meta.numel:
        kernel = convolution_gradient_kernel(dtype)
        _launch(kernel, table, result.pointer, wide.pointer, small.pointer, 0)
    return result


def _convolved(part: Part, input: Tensor, weight: Tensor, bias: Tensor | None, *options: Any) -> Tensor:
    """convolution, of complex numbers by way of their parts."""
    if not (input.meta.dtype.is_complex and weight.meta.dtype is input.meta.dtype):
        return part("convolution", input, weight, bias, *options)
    pairs = [part("view_as_real", part("resolve_conj", t)) for t in (input, weight)]
    parts = [[part("select.int", pair, -1, k) for k in (0, 1)] for pair in pairs]
    products = [[part("convolution", left, right, None, *options) for right in parts[1]] for left in parts[0]]
    real = part("sub.Tensor", products[0][0], products[1][1])
    imaginary = part("add.Tensor", products[0][1], products[1][0])
    result = part("view_as_complex", part("stack", (real, imaginary), -1))
    if bias is None:
        return result
    channel = (bias.meta.numel, *(1,) * (input.meta.ndim - 2))
    return part("add.Tensor", result, part("reshape", bias, channel))


def _in_batch(part: Part, name: str, dims: int, input: Tensor, run: Callable[[Tensor], Tensor]) -> Tensor:
    """The convolution of an input with or without batch. Raises RuntimeError for other numbers of dims."""
    ndim = input.meta.ndim
    if ndim == dims + 2:
        return run(input)
    if ndim != dims + 1:
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of "
            f"size: {list(input.meta.sizes)}"
        )
    return part("squeeze.dim", run(part("unsqueeze", input, 0)), 0)


def _convolve(dims: int) -> Callable[..., Tensor]:
    name = f"conv{dims}d"

    @composite
    def conv(
        part: Part, input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sequence[int] = (1,),
        padding: Sequence[int] | str = (0,), dilation: Sequence[int] = (1,), groups: int = 1,
    ) -> Tensor:  # fmt: skip
        if isinstance(padding, str):
            given = (weight, bias, stride, padding, dilation, groups)
            return _in_batch(part, name, dims, input, lambda batch: _named_padding(part, name, batch, *given))
        options = (stride, padding, dilation, False, (0,) * dims, groups)
        return _in_batch(part, name, dims, input, lambda batch: _convolved(part, batch, weight, bias, *options))

    return conv


def _named_padding(
    part: Part, name: str, input: Tensor, weight: Tensor, bias: Any, stride: Sequence[int], padding: str,
    dilation: Sequence[int], groups: int,
) -> Tensor:
    kernel = weight.meta.sizes[2:]
    dims = len(kernel)
    nothing = (0,) * dims
    if padding == "valid":
        return _convolved(part, input, weight, bias, stride, nothing, dilation, False, nothing, groups)
    if padding != "same":
        raise RuntimeError(f"{name}(): Invalid padding string: '{padding}', expected 'valid' or 'same'")
    if any(step != 1 for step in stride):
        raise RuntimeError(
            f"{name}(): padding='same' is not supported for strided convolutions, got stride={list(stride)}"
        )
    spread = repeated(name, "dilation", dilation, dims)
    totals = [d * (k - 1) for d, k in zip(spread, kernel, strict=True)]
    before = [total // 2 for total in totals]
    surplus = [total - 2 * half for total, half in zip(totals, before, strict=True)]
    if any(surplus):
        part.run(warn_once, f"{name}(): padding='same' with an even kernel and an odd dilation may need a padded copy")
        input = part("constant_pad_nd", input, [n for extra in reversed(surplus) for n in (0, extra)], 0)
    return _convolved(part, input, weight, bias, stride, before, dilation, False, nothing, groups)


def _spread(dims: int) -> Callable[..., Tensor]:
    name = f"conv_transpose{dims}d"

    @composite
    def conv_transpose(
        part: Part, input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sequence[int] = (1,),
        padding: Sequence[int] = (0,), output_padding: Sequence[int] = (0,), groups: int = 1,
        dilation: Sequence[int] = (1,),
    ) -> Tensor:  # fmt: skip
        options = (stride, padding, dilation, True, output_padding, groups)
        return _in_batch(part, name, dims, input, lambda batch: _convolved(part, batch, weight, bias, *options))

    return conv_transpose


conv1d, conv2d, conv3d = (_convolve(dims) for dims in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_spread(dims) for dims in (1, 2, 3))
