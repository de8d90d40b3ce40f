"""Plans of calls of LAPACK on stacks of column-major matrices, from the copies before them to the checks after them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

from ...core import lazy_numpy as np
from ...core.away import long_call
from ...core.device import cpu
from ...core.dtype import DType, bool_
from ...kernels.conversion import Immediate
from ...kernels.lapack import LETTERS, Lapack, lapack
from ...tensor.array_view import array_at
from ...tensor.tensor_meta import TensorMeta, contiguous_meta
from ..arrays import filled
from ..loop_plan import LoopPlan, View
from ..pointwise import formula_kernel
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

    def row_major_vectors(self, source: View) -> View:
        """Return a view whose vectors lie one behind the other: a copy unless the source is one."""
        laid = source.strides == contiguous_meta(source.sizes, source.dtype).byte_strides
        return source if laid else self.row_major(source)

    def check(self, infos: View, operator: str, reason: str, error: type[RuntimeError]) -> None:
        """Add a check that raises `error` for an info above 0."""
        self.kernel(partial(_check, contiguous_meta(self.batch, infos.dtype), operator, reason, error), [infos], ())


def _check(meta: TensorMeta, operator: str, reason: str, error: type[RuntimeError], infos: int) -> None:
    found = array_at(meta, infos)
    if found.any():
        stacks.fail(operator, found, reason, error)


def has_routines(metas: Sequence[TensorMeta], batch: Sequence[int], *names: str) -> bool:
    """Return whether plans of these routines can be made: for elements on the CPU, of equal stacks."""
    dtype = metas[0].dtype
    return (
        dtype in LETTERS
        and all(meta.device is cpu and meta.numel and meta.sizes[:-2] == tuple(batch) for meta in metas)
        and all(lapack(name, dtype) is not None for name in names)
    )
