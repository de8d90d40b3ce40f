"""Plans of operators that are several strided loops: which views of which tensors each loop runs over.

    plan = LoopPlan([meta], [result])
    rows = plan.temporary(other)
    plan.loop(kernel, [rows], [plan.inputs[0].narrow(1, 0, 4), plan.inputs[0].narrow(1, 1, 4)])
    plan.loop(kernel, [plan.results[0]], [rows])
    result = plan(tensor)

A plan depends on metas and plain arguments only. A call allocates the results and temporaries and runs the loops.
Beside it stand the launches of two kinds of loops: over whole rows, and over the places that an index names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from ..core.away import long_call
from ..core.dtype import DType
from ..iteration.dimensions import coalesce_dimensions, iteration_strides, loop_dimensions
from ..kernels.bound_call import allocation_of
from ..kernels.compiler import Builtin
from ..kernels.indexed import gather_kernel
from ..kernels.pointwise import Launch, PointwiseKernel
from ..tensor.tensor import Tensor, new_like
from ..tensor.tensor_meta import TensorMeta, remember
from .plan import Planned

Ints = tuple[int, ...]


class View(NamedTuple):
    """Sizes and byte strides over one of the tensors of a plan, from a byte offset on."""

    tensor: int
    offset: int
    sizes: Ints
    strides: Ints
    dtype: DType

    def with_dims(self, dim: int, *dims: tuple[int, int], offset: int = 0) -> View:
        """Return the view with dims of these sizes and strides in place of one, so many bytes further on."""
        all_dims = list(zip(self.sizes, self.strides, strict=True))
        place = dim % len(all_dims)
        all_dims[place : place + 1] = dims
        sizes, strides = tuple([size for size, _ in all_dims]), tuple([step for _, step in all_dims])
        return self._replace(offset=self.offset + offset, sizes=sizes, strides=strides)

    def narrow(self, dim: int, start: int, size: int, step: int = 1) -> View:
        """Return the view of `size` places along `dim`, `step` apart, from `start` on."""
        along = self.strides[dim]
        return self.with_dims(dim, (size, along * step), offset=start * along)

    def split(self, dim: int, size: int) -> View:
        """Return the view with a new dim behind `dim`, of `size` neighbouring places each."""
        along = self.strides[dim]
        return self.with_dims(dim, (self.sizes[dim] // size, along * size), (size, along))

    def repeated(self, dim: int, times: int) -> View:
        """Return the view with a new dim behind `dim` that shows each place so many times."""
        return self.with_dims(dim, (self.sizes[dim], self.strides[dim]), (times, 0))

    def select(self, dim: int, place: int) -> View:
        """Return the view without `dim`, at one of its places."""
        return self.with_dims(dim, offset=place * self.strides[dim])

    def flat(self) -> View:
        """Return the elements of a row-major view in one dim."""
        return self._replace(sizes=(prod(self.sizes),), strides=(self.dtype.itemsize,))

    def along(self, dim: int, sizes: Ints) -> View:
        """Return a 1-dim view as one of `sizes` that changes along `dim` only; not at all if it has one element."""
        strides = [0] * len(sizes)
        strides[dim] = self.strides[0] if self.sizes[0] > 1 else 0
        return self._replace(sizes=sizes, strides=tuple(strides))


class LoopPlan:
    """Loops over views of the results, the inputs, temporaries and constants; called, it makes the results."""

    def __init__(self, inputs: Sequence[TensorMeta], results: Sequence[TensorMeta]) -> None:
        self.metas = tuple(results)
        self.results = [_whole(place, meta) for place, meta in enumerate(results)]
        self.inputs = [_whole(place, meta) for place, meta in enumerate(inputs, len(results))]
        self._given = len(inputs) + len(results)
        self._temporaries: list[TensorMeta] = []
        self._others: list[Tensor | None] = []
        self._make: Callable[..., Any] | None = None
        self._loops: list[tuple[Any, tuple[tuple[int, int], ...], tuple[Any, ...]]] = []

    def temporary(self, meta: TensorMeta) -> View:
        """Return the view of a tensor that lives for one call."""
        self._temporaries.append(meta)
        self._others.append(None)
        return _whole(self._given + len(self._others) - 1, meta)

    def constant(self, tensor: Tensor) -> View:
        """Return the view of a tensor that stays the same for all calls."""
        self._others.append(tensor)
        return _whole(self._given + len(self._others) - 1, tensor.meta)

    def loop(
        self, kernel: PointwiseKernel, outputs: Sequence[View], inputs: Sequence[View], numbers: Sequence[float] = ()
    ) -> None:
        """Add a loop over views of equal sizes; `numbers` are the kernel's last operands."""
        views = [*outputs, *inputs]
        shape, strides = loop_dimensions(views[0].sizes, [view.strides for view in views])
        itemsizes = [view.dtype.itemsize for view in views]
        builtin, tail = Launch(kernel, shape, strides, itemsizes, range(len(views))).call()
        self._loops.append((builtin, tuple([(view.tensor, view.offset) for view in views]), (*numbers, *tail)))

    def __call__(self, *tensors: Tensor) -> Any:
        """Return the result, or a tuple of several, of the inputs."""
        if self._make is None:
            self._make = allocation_of(*self.metas, *self._temporaries)
        made, count = self._make(), len(self.metas)
        if made.__class__ is Tensor:
            self._run((made,), tensors, ())
            return made
        self._run(made[:count], tensors, made[count:])
        return made[0] if count == 1 else made[:count]

    def run(self, results: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
        """Write the results of the inputs, with which they share no memory."""
        self._run(results, tensors, [*map(new_like, self._temporaries)])

    def _run(self, results: Sequence[Tensor], tensors: Sequence[Tensor], temporaries: Sequence[Tensor]) -> None:
        waiting = iter(temporaries)
        others = [next(waiting) if one is None else one for one in self._others]
        addresses = [tensor.pointer for tensor in (*results, *tensors, *others)]
        for builtin, places, tail in self._loops:
            builtin(*[addresses[tensor] + offset for tensor, offset in places], *tail)


def _whole(tensor: int, meta: TensorMeta) -> View:
    return View(tensor, 0, meta.sizes, meta.byte_strides, meta.dtype)


def planned_loops(self: Tensor, key: tuple[Any, ...], build: Callable[[], LoopPlan]) -> Planned[Any]:
    """Return the results of the plan that `build` makes, kept in the meta of `self` under `key`."""
    plan: LoopPlan | None = self.meta.plans.get(key)
    if plan is None:
        plan = remember(self.meta.plans, key, build())
    return Planned(plan(self), plan, (self,))


ROW_STEPS = 64
"""Steps of work that an element of a row takes, about; the loops look for signals between two rows only."""


RowLaunch = tuple[Callable[..., None], tuple[int, ...]]
"""A function of the addresses, outputs first, of the numbers and of the tail; and that tail."""


def row_launch(kernel: Builtin, operands: Sequence[TensorMeta], row: int) -> RowLaunch:
    """Return the launch of a kernel, whose dimension 0 is a row that it takes as a whole, over operands of one shape
    (the first's), row-major over the dims other than `row`."""
    sizes = operands[0].sizes or (1,)
    steps = [iteration_strides(g.sizes or (1,), g.strides or (1,), sizes, g.dtype.itemsize) for g in operands]
    others = [d for d in reversed(range(len(sizes))) if d != row]
    shape, strides = coalesce_dimensions(
        tuple(sizes[d] for d in others), [tuple(operand[d] for d in others) for operand in steps]
    )
    if shape == (1,):
        shape, strides = (), tuple(() for _ in operands)
    apart = [step for operand, rest in zip(steps, strides, strict=True) for step in (operand[row], *rest)]
    return long_call(ROW_STEPS * sizes[row], kernel), (1 + len(shape), sizes[row], *shape, *apart)


class Picking(NamedTuple):
    """A launch over the elements of the result, the source's stride along the dim in bytes, and that dim's size."""

    launch: Launch
    step: int
    size: int

    def run(self, out: Tensor, source: Tensor, index: Tensor) -> bool:
        """Copy; False, with the contents of `out` undefined, when an index lies outside [0, size)."""
        if not self.size and self.launch.count:
            return False
        try:
            self.launch.run([out.pointer, source.pointer, index.pointer, self.step, self.size])
        except RuntimeError:
            return False
        return True


def picking(out: TensorMeta, source: TensorMeta, index: TensorMeta, dim: int, index_sizes: Ints) -> Picking:
    """The picking of ``out[..i..] = source[..index[..i..]..]``, the index along `dim`.

    `index_sizes` are the sizes that the index has among the dims of `out`, with ones where it is repeated; the
    source may be larger than `out` outside `dim`.
    """
    shape = out.sizes or (1,)
    itemsize = out.dtype.itemsize
    steps = source.strides or (1,)
    along = steps[dim] * itemsize
    walked = tuple(0 if d == dim else step * itemsize for d, step in enumerate(steps))
    if source.sizes:
        walked = tuple(0 if size == 1 else step for size, step in zip(shape, walked, strict=True))
    index_strides = _expanded(index, index_sizes)
    strides = [
        iteration_strides(shape, out.strides or (1,), shape, itemsize),
        walked,
        iteration_strides(index_sizes, index_strides, shape, index.dtype.itemsize),
    ]
    merged, moved = loop_dimensions(shape, strides)
    kernel = gather_kernel(itemsize, index.dtype)
    launch = Launch(kernel, merged, moved, (itemsize, itemsize, index.dtype.itemsize), (0, 1, 2))
    return Picking(launch, along, (source.sizes or (1,))[dim])


def _expanded(index: TensorMeta, sizes: Ints) -> Ints:
    """The strides of the index with its own dims where `sizes` is not 1."""
    if index.ndim == len(sizes):
        return index.strides
    own = index.strides[0] if index.ndim else 1
    return tuple(own if size != 1 else 0 for size in sizes)
