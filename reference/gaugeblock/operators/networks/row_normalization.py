"""layer_norm, group_norm and rms_norm: statistics over the last dims and one fused pass, by rows where they lie so; and
the gradients of these and of batch_norm in a few passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import nan, prod
from typing import Any

from ...core.device import cpu
from ...core.dtype import DType, float32, float64
from ...core.limits import finfo
from ...core.promotion import UPSTREAM_NAMES
from ...kernels import reduction_ops, rowwise_normalization
from ...kernels.bound_call import Fresh
from ...kernels.rowwise import RowProgram, row_map_kernel
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import contiguous_meta, remember
from ..arrays import check_same_device
from ..composition import Part, composite
from ..copy import copied
from ..invoke import apply
from ..loop_plan import RowLaunch, row_launch
from ..operand_checks import check_implemented
from ..plan import Planned, plannable
from ..reductions import plan_reduction
from .calls import fused, normalized, suggested, unrecorded


@plannable
def normalized_rows(
    name: str, program: Callable[[], RowProgram], input: Tensor, count: int, parameters: tuple[Tensor | None, ...],
    found: tuple[DType, ...], eps: float,
) -> Any:  # fmt: skip
    """The row-major result of `program` over the last `count` dims of row-major tensors, then what it finds for each
    row, those dims of size 1; nan for empty rows. The result alone if nothing is `found`. Works on meta."""
    meta = input.meta
    given = [parameter for parameter in parameters if parameter is not None]
    key = (name, count, len(found), tuple([p is None for p in parameters]), *[p.meta for p in given])
    plan: tuple[Fresh, Callable[..., Any]] | None = meta.plans.get(key)
    if plan is None:
        own, outer, inner = meta.dtype, meta.sizes[: meta.ndim - count], meta.sizes[meta.ndim - count :]
        metas = [contiguous_meta((*outer, *(1,) * count), dtype, meta.device) for dtype in found]
        metas.insert(0, contiguous_meta(meta.sizes, own, meta.device))
        fresh = Fresh(None, tuple(metas), ())
        if meta.device is cpu and meta.numel:
            kernel = row_map_kernel(name, program(), own, found, tuple([p.meta.dtype for p in given]))
            flat, length = contiguous_meta((prod(outer), prod(inner)), own), (prod(inner),)
            each = [contiguous_meta((prod(outer), 1), dtype) for dtype in found]
            rows = [flat, *each, flat, *[contiguous_meta(length, p.meta.dtype) for p in given]]
            run, tail = row_launch(kernel, rows, 1)
            fresh = fresh._replace(kernel=run, tail=tail)
        plan = remember(meta.plans, key, (fresh, fresh.native()))
    fresh, call = plan
    if fresh.kernel is None:
        result, *rest = map(new_like, fresh.results)
        rest = [apply("fill_.Scalar", part, nan) for part in rest] if meta.device is cpu else rest
        return (result, *rest) if found else result
    taken = input, *given, float(eps)
    return Planned.unrun(fresh, taken, call, (input, *given, eps))


@composite
def _converted_rows(
    part: Part, name: str, program: Callable[[], RowProgram], count: int, found: tuple[DType, ...], kept: DType,
    eps: float, input: Tensor, *parameters: Tensor | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """normalized_rows of tensors with any strides; the statistics are converted to the dtype `kept`."""
    source = input if input.meta.contiguous else part("contiguous", input)
    given = tuple([one if one is None or one.meta.contiguous else part("contiguous", one) for one in parameters])
    result, *rest = part.plan(normalized_rows, name, program, source, count, given, found, eps)
    return result, *[one if one.meta.dtype is kept else part("to.dtype", one, kept) for one in rest]


def _plan_rows(
    name: str, program: Callable[[], RowProgram], count: int, found: tuple[DType, ...], kept: DType, eps: float,
    input: Tensor, *parameters: Tensor | None,
) -> Planned[Any]:  # fmt: skip
    """Plan normalized_rows, with copies and conversions if the strides or the dtype of the statistics need them."""
    if kept is found[0] and all(one is None or one.meta.contiguous for one in (input, *parameters)):
        return normalized_rows.planned(name, program, input, count, parameters, found, eps)
    return _converted_rows.planned(name, program, count, found, kept, eps, input, *parameters)


Sizes = Sequence[int]


def normalized_dims(operator: str, input: Tensor, normalized_shape: Sizes, *parameters: Tensor | None) -> int:
    """Return how many dims are normalized. Raise RuntimeError unless they are the last, and the parameters' shape."""
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
    """The dtype of mean and deviation that are returned: float32 for half precision with float32 parameters. Raises
    NotImplementedError for what is no float, RuntimeError for other mixtures."""
    own = input.meta.dtype
    check_same_device(operator, input, *(p for p in parameters if p is not None))
    check_implemented(operator, own, own.kind == 2)
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


@plannable
def native_layer_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, ...] | Planned[tuple[Tensor, ...]]:
    """((input - mean) / sqrt(variance + eps) * weight + bias, mean, 1 / sqrt(variance + eps)) over the last dims.
    Raises RuntimeError for shapes and dtypes that do not fit."""
    count = normalized_dims("layer_norm", input, normalized_shape, weight, bias)
    meta = input.meta
    kept = statistics_dtype("layer_norm", input, weight, bias)
    wide = float64 if meta.dtype is float64 else float32
    program = partial(rowwise_normalization.layer_norm, meta.dtype, weight is not None, bias is not None)
    return _plan_rows("layer_norm", program, count, (wide, wide), kept, eps, input, weight, bias)


@composite
def layer_norm(
    part: Part, input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """native_layer_norm without the statistics."""
    return part.first("native_layer_norm", input, normalized_shape, weight, bias, eps)


@composite
def native_group_norm(
    part: Part, input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(input normalized over each of `group` groups of its C channels, scaled per channel; means; inverse deviations).
    The statistics have sizes [N, group]. Raises RuntimeError for shapes and dtypes that do not fit."""
    sizes = list(input.meta.sizes)
    if group <= 0:
        raise RuntimeError(f"group_norm(): Expected num groups to be greater than 0, got {group}")
    if C % group:
        raise RuntimeError(
            f"group_norm(): Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{sizes} and num_groups={group}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.meta.sizes != (C,):
            raise RuntimeError(
                f"group_norm(): Expected {name} to be a vector of size equal to the number of channels in input, but "
                f"got {name} of shape {list(parameter.meta.sizes)} and input of shape {sizes}"
            )
    kept = statistics_dtype("group_norm", input, weight, bias)
    own = input.meta.dtype
    wide = float64 if own is float64 else float32
    source = input if input.meta.contiguous else part("contiguous", input)
    if weight is None and bias is None and input.meta.numel:
        rows = part("view", source, (N * group, input.meta.numel // (N * group)))
        norm, none = partial(rowwise_normalization.layer_norm, own, False, False), (None, None)
        made, mean, inverse = part.plan(normalized_rows, "layer_norm", norm, rows, 1, none, (wide, wide), eps)
    else:
        grouped = part("view", source, (N, group, C // group, HxW))
        moments = reduction_ops.moments_reduction(own)
        reduce = plan_reduction("group_norm", moments, grouped.meta, (2, 3), True, own, (wide, wide))
        mean, inverse = part.fresh(reduce, grouped, eps)
        channels = (group, C // group, 1)
        per_channel = [None if p is None else part("reshape", p, channels) for p in (weight, bias)]
        meta = contiguous_meta(grouped.meta.sizes, own, input.meta.device)
        made = normalized(part, meta, grouped, mean, inverse, *per_channel)
    result = part("view", made, sizes)
    wanted = suggested(input.meta)
    if not wanted.contiguous:
        result = part.plan(copied, result, wanted)
    elif wanted.strides != result.meta.strides:
        result = part("as_strided", result, wanted.sizes, wanted.strides)
    found = [part("view", one, (N, group)) for one in (mean, inverse)]
    means, inverses = found if kept is wide else [part("to.dtype", one, kept) for one in found]
    return result, means, inverses


@composite
def group_norm(
    part: Part, input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """native_group_norm without the statistics; channels stand in dim 1. Raises IndexError for no channels."""
    sizes = input.meta.sizes
    if len(sizes) < 2:
        raise IndexError(
            f"group_norm(): Dimension out of range (expected to be in range of [{-len(sizes)}, {len(sizes) - 1}], but "
            f"got 1): the input has {len(sizes)} dims and no channels"
        )
    return part.first("native_group_norm", input, weight, bias, sizes[0], sizes[1], prod(sizes[2:]), num_groups, eps)


@plannable
def _fused_rms_norm(
    input: Tensor, normalized_shape: Sizes, weight: Tensor | None, eps: float | None
) -> tuple[Tensor, ...] | Planned[tuple[Tensor, ...]]:
    """(input / sqrt(mean of squares + eps) * weight, the inverse of the root), the latter float32 for half precision.

    Without eps the distance of 1 to the next number of the dtype computed in. Raises RuntimeError for shapes that do
    not fit, NotImplementedError for what is no float.
    """
    count = normalized_dims("rms_norm", input, normalized_shape, weight)
    own = input.meta.dtype
    if own.is_complex:
        # The square is the complex one, which is no magnitude.
        mean = apply("mean.dim", apply("mul.Tensor", input, input), tuple(range(-count, 0)), True)
        inverse = apply("rsqrt", apply("add.Scalar", mean, finfo(own).eps if eps is None else eps))
        result = apply("mul.Tensor", input, inverse)
        return result if weight is None else apply("mul.Tensor", result, weight), inverse
    check_implemented("rms_norm", own, own.kind == 2)
    wide = float64 if own is float64 else float32
    small = finfo(wide).eps if eps is None else eps
    program = partial(rowwise_normalization.rms_norm, own, weight is not None)
    return _plan_rows("rms_norm", program, count, (wide,), wide, small, input, weight)


@composite
def rms_norm(
    part: Part, input: Tensor, normalized_shape: Sizes, weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """The first result of _fused_rms_norm. Raises as it does."""
    return part.first("_fused_rms_norm", input, normalized_shape, weight, eps)


def _row_gradient(
    grad: Tensor, input: Tensor, mean: Tensor, inverse: Tensor, weight: Tensor | None, count: int
) -> Tensor | None:
    """Return the gradient of an input normalized over its last `count` dims, in one pass over each row; None for
    tensors that are not row-major floats on the CPU."""
    meta, given = input.meta, [mean, inverse, grad, *(() if weight is None else (weight,))]
    wide = [one.meta.dtype for one in given]
    if meta.device is not cpu or not meta.contiguous or {meta.dtype, *wide} - {float32, float64}:
        return None
    if grad.meta.sizes != meta.sizes or not all(one.meta.contiguous for one in given):
        return None
    made, key = contiguous_meta(meta.sizes, meta.dtype), ("layer_norm_gradient", count, *[one.meta for one in given])
    launch: RowLaunch | None = meta.plans.get(key)
    if launch is None:
        program = rowwise_normalization.layer_norm_gradient(meta.dtype, weight is not None)
        kernel = row_map_kernel("layer_norm_gradient", program, meta.dtype, (), tuple(wide[2:]), tuple(wide[:2]))
        length = prod(meta.sizes[meta.ndim - count :])
        rows = (meta.numel // length, length)
        sizes = [rows, rows, (rows[0], 1), (rows[0], 1), rows, (length,)]
        metas = map(contiguous_meta, sizes, [meta.dtype, meta.dtype, *wide])
        launch = remember(meta.plans, key, row_launch(kernel, list(metas), 1))
    result, (strided, tail) = new_like(made), launch
    strided(*[one.pointer for one in (result, input, *given)], *tail)
    return result


def normalization_gradients(
    grad: Tensor, input: Tensor, mean: Tensor, inverse: Tensor, weight: Tensor | None, dims: Sequence[int],
    summed: Sequence[int], needed: tuple[bool, ...],
) -> tuple[Tensor | None, ...] | None:  # fmt: skip
    """Return the gradients of an input normalized over `dims`, of its weight, and of its bias.

    `mean` and `inverse`, of the deviation, broadcast to the input, as the weight does; the weight and the bias are the
    same along the `summed` dims. None for tensors that are followed, and without elements.
    """
    meta = input.meta
    given = [one for one in (grad, input, mean, inverse, weight) if one is not None]
    if not meta.numel or not unrecorded(*given):
        return None
    normal, size = (input, mean, inverse), prod(meta.sizes[dim] for dim in dims)
    of_channels = dims == summed
    own = None
    if needed[0] and not of_channels and list(dims) == [*range(meta.ndim - len(dims), meta.ndim)]:
        own = _row_gradient(grad, input, mean, inverse, weight, len(dims))
    weighted = grad if weight is None or of_channels or own is not None else apply("mul.Tensor", grad, weight)
    if (needed[0] and own is None) or of_channels:
        product = fused("normalized.product", *normal, weighted)
        aligned, total = (apply("sum.dim_IntList", one, dims, True) for one in (product, weighted))
    if needed[0] and own is None:
        factor = apply("mul.Tensor", inverse, weight) if of_channels and weight is not None else inverse
        means = [apply("div.Scalar", one, size) for one in (total, aligned)]
        own = fused("normalized.gradient", *normal, weighted, *means, factor)
    if of_channels:
        return own, *(apply("reshape", one, (-1,)) for one in (aligned, total))
    products = fused("normalized.product", *normal, grad) if needed[1] else None
    return own, *(
        one if one is None or not summed else apply("sum.dim_IntList", one, summed)
        for one in (products, grad if needed[2] else None)
    )
