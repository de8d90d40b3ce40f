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

from ..core.dtype import DType
from .common import TURNED_FOLD
from .compiler import NAME, Builtin, compiler
from .fold import Fold, record_fold
from .fold_output import OutputWriter
from .isa import Level, current_level
from .packing import gather
from .reduction_entry import reduction_entry


class ReductionKernel:
    """A compiled fold; its builtins are made on first use.

    They have one signature: `reduce`, `gathering` for elements that lie apart, `turning` (of folds with one result)
    for few elements that lie side by side.
    """

    __slots__ = ("compute", "fold", "gathering", "input", "level", "name", "reduce", "results", "turning")

    reduce: Builtin
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

    def text(self) -> str:
        """LLVM IR of the row function, named @NAME."""
        body = record_fold(self.fold, self.input, self.compute, self.results, self.level)
        return OutputWriter(body, self.level.vector_bytes).text(NAME, self.level.attributes)

    def __getattr__(self, attribute: str) -> Builtin:
        if attribute not in ("reduce", "gathering", "turning"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        row = compiler().load(self.text())
        itemsize = self.input.itemsize
        routine = 0 if attribute == "reduce" else gather(itemsize, self.level)
        descriptor = [row, routine, itemsize, 0, 0]
        if attribute == "turning":
            descriptor = [compiler().common(TURNED_FOLD), 0, itemsize, routine, row]
        builtin = compiler().builtin(self.name, _entry(len(self.results), self.fold.numbers), descriptor)
        setattr(self, attribute, builtin)
        return builtin


@functools.cache
def _entry(outputs: int, numbers: int) -> int:
    return compiler().load(reduction_entry(outputs, numbers).replace("@reduce", f"@{NAME}"))


_KERNELS: dict[tuple[object, ...], ReductionKernel] = {}


def reduction_kernel(
    name: str, fold: Fold, input: DType, compute: DType, results: Sequence[DType]
) -> ReductionKernel:
    """The kernel of a fold: elements are converted from `input` to `compute`, results to `results`; memoised."""
    level = current_level()
    key = (fold, input, compute, *results, level.name)
    kernel = _KERNELS.get(key)
    if kernel is None:
        kernel = _KERNELS.setdefault(key, ReductionKernel(name, fold, input, compute, tuple(results), level))
    return kernel
