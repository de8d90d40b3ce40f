"""Running a reduction kernel on a tensor: dims checked, plan remembered in the tensor's meta, outputs allocated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ..core.away import long_call
from ..core.device import cpu
from ..core.dtype import DType
from ..core.errors import check_ints, wrap_dim
from ..core.observe import OBSERVATION
from ..kernels.bound_call import Fresh
from ..kernels.reduction import reduction_kernel
from ..kernels.reduction_phases import Reduction
from ..kernels.sharing import FEW, TRANSPOSED
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, remember
from .plan import Planned

Dims = tuple[int, ...]
MOST_DIMS = 64
"""Most dims that a tensor may have when some are reduced."""
STEPS = 256
"""Steps of work that an element of each of the outputs reduced between two looks for signals takes, about."""


@dataclass(slots=True, eq=False)
class ReducePlan:
    """Metas of the results, and the builtin with the arguments that follow the addresses and numbers."""

    outputs: tuple[TensorMeta, ...]
    reduce: Callable[..., None] | None
    tail: tuple[int, ...]


def reduced_dims(operator: str, dim: int | Sequence[int] | None, ndim: int, *, empty_is_all: bool = True) -> Dims:
    """Return the dims to reduce, ascending.

    Raises IndexError out of range, RuntimeError for a dim given twice and for a tensor with more than 64 dims.
    """
    if dim is None:
        return tuple(range(ndim))
    if type(dim) is int:
        check_few_dims(operator, ndim)
        wrapped = (wrap_dim(operator, dim, ndim),)
        return wrapped if ndim else ()
    given = check_ints(operator, "dim", dim)
    if not given and empty_is_all:
        return tuple(range(ndim))
    check_few_dims(operator, ndim)
    seen: set[int] = set()
    for one in given:
        place = wrap_dim(operator, one, ndim)
        if place in seen:
            raise RuntimeError(f"{operator}(): dim {place} appears multiple times in the list of dims")
        seen.add(place)
    return tuple(sorted(seen)) if ndim else ()


def check_few_dims(operator: str, ndim: int) -> None:
    """Raise RuntimeError for a tensor with more than 64 dims."""
    if ndim > MOST_DIMS:
        raise RuntimeError(f"{operator}(): only tensors with up to {MOST_DIMS} dims are supported, got {ndim}")


def reduced_sizes(sizes: Dims, dims: Dims, keepdim: bool) -> Dims:
    """Sizes of the result."""
    if keepdim:
        return tuple(1 if d in dims else size for d, size in enumerate(sizes))
    return tuple(size for d, size in enumerate(sizes) if d not in dims)


def plan_reduction(
    name: str, reduction: Reduction, meta: TensorMeta, dims: Dims, keepdim: bool, compute: DType,
    results: tuple[DType, ...],
) -> ReducePlan:  # fmt: skip
    """Return the plan of a reduction over `dims` (ascending, checked), from the cache of the meta if it is there."""
    key = (reduction, dims, keepdim, compute, results)
    plan: ReducePlan | None = meta.plans.get(key)
    if plan is None:
        plan = _plan(name, reduction, meta, dims, keepdim, compute, results)
        remember(meta.plans, key, plan)
    return plan


def reduce(
    name: str,
    reduction: Reduction,
    self: Tensor,
    dims: Dims,
    keepdim: bool,
    compute: DType,
    results: tuple[DType, ...],
    numbers: tuple[float, ...] = (),
) -> tuple[Tensor, ...]:
    """Return the results of a reduction over `dims` (ascending, checked) in fresh tensors."""
    plan = plan_reduction(name, reduction, self.meta, dims, keepdim, compute, results)
    made = tuple([new_like(output) for output in plan.outputs])
    if plan.reduce is not None:
        plan.reduce(*[output.pointer for output in made], self.pointer, *numbers, *plan.tail)
    return made


def reduce_one(
    name: str, reduction: Reduction, self: Tensor, dims: Dims, keepdim: bool, compute: DType, result: DType
) -> Planned[Tensor]:
    """Return the only result of a reduction, and its call."""
    plan = plan_reduction(name, reduction, self.meta, dims, keepdim, compute, (result,))
    call = Fresh(plan.reduce, plan.outputs, plan.tail)
    return Planned(call(self), call.native(), (self,))


def reduce_pair(
    name: str,
    reduction: Reduction,
    self: Tensor,
    dims: Dims,
    keepdim: bool,
    compute: DType,
    results: tuple[DType, DType],
    choose: Callable[[Tensor, Tensor], Any],
) -> Planned[Any]:
    """Return what `choose` makes of the two results of a reduction over `dims`, and the call that does the same."""
    plan = plan_reduction(name, reduction, self.meta, dims, keepdim, compute, results)
    call = Fresh(plan.reduce, plan.outputs, plan.tail)
    both = call.native()
    return Planned(choose(*call(self)), lambda self: choose(*both(self)), (self,))


def _plan(
    name: str, reduction: Reduction, meta: TensorMeta, dims: Dims, keepdim: bool, compute: DType,
    results: tuple[DType, ...],
) -> ReducePlan:  # fmt: skip
    sizes = reduced_sizes(meta.sizes, dims, keepdim)
    outputs = tuple(contiguous_meta(sizes, dtype, meta.device) for dtype in results)
    if meta.device is not cpu or not outputs[0].numel:
        return ReducePlan(outputs, None, ())
    itemsize = meta.dtype.itemsize
    kept = [d for d in range(meta.ndim) if d not in dims]
    out_steps = [_row_major([meta.sizes[d] for d in kept], dtype.itemsize) for dtype in results]
    keep = [
        (meta.sizes[d], meta.strides[d] * itemsize, *(steps[k] for steps in out_steps))
        for k, d in enumerate(kept)
    ]
    inner = [(meta.sizes[d], meta.strides[d] * itemsize) for d in dims]
    positions = "arg" in name or name in ("max", "min")
    kept_dims = coalesced(sorted(keep, key=lambda dim: dim[1]))
    inner_dims = coalesced(inner[::-1] if positions else sorted(inner, key=lambda dim: dim[1]))
    tail = [len(kept_dims), len(inner_dims), *(d[0] for d in kept_dims), *(d[0] for d in inner_dims)]
    tail += [*(d[1] for d in kept_dims), *(d[1] for d in inner_dims)]
    for k in range(len(results)):
        tail += [d[2 + k] for d in kept_dims]
    kernel = reduction_kernel(name, reduction, meta.dtype, compute, results)
    if OBSERVATION.watcher is not None:
        OBSERVATION.watcher("reduction", (kernel, tuple(d[0] for d in kept_dims), tuple(d[0] for d in inner_dims)))
    unpacked = bool(inner_dims) and inner_dims[0][1] != itemsize
    apart = unpacked and not (kept_dims and kept_dims[0][1] == itemsize)
    few = len(results) == 1 == len(inner_dims) and inner_dims[0][0] <= FEW and not apart
    if few and kept_dims and kept_dims[0][0] >= TRANSPOSED and kept_dims[0][1] != itemsize:
        return ReducePlan(outputs, kernel.turning, tuple(tail))
    builtin = kernel.gathering if apart else kernel.reduce if unpacked else kernel.along
    if kept_dims:  # signals are looked for between some outputs and the next, within one only where it is alone
        builtin = long_call(STEPS * prod(d[0] for d in inner_dims), builtin)
    return ReducePlan(outputs, builtin, tuple(tail))


def _row_major(sizes: Sequence[int], itemsize: int) -> list[int]:
    strides, step = [], itemsize
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return strides[::-1]


def coalesced(dims: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Dims (size, strides...), innermost first, with neighbours merged where all strides allow and size 1 dropped."""
    merged: list[tuple[int, ...]] = []
    for dim in dims:
        if dim[0] == 1:
            continue
        last = merged[-1] if merged else None
        if last is not None and all(last[0] * a == b for a, b in zip(last[1:], dim[1:], strict=True)):
            merged[-1] = (last[0] * dim[0], *last[1:])
        else:
            merged.append(dim)
    return merged


def check_not_empty(operator: str, meta: TensorMeta, dims: Dims, *, full: bool, error: Any = RuntimeError) -> None:
    """Raise for reductions without identity: `error` for no elements reduced in full, IndexError for an empty dim."""
    if meta.numel:
        return
    if full:
        raise error(
            f"{operator}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
            f"with the 'dim' argument."
        )
    for dim in dims:
        if meta.sizes[dim] == 0:
            raise IndexError(f"{operator}(): Expected reduction dim {dim} to have non-zero size.")
