"""Kernels that copy elements from indexed places: out[k] = source[k + index[k] * step], any strides, any item size.

    kernel.strided(out_ptr, source_ptr, index_ptr, step, size, ndim, sizes..., byte strides of the three...) -> None

`step` is the source's stride in bytes along the dim that the index counts, `size` that dim's size. An index outside
[0, size) reads nothing; the call then ends with the RuntimeError of a failed guard. Along a row with one index for
all its elements (stride 0) the source is copied in one piece.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..core.dtype import DType, int32
from .code import MEMCPY, Code, Declarations, row_module
from .compiler import Builtin, compiler, made_once
from .isa import Level, current_level
from .lower import Emitter
from .pointwise import contiguous_address, rows_builtin
from .pointwise_entry import Signature
from .tiles import element_type

SIGNATURE = Signature(1, "mmii")
Move = Callable[[Emitter, str, str], None]
"""Writes what a kernel does with the place of the output and that of the source."""


class GatherKernel:
    """The kernel for an item size and an index dtype; builtins are made on first use."""

    def __init__(self, itemsize: int, index: DType, level: Level) -> None:
        self.itemsize = itemsize
        self.index = index
        self.level = level
        self.results = (itemsize,)

    @made_once
    def contiguous(self) -> Builtin:
        """The builtin for contiguous operands."""
        return compiler().builtin("gather", contiguous_address(SIGNATURE), self._descriptor)

    @made_once
    def strided(self) -> Builtin:
        """The builtin for any strides."""
        row, *itemsizes = self._descriptor
        return rows_builtin("gather", SIGNATURE, row, itemsizes, 0)

    def tiled(self, apart: tuple[bool, ...]) -> Builtin:
        """As `strided`: single elements are read wherever they are."""
        return self.strided

    @property
    def _descriptor(self) -> list[int]:
        row = compiler().load(f"gather {self.itemsize} {self.index.name} {self.level.name}", self._text)
        return [row, self.itemsize, self.itemsize, self.index.itemsize]

    def _text(self) -> str:
        row, element = (functools.partial(write, itemsize=self.itemsize) for write in (copy_row, copy_element))
        return indexed_text(self.itemsize, self.index, self.level, 1, row, element)


def indexed_text(itemsize: int, index: DType, level: Level, moved: int, row: Move, element: Move) -> str:
    """The module of a row function; `moved` says whether the index moves the place of the output, 0, or the source, 1.

    `row` handles a contiguous row with one index, `element` one element.
    """
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(3)]
    strides = [code.load("i64", code.slot("%strides", k)) for k in range(3)]
    step, size = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
    fault = code.register("alloca i8")
    code.store("i8", 0, fault, 1)
    whole = code.register(f"icmp eq i64 {strides[2]}, 0")
    for stride in strides[:2]:
        contiguous = code.register(f"icmp eq i64 {stride}, {itemsize}")
        whole = code.register(f"and i1 {whole}, {contiguous}")

    def move(write: Move, at: list[str]) -> None:
        place = code.load(f"i{8 * index.itemsize}", at[2], index.itemsize)
        place = code.register(f"sext i32 {place} to i64") if index is int32 else place
        with _within(code, place, size, fault):
            at[moved] = code.at(at[moved], place, step)
            write(code, at[0], at[1])

    with code.when(whole):
        move(row, list(pointers))
    count = code.register(f"select i1 {whole}, i64 0, i64 %n")
    with code.loop(0, count) as k:
        move(element, [code.at(pointer, k, stride) for pointer, stride in zip(pointers, strides, strict=True)])
    failed = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
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


def copy_row(code: Code, out: str, source: str, itemsize: int) -> None:
    """Copy %n elements in a row."""
    nbytes = code.register(f"mul i64 %n, {itemsize}")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {out}, ptr {source}, i64 {nbytes}, i1 0)")


def copy_element(code: Code, out: str, source: str, itemsize: int) -> None:
    """Copy one element."""
    type, align = element_type(itemsize), min(itemsize, 4)
    code.store(type, code.load(type, source, align), out, align)


_kernel = functools.cache(GatherKernel)


def gather_kernel(itemsize: int, index: DType) -> GatherKernel:
    """The kernel for elements of `itemsize` bytes and indices of int32 or int64; memoised."""
    return _kernel(itemsize, index, current_level())
