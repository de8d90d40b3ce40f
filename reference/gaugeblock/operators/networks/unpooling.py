"""Elements put back where max pooling found them, and max pooling over windows at random distances."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import Any

from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import int64
from ...kernels.bound_call import Fresh
from ...kernels.fractional_pooling import fractional_pooling_kernel
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, recalled, view_strides
from ..arrays import check_same_device, values
from ..indexing.scatter_loop import scatter_loop
from ..loop_plan import LoopPlan
from ..plan import Plannable, Planned, plannable
from .calls import check_dtype, suggested

Ints = Sequence[int]


def _unpooled(operator: str, self: Tensor, indices: Tensor, output_size: Ints, dims: int) -> Tensor | Planned[Tensor]:
    own = self.meta.sizes
    if len(output_size) != dims:
        raise RuntimeError(
            f"{operator}(): There should be exactly {dims} elements in output_size, but got {len(output_size)}"
        )
    if indices.meta.dtype is not int64:
        raise RuntimeError(f"{operator}(): elements in indices should be type int64 but got: {indices.meta.dtype.name}")
    if len(own) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{operator}(): Input to {operator} should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{len(own)} dimensions."
        )
    if indices.meta.sizes != own:
        raise RuntimeError(
            f"{operator}(): Expected shape of indices to be same as that of the input tensor ({list(own)}) but got "
            f"indices tensor with shape: {list(indices.meta.sizes)}"
        )
    if 0 in own[-dims - 1 :]:
        raise RuntimeError(
            f"{operator}(): Expected input to have non-zero size for non-batch dimensions, but got {list(own)}"
        )
    check_dtype(operator, self)
    meta = suggested(self.meta, (*own[:-dims], *output_size))
    if meta.device is not cpu:
        return new_like(meta)
    key = (operator, indices.meta, meta)
    fresh = recalled(self.meta.plans, key, _unpooling, self.meta, indices.meta, meta, dims)

    def check(_: Tensor, indices: Tensor) -> None:
        found, area = values(indices), prod(output_size)
        wrong = found[(found < 0) | (found >= area)]
        if wrong.size:
            raise RuntimeError(
                f"{operator}(): Found an invalid max index: {wrong[0]} (output volumes are of size "
                f"{'x'.join(map(str, output_size))})"
            )

    return Planned.unrun(fresh, (self, indices), fresh.native(), (self, indices), check=check)


def _unpooling(given: TensorMeta, indices: TensorMeta, meta: TensorMeta, dims: int) -> Fresh:
    """Return the call that scatters into zeros, with the last dims as one; copies those that are apart."""
    plan = LoopPlan([given, indices], [meta])
    views, flat = [plan.fill(plan.results[0], 0)], [_flat(meta, dims)]
    for one, view in zip((given, indices), plan.inputs, strict=True):
        own = _flat(one, dims)
        views.append(plan.row_major(view) if own is None else view)
        flat.append(own or _flat(contiguous_meta(one.sizes, one.dtype), dims))
    target, source, index = flat
    assert target is not None and index is not None
    if given.numel:
        scatter = scatter_loop(target, source, index, target.ndim - 1)
        plan.kernel(scatter.builtin, views, scatter.tail)
    return plan.fresh._replace(refusing=True)


def _flat(meta: TensorMeta, dims: int) -> TensorMeta | None:
    """Return the meta with its last dims as one, if their strides let them be."""
    lead, size = meta.ndim - dims, prod(meta.sizes[-dims:])
    step = view_strides(meta.sizes[lead:], meta.strides[lead:], (size,))
    return None if step is None else meta_of((*meta.sizes[:lead], size), (*meta.strides[:lead], *step), meta.dtype)


@plannable
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Ints) -> Tensor | Planned[Tensor]:
    """self at the places `indices` of images of `output_size`, else 0. Raises RuntimeError for what does not fit."""
    return _unpooled("max_unpool2d", self, indices, output_size, 2)


@plannable
def max_unpool3d(
    self: Tensor, indices: Tensor, output_size: Ints, stride: Ints, padding: Ints
) -> Tensor | Planned[Tensor]:
    """The same for volumes. Raises RuntimeError for what does not fit, and for a stride not above 0."""
    for name, value in (("stride", stride), ("padding", padding)):
        if len(value) != 3:
            raise RuntimeError(
                f"max_unpool3d(): There should be exactly three elements (depth, height, width) in {name}, but got: "
                f"{len(value)} elements."
            )
    if min(stride) <= 0:
        raise RuntimeError(f"max_unpool3d(): strides should be greater than zero, but got stride: {list(stride)}")
    return _unpooled("max_unpool3d", self, indices, output_size, 3)


ORDERS = {2: (1, 0), 3: (0, 1, 2)}
"""Dims -> which of an image's shares belongs to each."""
NAMES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _check_fractional(name: str, self: Tensor, kernel: Ints, sizes: Ints, shares: Tensor, dims: int) -> None:
    meta = self.meta
    if meta.ndim not in (dims + 1, dims + 2) or 0 in meta.sizes[-dims - 1 :]:
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(meta.sizes)}")
    for argument, given in (("kernel_size", kernel), ("output_size", sizes)):
        if len(given) != dims:
            raise RuntimeError(f"{name}(): {argument} must either be a single int or have {dims}, got {list(given)}")
    for label, size, width, count in zip(NAMES[dims], meta.sizes[-dims:], kernel, sizes, strict=True):
        if width < 1 or count < 1 or count + width - 1 > size - (dims == 3):
            raise RuntimeError(
                f"{name}(): pool {label} {width} too large relative to input {label} {size} for {count} windows"
            )
    check_dtype(name, self)
    if shares.meta.dtype is not meta.dtype:
        raise RuntimeError(
            f"{name}(): Expect _random_samples to have the same dtype as input, got {shares.meta.dtype.name}"
        )
    batch = meta.sizes[0] if meta.ndim == dims + 2 else 1
    drawn = shares.meta.sizes
    if len(drawn) != 3 or drawn[0] < batch or drawn[1:] != (meta.sizes[-dims - 1], dims):
        raise RuntimeError(
            f"{name}(): Expect _random_samples of sizes {[batch, meta.sizes[-dims - 1], dims]}, got {list(drawn)}"
        )


def _pooling(given: Sequence[TensorMeta], results: Sequence[TensorMeta], kernel: Ints) -> LoopPlan:
    """Return the plan of the one kernel, whose rows are the images."""
    plan, dims = LoopPlan(given, results), len(kernel)
    meta, shares = given
    images = prod(meta.sizes[:-dims])
    views, strides = [*plan.results], [view.strides[-dims - 1] for view in plan.results]
    batch = view_strides(meta.sizes[:-dims], meta.strides[:-dims], (images,))
    lead = meta.sizes[0] if meta.ndim > dims + 1 else 1  # there may be shares for more of them
    drawn = view_strides((lead, shares.sizes[1]), shares.strides[:2], (images,))
    for view, one, step in zip(plan.inputs, given, (batch, drawn), strict=True):
        views.append(view if step else plan.row_major(view))
        inner = 1 if one is shares else dims
        strides.append(step[0] * one.dtype.itemsize if step else views[-1].strides[-inner - 1])
    numbers = zip(meta.sizes[-dims:], results[0].sizes[-dims:], kernel, views[2].strides[-dims:], strict=True)
    run = long_call(results[0].numel * prod(kernel), fractional_pooling_kernel(meta.dtype, ORDERS[dims]))
    plan.kernel(run, views, (*chain.from_iterable(numbers), views[3].strides[2], 1, images, *strides))
    return plan


def _fractional(dims: int) -> Plannable[..., Any]:
    name = f"fractional_max_pool{dims}d"

    @plannable
    def pool(self: Tensor, kernel_size: Ints, output_size: Ints, random_samples: Tensor) -> Any:
        kernel, sizes = (tuple(one) * (dims if len(one) == 1 else 1) for one in (kernel_size, output_size))
        _check_fractional(name, self, kernel, sizes, random_samples, dims)
        meta = self.meta
        device = check_same_device(name, self, random_samples)
        lead = meta.sizes[:-dims]
        results = [contiguous_meta((*lead, *sizes), dtype, device) for dtype in (meta.dtype, int64)]
        if device is not cpu or not results[0].numel:
            return tuple(map(new_like, results))
        key = (name, random_samples.meta, kernel, sizes)
        plan = recalled(meta.plans, key, _pooling, [meta, random_samples.meta], results, kernel)
        return plan.planned(self, random_samples)

    return pool


fractional_max_pool2d, fractional_max_pool3d = (_fractional(dims) for dims in (2, 3))
