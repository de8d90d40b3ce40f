"""Reduction kernels: a fold specialised for input, compute and result dtypes, compiled when first called.

    kernel.reduce(out_ptr..., in_ptr, number..., nkeep, nreduce, sizes (kept dims, reduced dims)...,
                  input strides (kept, reduced)..., output strides (kept dims) output by output...) -> None
    kernel.full(out_ptr..., in_ptr, number..., n) -> None: one output from n contiguous elements

Dims stand innermost first within each group, strides in bytes, addresses are ints, numbers Python floats. Any size may
be 0: no reduced elements give the fold's value for none. Folds with an index count elements in visiting order.
Releases the interpreter lock above 32768 elements.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..core.dtype import DType
from .common import TURNED_FOLD
from .compiler import Builtin, compiler
from .fold import Fold, record_fold
from .fold_output import OutputWriter
from .isa import Level, current_level
from .packing import gather
from .reduction_entry import reduction_entry


class ReductionKernel:
    """A compiled fold; its builtins are made on first use.

    They have one signature: `reduce` for any strides, `along` where outputs do not lie side by side in the input,
    `gathering` where nothing does, `turning` (of folds with one result) for few elements that lie side by side.
    """

    __slots__ = (
        "_rows", "along", "compute", "fold", "gathering", "input", "level", "name", "reduce", "results", "turning",
    )  # fmt: skip

    reduce: Builtin
    along: Builtin
    gathering: Builtin
    turning: Builtin

    def __init__(
        self, name: str, fold: Fold, input: DType, compute: DType, results: tuple[DType, ...], level: Level
    ) -> None:
        self.name = name
        self.fold = fold
        self.input = input
        self.compute = compute
        self.results = results
        self.level = level

    def __repr__(self) -> str:
        return f"<reduction kernel {self.name}({self.input.name})>"

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "_rows":
            self._rows: dict[bool, int] = {}
        elif attribute in ("reduce", "along", "gathering", "turning"):
            setattr(self, attribute, self._builtin(attribute))
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        return object.__getattribute__(self, attribute)

    def _builtin(self, kind: str) -> Builtin:
        itemsize = self.input.itemsize
        row = self._row(wide=kind in ("reduce", "turning"))
        descriptor = [row, 0, itemsize, 0, 0]
        if kind == "gathering":
            descriptor[1] = gather(itemsize, self.level)
        elif kind == "turning":
            descriptor = [compiler().common(TURNED_FOLD), 0, itemsize, gather(itemsize, self.level), row]
        return compiler().builtin(self.name, _entry(len(self.results), self.fold.numbers), descriptor)

    def _row(self, *, wide: bool) -> int:
        """Address of the function for a row of outputs; a `wide` one also folds many outputs that lie side by side."""
        found = self._rows.get(wide)
        if found is None:
            if wide:
                self._row(wide=False)
            dtypes = [dtype.name for dtype in (self.input, self.compute, *self.results)]
            description = f"fold {self.fold.name} {wide} {dtypes} {self.level.name}"
            found = self._rows[wide] = compiler().load(description, lambda: self._text(wide))
        return found

    def _text(self, wide: bool) -> str:
        body = record_fold(self.fold, self.input, self.compute, self.results, self.level)
        single = OutputWriter(body, self.level).single()
        return OutputWriter(body, self.level).several(compiler().symbol(single)) if wide else single


@functools.cache
def _entry(outputs: int, numbers: int) -> int:
    return compiler().load(f"reduction {outputs} {numbers}", lambda: reduction_entry(outputs, numbers))


_KERNELS: dict[tuple[object, ...], ReductionKernel] = {}


def reduction_kernel(name: str, fold: Fold, input: DType, compute: DType, results: Sequence[DType]) -> ReductionKernel:
    """The kernel of a fold: elements are converted from `input` to `compute`, results to `results`; memoised."""
    level = current_level()
    key = (fold, input, compute, *results, level.name)
    kernel = _KERNELS.get(key)
    if kernel is None:
        kernel = _KERNELS.setdefault(key, ReductionKernel(name, fold, input, compute, tuple(results), level))
    return kernel
