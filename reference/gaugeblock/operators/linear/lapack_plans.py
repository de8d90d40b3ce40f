"""Plans of calls of LAPACK on stacks of column-major matrices, from the copies before them to the checks after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import DType, bool_
from ...kernels.bound_call import Fresh
from ...kernels.conversion import Immediate
from ...kernels.lapack import LETTERS, Lapack, lapack
from ...kernels.reduction_phases import Reduction
from ...tensor.array_view import array_at
from ...tensor.tensor import Tensor
from ...tensor.tensor_meta import TensorMeta, contiguous_meta, meta_of
from ..arrays import Array, filled
from ..invoke import result_type
from ..loop_plan import Loop, LoopPlan, View
from ..plan import Planned
from ..pointwise import formula_kernel
from ..reductions import plan_reduction
from . import stacks

BLOCK = 64
"""Columns for which routines get workspace, as many as they take at once."""


class LapackPlan(LoopPlan):
    """Loops and calls of routines on stacks of so many matrices, the `batch` of sizes."""

    def __init__(
        self, inputs: Sequence[TensorMeta], results: Sequence[TensorMeta], batch: Sequence[int], dtype: DType
    ) -> None:
        super().__init__(inputs, results)
        self.batch, self.dtype = tuple(batch), dtype
        self.count = prod(batch)
        self._checks: dict[int, Loop] = {}
        """Place of a loop that refuses integers -> the check of these before it, in a call that is not kept."""

    def routine(self, name: str) -> Lapack:
        """Return a routine, which is known to be there."""
        found = lapack(name, self.dtype)
        assert found is not None
        return found

    def run(
        self, name: str, views: Sequence[View], numbers: Sequence[int | str], steps: int, shared: Sequence[View] = ()
    ) -> None:
        """Add the calls of a routine. `steps` are those for one matrix, about; `shared` memory is the same for all."""
        routine = self.routine(name)
        apart = [0 if view in shared else self._apart(view) for view in views]
        work = steps * self.count
        self.kernel(long_call(work, routine.call), views, routine.tail(tuple(numbers), self.count, tuple(apart), work))

    def _apart(self, view: View) -> int:
        """Return the bytes from one matrix, vector or number to the next; matrices may be parts of larger ones."""
        batch = len(self.batch)
        return view.strides[batch - 1] if batch else 0

    def workspace(self, columns: int) -> tuple[View, int]:
        """Return workspace for so many columns, and its elements."""
        size = max(columns, 1) * BLOCK
        return self.memory(size, self.dtype), size

    def memory(self, size: int, dtype: DType) -> View:
        """Return workspace of so many elements."""
        return self.temporary(contiguous_meta((max(size, 1),), dtype))

    def finite(self, source: View) -> View:
        """Return a column-major copy; the loop refuses elements that are not finite, for which LAPACK may not end."""
        copy, self.refusing = self.temporary(stacks.column_major(source.sizes, self.dtype)), True
        self.loop(formula_kernel("finite", [self.dtype], self.dtype, self.dtype), [copy], [source])
        return copy

    def info(self, name: str) -> View:
        """Return memory for the infos of a routine."""
        return self.temporary(contiguous_meta(self.batch, self.routine(name).integer))

    def column_major(self, source: View) -> View:
        """Return a view whose matrices are column-major and one behind the other: a copy unless the source is one."""
        meta = stacks.column_major(source.sizes, self.dtype)
        if source.strides == meta.byte_strides:
            return source
        return self.copy(self.temporary(meta), source)

    def triangle(self, result: View, source: View, *, upper: bool, diagonal: int = 0) -> None:
        """Add the loop that copies a triangle, with zeros in place of the rest."""
        rows, columns = source.sizes[-2:]
        mask = np.tri(rows, columns, diagonal - upper, np.bool_)
        kept = self.constant(filled((rows, columns), bool_, ~mask if upper else mask))
        kept = kept._replace(sizes=source.sizes, strides=(0,) * len(self.batch) + kept.strides)
        choose = formula_kernel("where", [bool_, self.dtype, Immediate(self.dtype)], self.dtype, self.dtype)
        self.loop(choose, [result], [kept, source], [0])

    def diagonal(self, matrices: View) -> View:
        """Return the view of the diagonals."""
        *outer, rows, columns = matrices.sizes
        *steps, down, along = matrices.strides
        return matrices._replace(sizes=(*outer, min(rows, columns)), strides=(*steps, down + along))

    def is_row_major(self, source: View) -> bool:
        """Return whether the elements of a view lie one behind the other."""
        return source.strides == contiguous_meta(source.sizes, source.dtype).byte_strides

    def reduce(self, name: str, reduction: Reduction, result: View, source: View) -> None:
        """Add a reduction over the last dim of a row-major view."""
        meta = contiguous_meta(source.sizes, source.dtype)
        found = plan_reduction(name, reduction, meta, (meta.ndim - 1,), False, result.dtype, (result.dtype,))
        assert found.kernel is not None
        self.kernel(found.kernel, [result, source], found.tail)

    def row_major_vectors(self, source: View) -> View:
        """Return a view whose vectors lie one behind the other: a copy unless the source is one."""
        return source if self.is_row_major(source) else self.row_major(source)

    def within(self, target: View, source: View, low: int, high: int, check: Callable[[Array], object]) -> View:
        """Add the loop that copies integers. A kept call declines for one that is outside of [low, high]; otherwise
        `check`, which raises an error for it, is called with them first."""
        meta = meta_of(source.sizes, tuple([step // source.dtype.itemsize for step in source.strides]), source.dtype)
        numbers = [Immediate(source.dtype)] * 2
        kernel = formula_kernel("within", [source.dtype, *numbers], source.dtype, target.dtype)
        self.loop(kernel, [target], [source], [low, high])

        def checked(address: int) -> None:
            check(array_at(meta, address))

        self._checks[len(self._loops) - 1] = checked, [source], ()
        return target

    def check(self, infos: View, operator: str, reason: str, error: type[RuntimeError]) -> None:
        """Add a check that raises `error` for an info above 0."""

        def check(found: Array) -> None:
            if found.any():
                stacks.fail(operator, found, reason, error)

        self.within(infos, infos, 0, 0, check)

    @property
    def fresh(self) -> Fresh:
        """Return the call that raises what checks do."""
        if self._fresh is None:
            pairs = [(self._checks.get(place), loop) for place, loop in enumerate(self._loops)]
            loops = [one for pair in pairs for one in pair if one is not None]
            self._fresh = self._running(loops, self.refusing)
        return self._fresh

    @property
    def call(self) -> Callable[..., Any]:
        """Return the call that declines instead."""
        if self._call is None:
            self._call = self._running(self._loops, self.refusing or bool(self._checks)).native()
        return self._call

    def planned_as(self, kind: str | None, *tensors: Tensor) -> Planned[Any]:
        """Return the plan of a kernel with several results in the named tuple of an operator; of one result if `kind`
        is None."""
        if kind is None:
            return self.planned(*tensors)
        call, named, declines = self.call, result_type(kind), self.refusing or self._checks
        if declines:
            kept: Callable[..., Any] = lambda *given: (found := call(*given)) and named(*found)  # noqa: E731
        else:
            kept = lambda *given: named(*call(*given))  # noqa: E731
        return Planned.unrun(self.fresh, tensors, kept, tensors, kind=named)


def has_routines(metas: Sequence[TensorMeta], batch: Sequence[int], *names: str) -> bool:
    """Return whether plans of these routines can be made: for elements on the CPU, of equal stacks."""
    dtype = metas[0].dtype
    return (
        dtype in LETTERS
        and all(meta.device is cpu and meta.numel and meta.sizes[:-2] == tuple(batch) for meta in metas)
        and all(lapack(name, dtype) is not None for name in names)
    )
