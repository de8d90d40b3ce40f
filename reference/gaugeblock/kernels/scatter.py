"""Kernels that write elements to indexed places: out[k + index[k] * step] = source[k], or combined with what is there.

    kernel.strided(first)(out_ptr, source_ptr, index_ptr, step, size, ndim, sizes..., byte strides of the three...)

`step` is the output's stride in bytes along the dim that the index counts, where its own stride is 0, and `size` that
dim's size. An index outside [0, size) writes nothing; the call then ends with the RuntimeError of a failed guard.
Places that repeat are written in order; only dims from `first` on are shared out among threads.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ..core.dtype import DType
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES, from_storage, memory, to_storage
from .functions import maximum, minimum
from .gather import SIGNATURE, copy_element, copy_row, indexed_text
from .isa import Level, current_level
from .loops import load_operand, store_operand
from .lower import Emitter
from .pointwise import rows_builtin

COMBINING: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "multiply": operator.mul, "amax": maximum, "amin": minimum,
}  # fmt: skip
"""How an element is combined with the one that is there; bool is added by or, multiplied by and."""


class ScatterKernel:
    """The kernel for elements of a dtype and an index dtype; `combine` is a name of COMBINING, None to overwrite."""

    def __init__(self, dtype: DType, index: DType, combine: str | None, level: Level) -> None:
        self.dtype = dtype
        self.index = index
        self.combine = combine
        self.level = level
        self._strided: dict[int, Builtin] = {}

    def strided(self, first: int) -> Builtin:
        """The builtin that shares out dims from `first` on."""
        found = self._strided.get(first)
        if found is None:
            itemsize = self.dtype.itemsize
            element = itemsize if self.combine is None else f"{self.combine} {self.dtype.name}"
            row = compiler().load(f"scatter {element} {self.index.name} {self.level.name}", self._text)
            itemsizes = (itemsize, itemsize, self.index.itemsize)
            found = self._strided[first] = rows_builtin("scatter", SIGNATURE, row, itemsizes, first)
        return found

    def _text(self) -> str:
        return indexed_text(self.dtype.itemsize, self.index, self.level, 0, self._row, self._element)

    def _row(self, code: Emitter, target: str, source: str) -> None:
        """A contiguous row to one place: copied at once, or combined in whole vectors and what is left singly."""
        itemsize = self.dtype.itemsize
        if self.combine is None:
            copy_row(code, target, source, itemsize)
            return
        lanes = self.level.vector_bytes * 8 // max(SCALAR_TYPES[self.dtype].bits, 8)
        vectors = code.register(f"and i64 %n, {-lanes}")
        for width, start, stop in ((lanes, "0", vectors), (1, vectors, "%n")):
            with code.scope(width), code.loop(start, stop, width) as k:
                self._element(code, code.at(target, k, itemsize), code.at(source, k, itemsize))

    def _element(self, code: Emitter, target: str, source: str) -> None:
        """An element, or a vector of them."""
        if self.combine is None:
            copy_element(code, target, source, self.dtype.itemsize)
            return
        operand, half = memory("x", self.dtype), self.level.half_hardware
        values = []
        for place in (target, source):
            stored = operand.symbols()
            load_operand(code, operand, place, stored)
            values.append(from_storage(stored, self.dtype, half))
        combined = COMBINING[self.combine](*values)
        store_operand(code, operand, target, code.emit(to_storage(combined, self.dtype, half)))


_kernel = functools.cache(ScatterKernel)


def scatter_kernel(dtype: DType, index: DType, combine: str | None = None) -> ScatterKernel:
    """The kernel for elements of `dtype` and indices of int32 or int64; memoised."""
    return _kernel(dtype, index, combine, current_level())
