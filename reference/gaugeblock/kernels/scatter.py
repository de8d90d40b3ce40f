"""Kernels that write elements to indexed places: out[k + index[k] * step] = source[k], or += source[k].

    kernel.strided(first)(out_ptr, source_ptr, index_ptr, step, size, ndim, sizes..., byte strides of the three...)

`step` is the output's stride in bytes along the dim that the index counts, where its own stride is 0, and `size` that
dim's size. An index outside [0, size) writes nothing; the call then ends with the RuntimeError of a failed guard.
Places that repeat are written in order; only dims from `first` on are shared out among threads.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType
from .code import Code
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .gather import SIGNATURE, copy_element, copy_row, indexed_text
from .isa import Level, current_level
from .pointwise import rows_builtin


class ScatterKernel:
    """The kernel for elements of `itemsize` bytes and an index dtype; it adds where `added` is the elements' dtype."""

    def __init__(self, itemsize: int, index: DType, added: DType | None, level: Level) -> None:
        self.itemsize = itemsize
        self.index = index
        self.added = added
        self.level = level
        self._strided: dict[int, Builtin] = {}

    def strided(self, first: int) -> Builtin:
        """The builtin that shares out dims from `first` on."""
        found = self._strided.get(first)
        if found is None:
            itemsizes = (self.itemsize, self.itemsize, self.index.itemsize)
            added = None if self.added is None else self.added.name
            description = f"scatter {self.itemsize} {self.index.name} {added} {self.level.name}"
            row = compiler().load(description, self._text)
            found = self._strided[first] = rows_builtin("scatter", SIGNATURE, row, itemsizes, first)
        return found

    def _text(self) -> str:
        return indexed_text(self.itemsize, self.index, self.level, 0, self._row, self._element)

    def _row(self, code: Code, target: str, source: str) -> None:
        """A contiguous row to one place: copied at once, or added in whole vectors and what is left singly."""
        if self.added is None:
            copy_row(code, target, source, self.itemsize)
            return
        lanes, type = self.level.vector_bytes // self.itemsize, SCALAR_TYPES[self.added].ir
        vectors = code.register(f"and i64 %n, {-lanes}")
        for kind, start, stop, step in ((f"<{lanes} x {type}>", "0", vectors, lanes), (type, vectors, "%n", 1)):
            with code.loop(start, stop, step) as k:
                self._add(code, kind, code.at(target, k, self.itemsize), code.at(source, k, self.itemsize))

    def _element(self, code: Code, target: str, source: str) -> None:
        if self.added is None:
            copy_element(code, target, source, self.itemsize)
        else:
            self._add(code, SCALAR_TYPES[self.added].ir, target, source)

    def _add(self, code: Code, type: str, target: str, source: str) -> None:
        """Add an element, or a vector of them, to what is at `target`."""
        align, operation = min(self.itemsize, 4), "add" if "i" in type else "fadd"
        value = code.load(type, source, align)
        total = code.register(f"{operation} {type} {code.load(type, target, align)}, {value}")
        code.store(type, total, target, align)


_kernel = functools.cache(ScatterKernel)


def scatter_kernel(itemsize: int, index: DType, added: DType | None = None) -> ScatterKernel:
    """The kernel for elements of `itemsize` bytes and indices of int32 or int64; memoised.

    With `added`, an integer dtype, float32 or float64, elements are added to what is there.
    """
    return _kernel(itemsize, index, added, current_level())
