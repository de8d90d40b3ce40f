"""Kernels that copy elements from computed places: out[k] = source[k + index[k] * pick], any strides, any item size.

    kernel.strided(out_ptr, source_ptr, index_ptr, pick, size, ndim, sizes..., byte strides of the three...) -> None

`pick` is the source's stride in bytes along the dim that the index counts, `size` that dim's size. An index outside
[0, size) reads nothing; the call then ends with the RuntimeError of a failed guard. Along a row with one index for
all its elements (stride 0) the source is copied in one piece.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType, int32
from .code import NAME, Code
from .compiler import Builtin, compiler
from .isa import Level, current_level
from .pointwise import contiguous_address, strided_address
from .pointwise_entry import Signature, rows_driver
from .tiles import element_type


class GatherKernel:
    """The kernel for an item size and an index dtype; builtins are made on first use."""

    __slots__ = ("contiguous", "index", "itemsize", "level", "results", "strided")

    contiguous: Builtin
    strided: Builtin

    def __init__(self, itemsize: int, index: DType, level: Level) -> None:
        self.itemsize = itemsize
        self.index = index
        self.level = level
        self.results = (itemsize,)

    def __getattr__(self, attribute: str) -> Builtin:
        if attribute not in ("contiguous", "strided"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {attribute!r}")
        description = f"pick {self.itemsize} {self.index.name} {self.level.name}"
        row = compiler().load(description, lambda: _text(self.itemsize, self.index, self.level))
        signature = Signature(1, "mmii")
        descriptor = [row, self.itemsize, self.itemsize, self.index.itemsize]
        address = contiguous_address(signature)
        if attribute == "strided":
            address = strided_address(signature)
            descriptor += [rows_driver(signature.memory), 0]
        builtin = compiler().builtin("pick", address, descriptor)
        setattr(self, attribute, builtin)
        return builtin

    def tiled(self, apart: tuple[bool, ...]) -> Builtin:
        """As `strided`: single elements are read wherever they lie."""
        return self.strided


def _text(itemsize: int, index: DType, level: Level) -> str:
    code = Code()
    out, source, places = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
    to_out, to_source, to_place = (code.load("i64", code.slot("%strides", k)) for k in range(3))
    pick, size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
    fault = code.register("alloca i8")
    code.store("i8", 0, fault, 1)
    single = code.register(f"icmp eq i64 {to_place}, 0")
    whole = single
    for stride in (to_out, to_source):
        packed = code.register(f"icmp eq i64 {stride}, {itemsize}")
        whole = code.register(f"and i1 {whole}, {packed}")
    with code.when(whole):
        place = _place(code, places, index, size, fault)
        nbytes = code.register(f"mul i64 %n, {itemsize}")
        begin = code.at(source, place, pick)
        code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {out}, ptr {begin}, i64 {nbytes}, i1 0)")
    count = code.register(f"select i1 {whole}, i64 0, i64 %n")
    type, align = element_type(itemsize), min(itemsize, 4)
    with code.loop(0, count) as k:
        place = _place(code, code.at(places, k, to_place), index, size, fault)
        value = code.load(type, code.at(code.at(source, k, to_source), place, pick), align)
        code.store(type, value, code.at(out, k, to_out), align)
    failed = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0"
    memcpy = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    attributes = f"attributes #0 = {{ {level.attributes} }}"
    return "\n".join([code.function(head, f"  ret i1 {failed}"), memcpy, attributes, ""])


def _place(code: Code, pointer: str, index: DType, size: str, fault: str) -> str:
    """The index at a pointer as i64; outside [0, size) it is noted as a fault and 0 is taken."""
    bits = 8 * index.itemsize
    value = code.load(f"i{bits}", pointer, index.itemsize)
    if index is int32:
        value = code.register(f"sext i32 {value} to i64")
    outside = code.register(f"icmp uge i64 {value}, {size}")
    with code.when(outside):
        code.store("i8", 1, fault, 1)
    return code.register(f"select i1 {outside}, i64 0, i64 {value}")


@functools.cache
def _kernel(itemsize: int, index: DType, level: Level) -> GatherKernel:
    return GatherKernel(itemsize, index, level)


def gather_kernel(itemsize: int, index: DType) -> GatherKernel:
    """The kernel for elements of `itemsize` bytes and indices of int32 or int64; memoised."""
    return _kernel(itemsize, index, current_level())
