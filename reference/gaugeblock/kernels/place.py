"""Kernels that write elements to computed places: out[k + index[k] * pick] = source[k], or += source[k].

    kernel.strided(first)(out_ptr, source_ptr, index_ptr, pick, size, ndim, sizes..., byte strides of the three...)

`pick` is the output's stride in bytes along the dim that the index counts, where its own stride is 0, and `size` that
dim's size. An index outside [0, size) writes nothing; the call then ends with the RuntimeError of a failed guard.
Places that repeat are written in order; only dims from `first` on are shared out among threads.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType, int32
from .code import NAME, Code
from .compiler import Builtin, compiler
from .conversion import lane_type
from .isa import Level, current_level
from .packing import element_type
from .pointwise import strided_address
from .pointwise_entry import Signature
from .rows_driver import rows_driver


class PlaceKernel:
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
            descriptor = [compiler().load(self._text()), *itemsizes, rows_driver(signature.memory), first]
            found = self._strided[first] = compiler().builtin("place", strided_address(signature), descriptor)
        return found

    def _text(self) -> str:
        code = Code()
        out, source, places = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
        to_out, to_source, to_place = (code.load("i64", code.slot("%strides", k)) for k in range(3))
        pick, size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
        fault = code.register("alloca i8")
        code.store("i8", 0, fault, 1)
        type = element_type(self.itemsize) if self.added is None else lane_type(self.added).ir
        align = min(self.itemsize, 4)
        with code.loop(0, "%n") as k:
            place = code.load(f"i{8 * self.index.itemsize}", code.at(places, k, to_place), self.index.itemsize)
            if self.index is int32:
                place = code.register(f"sext i32 {place} to i64")
            outside = code.register(f"icmp uge i64 {place}, {size}")
            with code.when(outside):
                code.store("i8", 1, fault, 1)
            with code.when(code.register(f"xor i1 {outside}, true")):
                value = code.load(type, code.at(source, k, to_source), align)
                target = code.at(code.at(out, k, to_out), place, pick)
                if self.added is not None:
                    operation = "fadd" if self.added.kind == 2 else "add"
                    value = code.register(f"{operation} {type} {code.load(type, target, align)}, {value}")
                code.store(type, value, target, align)
        failed = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
        head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0"
        attributes = f"attributes #0 = {{ {self.level.attributes} }}"
        return "\n".join([code.function(head, f"  ret i1 {failed}"), attributes, ""])


@functools.cache
def _kernel(itemsize: int, index: DType, added: DType | None, level: Level) -> PlaceKernel:
    return PlaceKernel(itemsize, index, added, level)


def place_kernel(itemsize: int, index: DType, added: DType | None = None) -> PlaceKernel:
    """The kernel for elements of `itemsize` bytes and indices of int32 or int64; memoised.

    With `added`, an integer dtype, float32 or float64, elements are added to what lies there.
    """
    return _kernel(itemsize, index, added, current_level())
