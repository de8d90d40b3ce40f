"""Kernels that write elements to computed places: out[k + index[k] * pick] = source[k], or += source[k].

    kernel.strided(first)(out_ptr, source_ptr, index_ptr, pick, size, ndim, sizes..., byte strides of the three...)

`pick` is the output's stride in bytes along the dim that the index counts, where its own stride is 0, and `size` that
dim's size. An index outside [0, size) writes nothing; the call then ends with the RuntimeError of a failed guard.
Places that repeat are written in order; only dims from `first` on are shared out among threads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.dtype import DType, int32
from .code import NAME, Code
from .compiler import Builtin, compiler
from .conversion import scalar_type
from .isa import Level, current_level
from .pointwise import strided_address
from .pointwise_entry import Signature, rows_driver
from .tiles import element_type

MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


class ScatterKernel:
    """The kernel for elements of `itemsize` bytes and an index dtype; it adds where `added` is the elements' dtype."""

    __slots__ = ("_strided", "added", "index", "itemsize", "level")

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
            signature = Signature(1, "mmii")
            itemsizes = (self.itemsize, self.itemsize, self.index.itemsize)
            added = None if self.added is None else self.added.name
            description = f"place {self.itemsize} {self.index.name} {added} {self.level.name}"
            descriptor = [compiler().load(description, self._text), *itemsizes, rows_driver(signature.memory), first]
            found = self._strided[first] = compiler().builtin("place", strided_address(signature), descriptor)
        return found

    def _text(self) -> str:
        code = Code()
        out, source, places = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
        to_out, to_source, to_place = (code.load("i64", code.slot("%strides", k)) for k in range(3))
        pick, size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
        fault = code.register("alloca i8")
        code.store("i8", 0, fault, 1)
        whole = code.register(f"icmp eq i64 {to_place}, 0")
        for stride in (to_out, to_source):
            packed = code.register(f"icmp eq i64 {stride}, {self.itemsize}")
            whole = code.register(f"and i1 {whole}, {packed}")
        with code.when(whole):
            place = self._place(code, places)
            with self._inside(code, place, size, fault):
                self._row(code, code.at(out, place, pick), source)
        count = code.register(f"select i1 {whole}, i64 0, i64 %n")
        with code.loop(0, count) as k:
            place = self._place(code, code.at(places, k, to_place))
            with self._inside(code, place, size, fault):
                target = code.at(code.at(out, k, to_out), place, pick)
                self._write(code, self._type, target, code.at(source, k, to_source))
        failed = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
        head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0"
        attributes = f"attributes #0 = {{ {self.level.attributes} }}"
        return "\n".join([code.function(head, f"  ret i1 {failed}"), MEMCPY, attributes, ""])

    @property
    def _type(self) -> str:
        return element_type(self.itemsize) if self.added is None else scalar_type(self.added).ir

    def _place(self, code: Code, pointer: str) -> str:
        """The index at a pointer as i64."""
        place = code.load(f"i{8 * self.index.itemsize}", pointer, self.index.itemsize)
        return code.register(f"sext i32 {place} to i64") if self.index is int32 else place

    @contextmanager
    def _inside(self, code: Code, place: str, size: str, fault: str) -> Iterator[None]:
        """A block for an index within [0, size); any other is noted as a fault."""
        outside = code.register(f"icmp uge i64 {place}, {size}")
        with code.when(outside):
            code.store("i8", 1, fault, 1)
        with code.when(code.register(f"xor i1 {outside}, true")):
            yield

    def _row(self, code: Code, target: str, source: str) -> None:
        """A packed row to one place: copied at once, or added in whole vectors and what is left singly."""
        if self.added is None:
            nbytes = code.register(f"mul i64 %n, {self.itemsize}")
            code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {nbytes}, i1 0)")
            return
        lanes = self.level.vector_bytes // self.itemsize
        vectors = code.register(f"and i64 %n, {-lanes}")
        parts = ((f"<{lanes} x {self._type}>", "0", vectors, lanes), (self._type, vectors, "%n", 1))
        for type, start, stop, step in parts:
            with code.loop(start, stop, step) as k:
                self._write(code, type, code.at(target, k, self.itemsize), code.at(source, k, self.itemsize))

    def _write(self, code: Code, type: str, target: str, source: str) -> None:
        """Write or add what lies at `source`, one element or a vector of them."""
        align = min(self.itemsize, 4)
        value = code.load(type, source, align)
        if self.added is not None:
            operation = "fadd" if self.added.kind == 2 else "add"
            value = code.register(f"{operation} {type} {code.load(type, target, align)}, {value}")
        code.store(type, value, target, align)


@functools.cache
def _kernel(itemsize: int, index: DType, added: DType | None, level: Level) -> ScatterKernel:
    return ScatterKernel(itemsize, index, added, level)


def scatter_kernel(itemsize: int, index: DType, added: DType | None = None) -> ScatterKernel:
    """The kernel for elements of `itemsize` bytes and indices of int32 or int64; memoised.

    With `added`, an integer dtype, float32 or float64, elements are added to what lies there.
    """
    return _kernel(itemsize, index, added, current_level())
