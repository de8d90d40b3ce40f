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
from collections.abc import Callable, Iterator, Sequence
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
UNROLLED = 4
"""Elements that a round of an unrolled loop moves."""
COMBINING: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "multiply": operator.mul, "amax": maximum, "amin": minimum,
}  # fmt: skip
"""Reduction -> function of the old and the new element. For bool, add is logical or and multiply is logical and."""


@dataclass(eq=False)
class GatherKernel:
    """The kernel for an item size and an index dtype; builtins are made on first use."""

    itemsize: int
    index: DType
    copies = False

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
    row = _Row(Emitter(1, "x", declarations), itemsize, index, combined, moved, level)
    row.write()
    failed = row.code.register(f"icmp ne i8 {row.code.load('i8', row.fault, 1)}, 0")
    declarations["memcpy"] = MEMCPY
    return row_module(row.code, declarations, level.attributes, failed)


class _Row:
    """Writes the row function of output, source and index into `code`; `fault` is where it notes a wrong index."""

    def __init__(
        self, code: Emitter, itemsize: int, index: DType, combined: Combined, moved: int, level: Level
    ) -> None:  # fmt: skip
        self.code, self.index, self.combined, self.moved, self.level = code, index, combined, moved, level
        self.sizes = (itemsize, itemsize, index.itemsize)
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(3)]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(3)]
        self.step, self.size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
        self.fault = code.variable("i8", 0, 1)

    def write(self) -> None:
        """Move the row as a whole if it has one index, else element by element. The loop is unrolled where the operands
        that no index moves are adjacent, and needs no multiplication where the moved one is adjacent too."""
        code, moved, (itemsize, _, index_size) = self.code, self.moved, self.sizes
        whole = self._equal((self.strides[0], itemsize), (self.strides[1], itemsize), (self.strides[2], 0))
        with code.when(whole), self._places(self.pointers, self.step) as (out, source):
            _write_row(code, out, source, itemsize, self.combined, self.level)
        count = code.register(f"select i1 {whole}, i64 0, i64 %n")
        adjacent = self._equal((self.strides[1 - moved], itemsize), (self.strides[2], index_size))
        beside = self._equal((self.strides[moved], 0), (self.step, itemsize))
        rounded = code.register(f"and i64 {count}, {-UNROLLED}")
        stop = code.register(f"select i1 {adjacent}, i64 {rounded}, i64 0")
        self._rounds(code.register(f"select i1 {beside}, i64 {stop}, i64 0"), itemsize, 0)
        self._rounds(code.register(f"select i1 {beside}, i64 0, i64 {stop}"), self.step, self.strides[moved])
        begin = [code.at(pointer, stop, stride) for pointer, stride in zip(self.pointers, self.strides, strict=True)]
        with code.carry(stop, count, 1, [("ptr", at) for at in begin]) as loop:
            self._element(loop.values, self.step)
            loop.following = [code.move(at, stride) for at, stride in zip(loop.values, self.strides, strict=True)]

    def _rounds(self, stop: str, step: str | int, stride: str | int) -> None:
        """Write the unrolled loop over the elements before `stop`."""
        code, moved, sizes = self.code, self.moved, self.sizes
        with code.carry(0, stop, UNROLLED, [("ptr", self.pointers[moved])]) as loop:
            (there,) = loop.values
            first = [code.at(pointer, loop.index, size) for pointer, size in zip(self.pointers, sizes, strict=True)]
            for lane in range(UNROLLED):
                at = [code.move(start, lane * size) for start, size in zip(first, sizes, strict=True)]
                at[moved] = there
                self._element(at, step)
                there = code.move(there, stride)
            loop.following = [there]

    def _element(self, at: Sequence[str], step: str | int) -> None:
        with self._places(at, step) as (out, source):
            _write(self.code, out, source, self.sizes[0], self.combined, self.level)

    @contextmanager
    def _places(self, at: Sequence[str], step: str | int) -> Iterator[tuple[str, str]]:
        """Give the places of output and source for an index in the dim; any other is noted as a fault."""
        code, index = self.code, self.index
        place = code.load(f"i{8 * index.itemsize}", at[2], index.itemsize)
        place = code.register(f"sext i32 {place} to i64") if index is int32 else place
        inside, outside, done = code.label(), code.label(), code.label()
        code.branch(code.register(f"icmp ult i64 {place}, {self.size}"), inside, outside)
        code.begin(outside)
        code.store("i8", 1, self.fault, 1)
        code.jump(done)
        code.begin(inside)
        there = code.at(at[self.moved], place, step)
        yield (at[0], there) if self.moved else (there, at[1])
        code.jump(done)
        code.begin(done)

    def _equal(self, *pairs: tuple[str, int]) -> str:
        """Return an i1 that is true if the two numbers of each pair are equal."""
        found = "true"
        for value, number in pairs:
            same = self.code.register(f"icmp eq i64 {value}, {number}")
            found = self.code.register(f"and i1 {found}, {same}")
        return found


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
