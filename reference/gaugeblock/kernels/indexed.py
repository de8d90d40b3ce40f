"""Kernels over indexed places, any strides: out[k] = source[k + index[k] * step]; out[k + index[k] * step] = source[k].

    gather_kernel(...).strided(out_ptr, source_ptr, index_ptr, step, size, ndim, sizes..., byte strides of the three...)
    scatter_kernel(...)(the same)

`step` is the stride in bytes of what is indexed along the dim that the index counts, where its own stride is 0, and
`size` that dim's size. An index outside [0, size) reads and writes nothing; the call then ends with the RuntimeError of
a failed guard. Along a row with one index for all its elements (stride 0) these are moved in one piece.

A scatter writes to places that repeat in order, or combines elements with what is there; only dims from `first` on are
shared out among threads.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..core.dtype import DType, int32
from .code import MEMCPY, Declarations, row_module
from .compiler import Builtin, compiler, made_once
from .conversion import SCALAR_TYPES
from .functions import maximum, minimum
from .isa import Level, current_level
from .loops import load_value, store_value
from .lower import Emitter
from .pointwise import contiguous_address, rows_builtin
from .pointwise_entry import Signature
from .tiles import element_type

_SIGNATURE = Signature(1, "mmii")
COMBINING: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "multiply": operator.mul, "amax": maximum, "amin": minimum,
}  # fmt: skip
"""Reduction -> function of the old and the new element. For bool, add is logical or and multiply is logical and."""


@dataclass(eq=False)
class GatherKernel:
    """The kernel for an item size and an index dtype; builtins are made on first use."""

    itemsize: int
    index: DType
    backward = False

    @property
    def results(self) -> tuple[int, ...]:
        """Its one output."""
        return (self.itemsize,)

    @made_once
    def contiguous(self) -> Builtin:
        """The builtin for contiguous operands."""
        return compiler().builtin("gather", contiguous_address(_SIGNATURE), self._descriptor)

    @made_once
    def strided(self) -> Builtin:
        """The builtin for any strides."""
        row, *itemsizes = self._descriptor
        return rows_builtin("gather", _SIGNATURE, row, itemsizes, 0)

    def tiled(self, apart: tuple[bool, ...]) -> Builtin:
        """As `strided`: single elements are read wherever they are."""
        return self.strided

    @property
    def _descriptor(self) -> list[int]:
        return [_row(self.itemsize, self.index, None, 1), self.itemsize, self.itemsize, self.index.itemsize]


@functools.cache
def gather_kernel(itemsize: int, index: DType) -> GatherKernel:
    """The kernel for elements of `itemsize` bytes and indices of int32 or int64; memoised."""
    return GatherKernel(itemsize, index)


@functools.cache
def scatter_kernel(dtype: DType, index: DType, combine: str | None, first: int) -> Builtin:
    """The builtin for elements of `dtype` and indices of int32 or int64; memoised. `combine` is a name of COMBINING,
    None to overwrite."""
    itemsize = dtype.itemsize
    row = _row(itemsize, index, None if combine is None else (combine, dtype), 0)
    return rows_builtin("scatter", _SIGNATURE, row, (itemsize, itemsize, index.itemsize), first)


Combined = tuple[str, DType] | None
"""Name of the reduction and dtype of the elements; None for a scatter that overwrites."""


def _row(itemsize: int, index: DType, combined: Combined, moved: int) -> int:
    """The address of a row function; the index moves the place of the output, 0, or of the source, 1."""
    level = current_level()
    element = itemsize if combined is None else f"{combined[0]} {combined[1].name}"
    description = f"indexed {element} {index.name} {moved} {level.name}"
    return compiler().load(description, lambda: _text(itemsize, index, combined, moved, level))


def _text(itemsize: int, index: DType, combined: Combined, moved: int, level: Level) -> str:
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(3)]
    strides = [code.load("i64", code.slot("%strides", k)) for k in range(3)]
    step, size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
    fault = code.variable("i8", 0, 1)
    whole = code.register(f"icmp eq i64 {strides[2]}, 0")
    for stride in strides[:2]:
        contiguous = code.register(f"icmp eq i64 {stride}, {itemsize}")
        whole = code.register(f"and i1 {whole}, {contiguous}")

    @contextmanager
    def places(at: list[str]) -> Iterator[tuple[str, str]]:
        """Give the places of output and source for an index in the dim; any other is noted as a fault."""
        place = code.load(f"i{8 * index.itemsize}", at[2], index.itemsize)
        place = code.register(f"sext i32 {place} to i64") if index is int32 else place
        bad = code.register(f"icmp uge i64 {place}, {size}")
        with code.when(bad):
            code.store("i8", 1, fault, 1)
        with code.when(code.register(f"xor i1 {bad}, true")):
            at[moved] = code.at(at[moved], place, step)
            yield at[0], at[1]

    with code.when(whole), places(list(pointers)) as (out, source):
        _write_row(code, out, source, itemsize, combined, level)
    count = code.register(f"select i1 {whole}, i64 0, i64 %n")
    with code.loop(0, count) as k:
        at = [code.at(pointer, k, stride) for pointer, stride in zip(pointers, strides, strict=True)]
        with places(at) as (out, source):
            _write(code, out, source, itemsize, combined, level)
    failed = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    declarations["memcpy"] = MEMCPY
    return row_module(code, declarations, level.attributes, failed)


def _write_row(code: Emitter, out: str, source: str, itemsize: int, combined: Combined, level: Level) -> None:
    """Write a contiguous row: by one memcpy, or reduced vector by vector with a scalar loop for the remainder."""
    if combined is None:
        nbytes = code.register(f"mul i64 %n, {itemsize}")
        code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {out}, ptr {source}, i64 {nbytes}, i1 0)")
        return
    lanes = level.vector_bytes * 8 // max(SCALAR_TYPES[combined[1]].bits, 8)
    vectors = code.register(f"and i64 %n, {-lanes}")
    for width, start, stop in ((lanes, "0", vectors), (1, vectors, "%n")):
        with code.scope(width), code.loop(start, stop, width) as k:
            _write(code, code.at(out, k, itemsize), code.at(source, k, itemsize), itemsize, combined, level)


def _write(code: Emitter, out: str, source: str, itemsize: int, combined: Combined, level: Level) -> None:
    """Write an element, or a vector of them, or combine it with what is at `out`."""
    if combined is None:
        type, align = element_type(itemsize), min(itemsize, 4)
        code.store(type, code.load(type, source, align), out, align)
        return
    combine, dtype = combined
    values = [load_value(code, dtype, place, level) for place in (out, source)]
    store_value(code, dtype, out, COMBINING[combine](*values), level)
