"""Kernels over indexed places, any strides: out[k] = source[k + index[k] * step]; out[k + index[k] * step] = source[k].

    gather_kernel(...).strided(out_ptr, source_ptr, index_ptr, step, size, ndim, sizes..., byte strides of the three...)
    scatter_kernel(...)(the same)

`step` is the stride in bytes of what is indexed along the dim that the index counts, where its own stride is 0, and
`size` that dim's size. An index outside [0, size) reads and writes nothing; the call then ends with the RuntimeError of
a failed guard. Along a row with one index for all its elements (stride 0) these are moved in one piece.

A scatter writes to places that repeat in order, or adds to what is there; only dims from `first` on are shared out
among threads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..core.dtype import DType, int32
from .code import MEMCPY, Code, Declarations, row_module
from .compiler import Builtin, compiler, made_once
from .conversion import SCALAR_TYPES
from .isa import Level, current_level
from .pointwise import contiguous_address, rows_builtin
from .pointwise_entry import Signature
from .tiles import element_type

_SIGNATURE = Signature(1, "mmii")


@dataclass(eq=False)
class GatherKernel:
    """The kernel for an item size and an index dtype; builtins are made on first use."""

    itemsize: int
    index: DType

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
def scatter_kernel(itemsize: int, index: DType, added: DType | None, first: int) -> Builtin:
    """The builtin for elements of `itemsize` bytes and indices of int32 or int64; memoised.

    With `added`, an integer dtype, float32 or float64, elements are added to what is there.
    """
    row = _row(itemsize, index, added, 0)
    return rows_builtin("scatter", _SIGNATURE, row, (itemsize, itemsize, index.itemsize), first)


def _row(itemsize: int, index: DType, added: DType | None, moved: int) -> int:
    """The address of a row function; the index moves the place of the output, 0, or of the source, 1."""
    level = current_level()
    description = f"indexed {itemsize} {index.name} {None if added is None else added.name} {moved} {level.name}"
    return compiler().load(description, lambda: _text(itemsize, index, added, moved, level))


def _text(itemsize: int, index: DType, added: DType | None, moved: int, level: Level) -> str:
    code = Code()
    pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(3)]
    strides = [code.load("i64", code.slot("%strides", k)) for k in range(3)]
    step, size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
    fault = code.register("alloca i8")
    code.store("i8", 0, fault, 1)
    whole = code.register(f"icmp eq i64 {strides[2]}, 0")
    for stride in strides[:2]:
        contiguous = code.register(f"icmp eq i64 {stride}, {itemsize}")
        whole = code.register(f"and i1 {whole}, {contiguous}")

    @contextmanager
    def places(at: list[str]) -> Iterator[tuple[str, str]]:
        place = code.load(f"i{8 * index.itemsize}", at[2], index.itemsize)
        place = code.register(f"sext i32 {place} to i64") if index is int32 else place
        with _within(code, place, size, fault):
            at[moved] = code.at(at[moved], place, step)
            yield at[0], at[1]

    with code.when(whole), places(list(pointers)) as (out, source):
        _write_row(code, out, source, itemsize, added, level)
    count = code.register(f"select i1 {whole}, i64 0, i64 %n")
    type = element_type(itemsize) if added is None else SCALAR_TYPES[added].ir
    with code.loop(0, count) as k:
        at = [code.at(pointer, k, stride) for pointer, stride in zip(pointers, strides, strict=True)]
        with places(at) as (out, source):
            _write(code, type, out, source, itemsize, added)
    failed = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    declarations = Declarations()
    declarations["memcpy"] = MEMCPY
    return row_module(code, declarations, level.attributes, failed)


@contextmanager
def _within(code: Code, place: str, size: str, fault: str) -> Iterator[None]:
    """A block for an index within [0, size); any other is noted as a fault."""
    bad, fine, after = (code.label() for _ in range(3))
    code.branch(code.register(f"icmp uge i64 {place}, {size}"), bad, fine)
    code.begin(bad)
    code.store("i8", 1, fault, 1)
    code.jump(after)
    code.begin(fine)
    yield
    code.jump(after)
    code.begin(after)


def _write_row(code: Code, out: str, source: str, itemsize: int, added: DType | None, level: Level) -> None:
    """A contiguous row to one place: copied at once, or added in whole vectors and what is left singly."""
    if added is None:
        nbytes = code.register(f"mul i64 %n, {itemsize}")
        code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {out}, ptr {source}, i64 {nbytes}, i1 0)")
        return
    lanes, type = level.vector_bytes // itemsize, SCALAR_TYPES[added].ir
    vectors = code.register(f"and i64 %n, {-lanes}")
    for kind, start, stop, step in ((f"<{lanes} x {type}>", "0", vectors, lanes), (type, vectors, "%n", 1)):
        with code.loop(start, stop, step) as k:
            _write(code, kind, code.at(out, k, itemsize), code.at(source, k, itemsize), itemsize, added)


def _write(code: Code, type: str, out: str, source: str, itemsize: int, added: DType | None) -> None:
    """Write an element, or a vector of them, or add it to what is at `out`."""
    align = min(itemsize, 4)
    value = code.load(type, source, align)
    if added is not None:
        operation = "add" if "i" in type else "fadd"
        value = code.register(f"{operation} {type} {code.load(type, out, align)}, {value}")
    code.store(type, value, out, align)
