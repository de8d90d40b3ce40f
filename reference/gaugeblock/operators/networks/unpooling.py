"""Elements put back where max pooling found them, and max pooling over windows at random distances."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...core import lazy_numpy as np
from ...core.device import cpu
from ...core.dtype import int64
from ...kernels.bound_call import Fresh
from ...tensor.tensor import Tensor, new_like
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of, recalled, view_strides
from ..arrays import Array, check_same_device, from_array, values
from ..indexing.scatter_loop import scatter_loop
from ..invoke import apply
from ..loop_plan import LoopPlan
from ..plan import Filling, Plannable, Planned, plannable
from .calls import check_dtype, suggested
from .pooling import largest_of

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


NAMES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _begins(shares: Array, size: int, kernel: int, count: int) -> Array:
    """Return where the windows begin for each share: steps of one mean length, in its precision; the last is last."""
    begins: Array = np.full((*shares.shape, count), size - kernel, np.int64)
    if count > 1:
        kind = shares.dtype.type
        length = kind(size - kernel) / kind(count - 1)
        steps = (np.arange(count - 1).astype(shares.dtype) + shares[..., None]) * length
        begins[..., :-1] = steps.astype(np.int64) - (shares * length).astype(np.int64)[..., None]
    return begins


def _places_of_windows(begins: list[Array], own: Ints, kernel: Ints) -> Array:
    """The elements of all windows [images, windows..., elements] as places in the row-major last dims."""
    places: Array = np.zeros((len(begins[0]), 1), np.int64)
    for size, begin, width in zip(own, begins, kernel, strict=True):
        along = begin[:, :, None] + np.arange(width)
        lead = (len(begin), *(1,) * (places.ndim - 2))
        places = places[..., None, :, None] * size + along.reshape(*lead, -1, 1, width)
        places = places.reshape(*places.shape[:-2], -1)
    return places


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


def _fractional(dims: int) -> Plannable[..., Any]:
    name = f"fractional_max_pool{dims}d"

    @plannable
    def pool(self: Tensor, kernel_size: Ints, output_size: Ints, random_samples: Tensor) -> Any:
        kernel, sizes = (tuple(one) * (dims if len(one) == 1 else 1) for one in (kernel_size, output_size))
        _check_fractional(name, self, kernel, sizes, random_samples, dims)
        meta = self.meta
        device = check_same_device(name, self, random_samples)
        lead = meta.sizes[:-dims]
        results = tuple([contiguous_meta((*lead, *sizes), dtype, device) for dtype in (meta.dtype, int64)])

        def fill(result: Tensor, places: Tensor) -> None:
            if device is not cpu or not result.meta.numel:
                return
            shares = values(random_samples)[: lead[0] if len(lead) > 1 else 1].reshape(-1, dims)
            # Shares belong to (width, height) in two dims, to (time, height, width) in three.
            order = (1, 0) if dims == 2 else (0, 1, 2)
            own = meta.sizes[-dims:]
            begins = [_begins(shares[:, order[d]], own[d], kernel[d], sizes[d]) for d in range(dims)]
            seen = from_array(_places_of_windows(begins, own, kernel).reshape(len(shares), -1), int64)
            images = apply("reshape", self, (len(shares), -1))
            largest_of([result, places], apply("gather", images, 1, seen), seen, prod(kernel))

        return Filling(results, fill)

    return pool


fractional_max_pool2d, fractional_max_pool3d = (_fractional(dims) for dims in (2, 3))
