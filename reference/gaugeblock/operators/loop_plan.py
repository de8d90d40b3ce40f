"""Plans of operators that are several strided loops: which views of which tensors each loop runs over.

    plan = LoopPlan([meta], [result])
    rows = plan.temporary(other)
    plan.loop(kernel, [rows], [plan.inputs[0].narrow(1, 0, 4), plan.inputs[0].narrow(1, 1, 4)])
    plan.loop(kernel, [plan.results[0]], [rows])
    result = plan.fresh(tensor)

A plan depends on metas and plain arguments only. A call allocates the results and temporaries and runs the loops.
Beside it stand the launches of two kinds of loops: over whole rows, and over the places that an index names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import accumulate, chain
from math import prod
from typing import Any, NamedTuple

from ..core.away import long_call
from ..core.dtype import DType, int64
from ..iteration.dimensions import iteration_strides
from ..iteration.tensor_iterator import Number, TensorIterator
from ..kernels.bound_call import MOST_TENSORS, Fresh, Kernels, nothing
from ..kernels.compiler import Builtin
from ..kernels.conversion import Immediate
from ..kernels.indexed import gather_kernel
from ..kernels.pointwise import Kernel, Launch
from ..tensor.tensor import Tensor
from ..tensor.tensor_meta import TensorMeta, contiguous_meta, recalled
from .arrays import filled
from .plan import Planned
from .pointwise import formula_kernel

Ints = tuple[int, ...]


class Role(IntEnum):
    """The part that a tensor plays in a plan; a call passes the addresses in this order."""

    RESULT, TEMPORARY, INPUT, CONSTANT = range(4)


class View(NamedTuple):
    """Sizes and byte strides over one of the tensors of a plan, from a byte offset on."""

    role: Role
    number: int
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

    def turned(self) -> View:
        """Return the view with the last two dims in the other order."""
        (*sizes, rows, columns), (*strides, down, across) = self.sizes, self.strides
        return self._replace(sizes=(*sizes, columns, rows), strides=(*strides, across, down))

    def expanded(self, sizes: Ints) -> View:
        """Return the view broadcast to other sizes."""
        missing = len(sizes) - len(self.sizes)
        own = [0 if size == 1 else step for size, step in zip(self.sizes, self.strides, strict=True)]
        return self._replace(sizes=sizes, strides=((0,) * missing + tuple(own)))

    def along(self, dim: int, sizes: Ints) -> View:
        """Return a 1-dim view as one of `sizes` that changes along `dim` only; not at all if it has one element."""
        strides = [0] * len(sizes)
        strides[dim] = self.strides[0] if self.sizes[0] > 1 else 0
        return self._replace(sizes=sizes, strides=tuple(strides))


Loop = tuple[Callable[..., None], Sequence[View], tuple[Any, ...]]
"""A kernel, the views whose addresses it takes, and its other arguments."""


class LoopPlan:
    """Loops over views of the results, the inputs, temporaries and constants."""

    def __init__(self, inputs: Sequence[TensorMeta], results: Sequence[TensorMeta]) -> None:
        self.metas = tuple(results)
        self.results = [_whole(Role.RESULT, place, meta) for place, meta in enumerate(results)]
        self.inputs = [_whole(Role.INPUT, place, meta) for place, meta in enumerate(inputs)]
        self._temporaries: list[TensorMeta] = []
        self._constants: list[Tensor] = []
        self._loops: list[Loop] = []
        self.refusing = False
        """Whether a loop refuses values, by which a call is declined."""
        self._fresh: Fresh | None = None
        self._call: Callable[..., Any] | None = None

    def temporary(self, meta: TensorMeta) -> View:
        """Return the view of a tensor that lives for one call."""
        self._temporaries.append(meta)
        return _whole(Role.TEMPORARY, len(self._temporaries) - 1, meta)

    def constant(self, tensor: Tensor) -> View:
        """Return the view of a tensor that stays the same for all calls."""
        self._constants.append(tensor)
        return _whole(Role.CONSTANT, len(self._constants) - 1, tensor.meta)

    def loop(
        self, kernel: Kernel, outputs: Sequence[View], inputs: Sequence[View], numbers: Sequence[Number] = ()
    ) -> None:
        """Add a loop over views of equal sizes; `numbers` are the kernel's last operands."""
        views = [*outputs, *inputs]
        self._add(kernel, views, [view.strides for view in views], numbers)

    def copy(self, output: View, source: View) -> View:
        """Add the loop that copies the elements of a view, converting them, and return the view of the copy."""
        kernel, to = formula_kernel("identity", [source.dtype], source.dtype, output.dtype), output
        reversed_dims = [dim for dim, step in enumerate(source.strides) if step < 0]
        if reversed_dims and kernel.copies:
            for dim in reversed_dims:
                to, source = (view.narrow(dim, view.sizes[dim] - 1, view.sizes[dim], -1) for view in (to, source))
        self.loop(kernel, [to], [source])
        return output

    def row_major(self, view: View) -> View:
        """Return the view of a temporary, a row-major copy of another view."""
        return self.copy(self.temporary(contiguous_meta(view.sizes, view.dtype)), view)

    def fill(self, output: View, number: Number) -> View:
        """Add the loop that fills a view, and return it."""
        dtype = output.dtype
        self.loop(formula_kernel("identity", [Immediate(dtype)], dtype, dtype), [output], [], [number])
        return output

    def gather(self, output: View, source: View, index: View, dim: int) -> None:
        """Add ``output[..i..] = source[..index[i]..]``, the places in the vector `index`, or in one of the output's
        sizes, within the dim."""
        walked = tuple([0 if d == dim else step for d, step in enumerate(source.strides)])
        spread = index if len(index.sizes) == len(output.sizes) else index.along(dim, output.sizes)
        strides = [output.strides, walked, spread.strides]
        kernel = gather_kernel(source.dtype.itemsize, index.dtype)
        self._add(kernel, [output, source, index], strides, (source.strides[dim], source.sizes[dim]))

    def pick(self, output: View, source: View, along: Sequence[Sequence[int]]) -> bool:
        """Add the copy of the elements of source at places `along` each of its last dims, one by one, if the rows of
        the output are short and there are few places. Return whether it is added."""
        lead, itemsize = len(output.sizes) - len(along), output.dtype.itemsize
        count = prod(output.sizes[lead:])
        row_major = output.strides[lead:] == contiguous_meta(output.sizes[lead:], output.dtype).byte_strides
        if not row_major or output.sizes[-1] >= LONG or not LEAST_PICKED <= count <= MOST_PICKED:
            return False
        offsets = [0]
        for places, step in zip(along, source.strides[lead:], strict=True):
            offsets = [offset + place * step // itemsize for offset in offsets for place in places]
        outer = output.sizes[:lead]
        target = output._replace(sizes=(*outer, count), strides=(*output.strides[:lead], itemsize))
        reach = source._replace(sizes=(*outer, max(offsets) + 1), strides=(*source.strides[:lead], itemsize))
        self.gather(target, reach, self.constant(filled((count,), int64, offsets)), lead)
        return True

    def _add(self, kernel: Kernel, views: list[View], strides: list[Ints], numbers: Sequence[Number]) -> None:
        if prod(views[0].sizes):
            steps = TensorIterator.restrided(views[0].sizes, strides, [view.dtype for view in views])
            itemsizes = [view.dtype.itemsize for view in views]
            builtin, tail = Launch(kernel, steps.shape, steps.strides, itemsizes, range(len(views))).call()
            self.kernel(builtin, views, (*numbers, *tail))

    def kernel(self, kernel: Callable[..., None], views: Sequence[View], tail: Sequence[Any]) -> None:
        """Add a kernel that takes the addresses of the views and the tail."""
        self._loops.append((kernel, views, tuple(tail)))

    @property
    def fresh(self) -> Fresh:
        """Return the call that allocates results and temporaries and runs the loops, all of which have been added."""
        if self._fresh is None:
            self._fresh = self._running(self._loops, self.refusing)
        return self._fresh

    def _running(self, loops: Sequence[Loop], refusing: bool) -> Fresh:
        """Return the call that runs some loops."""
        begins = [0, *accumulate([len(self.results), len(self._temporaries), len(self.inputs)])]
        kernels = tuple([
            (builtin, tuple([begins[v.role] + v.number for v in views]), tuple([v.offset for v in views]), tail)
            for builtin, views, tail in loops
        ])
        run = Kernels(kernels, tuple(self._constants)).native() if kernels else nothing
        addresses = tuple([one.pointer for one in self._constants])
        made, count = (*self.metas, *self._temporaries), len(self._temporaries)
        return Fresh(run, made, addresses, temporary=count, refusing=refusing)

    @property
    def call(self) -> Callable[..., Any]:
        """Return the call of the inputs, in machine code if that is loaded; it returns a tuple of several results."""
        if self._call is None:
            self._call = self.fresh.__call__ if len(self.inputs) > MOST_TENSORS else self.fresh.native()
        return self._call

    def planned(self, *tensors: Tensor) -> Planned[Any]:
        """Return the plan of a kernel with these inputs."""
        return Planned.unrun(self.fresh, tensors, self.call, tensors)


def _whole(role: Role, number: int, meta: TensorMeta) -> View:
    return View(role, number, 0, meta.sizes, meta.byte_strides, meta.dtype)


def planned_loops(self: Tensor, key: tuple[Any, ...], build: Callable[[], LoopPlan]) -> Planned[Any]:
    """Return the results of the plan that `build` makes, kept in the meta of `self` under `key`."""
    return recalled(self.meta.plans, key, build).planned(self)


LONG = 32
"""Elements of a row that make up some vectors of any kind."""
LEAST_PICKED, MOST_PICKED = 8, 1 << 14
"""How many places of the last dims may be read one by one."""
ROW_STEPS = 64
"""Steps of work that an element of a row takes, about; the loops look for signals between two rows only."""


RowLaunch = tuple[Callable[..., None], tuple[int, ...]]
"""A function of the addresses, outputs first, of the numbers and of the tail; and that tail."""


def row_launch(kernel: Builtin, operands: Sequence[TensorMeta], row: int, shape: Ints | None = None) -> RowLaunch:
    """Return the launch of a kernel, whose dimension 0 is a row that it takes as a whole, over operands of one shape
    (the first's, unless it is given), row-major over the dims other than `row`, which need not be of one size."""
    sizes = shape or operands[0].sizes or (1,)
    steps = [iteration_strides(g.sizes or (1,), g.strides or (1,), sizes, g.dtype.itemsize) for g in operands]
    others = [d for d in range(len(sizes)) if d != row]
    rest = [tuple([values[d] for d in others]) for values in (sizes, *steps)]
    rows = TensorIterator.restrided(rest[0], rest[1:], [one.dtype for one in operands], linear=True)
    laid = zip((sizes[row], *(operand[row] for operand in steps)), *rows.dims, strict=True)
    return long_call(ROW_STEPS * sizes[row], kernel), (1 + len(rows.dims), *chain.from_iterable(laid))


def longest_first(dims: Sequence[Ints]) -> list[Ints]:
    """Return dims, each a size and strides, with the longest in front unless the first is long enough for vectors."""
    longest = max(range(len(dims)), key=lambda d: dims[d][0])
    if dims[0][0] >= LONG:
        return [*dims]
    return [dims[longest], *dims[:longest], *dims[longest + 1 :]]


def picking(out: TensorMeta, source: TensorMeta, index: TensorMeta, dim: int, index_sizes: Ints) -> Fresh:
    """Return the call for ``out[..i..] = source[..index[..i..]..]``, the index along `dim`, of source and index.

    It declines an index outside of the dim. `index_sizes` are the sizes that the index has among the dims of `out`,
    with ones where it is repeated; the source may be larger than `out` outside `dim`.
    """
    shape = out.sizes or (1,)
    itemsize = out.dtype.itemsize
    steps = source.strides or (1,)
    along = steps[dim] * itemsize
    walked = tuple(0 if d == dim else step * itemsize for d, step in enumerate(steps))
    if source.sizes:
        walked = tuple(0 if size == 1 else step for size, step in zip(shape, walked, strict=True))
    index_strides = _expanded(index, index_sizes)
    read = [walked, iteration_strides(index_sizes, index_strides, shape, index.dtype.itemsize)]
    kernel, itemsizes = gather_kernel(itemsize, index.dtype), (itemsize, itemsize, index.dtype.itemsize)

    def call(made: TensorMeta, written: Ints) -> Fresh:
        iterator = TensorIterator.restrided(shape, [written, *read], [out.dtype, source.dtype, index.dtype])
        builtin, tail = Launch(kernel, iterator.shape, iterator.strides, itemsizes, (0, 1, 2)).call()
        return Fresh(builtin, (made,), (along, (source.sizes or (1,))[dim], *tail), refusing=True)

    def guard() -> Fresh:
        return call(contiguous_meta((), out.dtype), (0,) * len(shape))

    return call(out, iteration_strides(shape, out.strides or (1,), shape, itemsize))._replace(guard=guard)


def _expanded(index: TensorMeta, sizes: Ints) -> Ints:
    """The strides of the index with its own dims where `sizes` is not 1."""
    if index.ndim == len(sizes):
        return index.strides
    own = index.strides[0] if index.ndim else 1
    return tuple(own if size != 1 else 0 for size in sizes)
