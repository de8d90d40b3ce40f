"""The loop of all that writes where an index tensor says along one dim: scatter, index_add, put and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.device import cpu
from ...iteration.dimensions import iteration_strides
from ...iteration.tensor_iterator import Number, TensorIterator
from ...kernels.bound_call import Fresh
from ...kernels.compiler import Builtin
from ...kernels.indexed import scatter_kernel
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from ..arrays import number_as
from ..copy import clone
from ..loop_plan import LoopPlan
from ..operand_checks import check_fits

Ints = tuple[int, ...]


class ScatterLoop(NamedTuple):
    """The builtin, and its arguments behind the addresses of target, source and index."""

    builtin: Builtin
    tail: Ints

    def run(self, target: int, source: int, index: int) -> bool:
        """Write; False when an index lies outside the dim, whose element is then not written."""
        try:
            self.builtin(target, source, index, *self.tail)
        except RuntimeError:
            return False
        return True


def scatter_loop(
    target: TensorMeta, source: TensorMeta | None, index: TensorMeta, dim: int, combine: str | None = None
) -> ScatterLoop:
    """Return the loop of ``target[..index[..i..]..] = source[..i..]``, the index along `dim`, for a strided target.

    A vector of places serves every line along `dim`. Without a source meta one element is written everywhere. With
    `combine`, a name of the kernel's, elements are combined with those that are there.
    """
    steps, itemsize = target.strides or (1,), target.dtype.itemsize
    shape, places = index.sizes or (1,), index.strides or (1,)
    if len(shape) < len(steps):
        shape = (*target.sizes[:dim], *shape, *target.sizes[dim + 1 :])
        places = tuple([places[0] if d == dim else 0 for d in range(len(steps))])
    walked = tuple([0 if d == dim or shape[d] == 1 else step * itemsize for d, step in enumerate(steps)])
    given = (0,) * len(shape) if source is None else tuple([step * itemsize for step in source.strides or (1,)])
    strides = [walked, given, iteration_strides(shape, places, shape, index.dtype.itemsize)]
    iterator = TensorIterator.restrided(shape, strides, [target.dtype, (source or target).dtype, index.dtype])
    merged, moved = iterator.shape, iterator.strides
    first = 1 + max((d for d, size in enumerate(merged) if size > 1 and not moved[0][d]), default=-1)
    pick = (steps[dim] * itemsize, (target.sizes or (1,))[dim])
    tail = (*pick, len(merged), *merged, *(step for operand in moved for step in operand))
    return ScatterLoop(scatter_kernel(target.dtype, index.dtype, combine, first), tail)


def scatter_loop_of(
    meta: TensorMeta, dim: int, index: Tensor, source: Tensor | Number, combine: str | None
) -> ScatterLoop:
    """Return the loop of a scatter, whose sizes fit, into a tensor."""
    given = source.meta if isinstance(source, Tensor) else None
    key = ("scatter", combine, index.meta, given, dim)
    return recalled(meta.plans, key, scatter_loop, meta, given, index.meta, dim, combine)


def run_scatter(operator: str, steps: ScatterLoop, target: Tensor, index: Tensor, source: Tensor | Number) -> bool:
    """Run a loop; return False when an index lies outside."""
    if isinstance(source, Tensor):
        return steps.run(target.pointer, source.pointer, index.pointer)
    element = number_as(operator, target.meta.dtype, source)
    return steps.run(target.pointer, element.ctypes.data, index.pointer)


def write_at(
    operator: str, self: Tensor, dim: int, index: Tensor, source: Tensor | Number, combine: str | None = None
) -> None:
    """Write `source` into `self` at places that lie within the dim."""
    if isinstance(source, Tensor) and source.storage_impl is self.storage_impl:
        source = clone(source)
    if index.storage_impl is self.storage_impl:
        index = clone(index)
    run_scatter(operator, scatter_loop_of(self.meta, dim, index, source, combine), self, index, source)


def planned_scatter(
    operator: str, meta: TensorMeta, self: TensorMeta, dim: int, index: Tensor, source: Tensor | Number,
    combine: str | None,
) -> tuple[Callable[..., Any], Fresh | None] | None:  # fmt: skip
    """Return the call of self, index and source that writes into a copy of `self` with this meta, and its loops if they
    do all of it; None elsewhere than on the CPU."""
    if meta.device is not cpu:
        return None
    given = source.meta if isinstance(source, Tensor) else None
    steps = scatter_loop_of(meta, dim, index, source, combine)
    plan = LoopPlan([self, index.meta, *([] if given is None else [given])], [meta])
    views = [plan.copy(plan.results[0], plan.inputs[0]), *reversed(plan.inputs[1:])]
    if given is not None:
        plan.kernel(steps.builtin, views, steps.tail)
        loops = plan.fresh._replace(refusing=True)
        return loops.native(), loops
    assert not isinstance(source, Tensor)
    copied = plan.call
    held: tuple[Number, Any] = source, number_as(operator, meta.dtype, source)

    def run(self: Tensor, index: Tensor, source: Number) -> Tensor | None:
        nonlocal held
        number, element = held
        if source is not number:
            check_fits(operator, source, meta.dtype)
            element = number_as(operator, meta.dtype, source)
            held = source, element
        made: Tensor | None = copied(self, index)
        address = element.ctypes.data
        return made if made is not None and steps.run(made.pointer, address, index.pointer) else None

    return run, None


def planned_put(
    meta: TensorMeta, self: TensorMeta, index: Tensor, source: Tensor, accumulate: bool = False
) -> Fresh | None:
    """Return the call of self, index and source that writes at places of a flattened copy; None elsewhere than on the
    CPU. It declines places below 0."""
    operands = self, index.meta, source.meta
    if meta.device is not cpu or not all(one.numel for one in operands):
        return None
    written, places = [contiguous_meta((one.numel,), one.dtype) for one in (source.meta, index.meta)]
    steps = scatter_loop(contiguous_meta((meta.numel,), meta.dtype), written, places, 0, "add" if accumulate else None)
    plan = LoopPlan(operands, [meta])
    own, result = plan.inputs[0], plan.results[0]
    target = plan.copy(result, own) if meta.contiguous else plan.row_major(own)
    given = [*zip(plan.inputs, operands, strict=True)][1:]
    index_view, source_view = [view if one.contiguous else plan.row_major(view) for view, one in given]
    plan.kernel(steps.builtin, [target, source_view, index_view], steps.tail)
    if target is not result:
        plan.copy(result, target)
    return plan.fresh._replace(refusing=True)
