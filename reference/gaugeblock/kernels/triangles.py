"""Kernels that copy one triangle of matrices and write zeros to the rest.

    triangle_kernel(...)(out_ptr, source_ptr, source_ptr, source_ptr, columns, diagonal, work, 2, rows, matrices,
                         strides of the four)

Strides are in bytes. Elements of a row are adjacent; `work` is that of a row. The strides of the third pointer are 1
along the rows and 0 along the matrices, those of the last are 0, so that their distance tells the number of a row where
rows are shared out to threads.
"""

from __future__ import annotations

import functools

from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .isa import Level, current_level
from .pointwise import rows_builtin
from .pointwise_entry import Signature


@functools.cache
def triangle_kernel(itemsize: int, lower: bool) -> Builtin:
    """Return the builtin for elements of `itemsize` bytes. It keeps the lower or upper triangle with its diagonal."""
    level = current_level()
    row = compiler().load(f"triangle {itemsize} {lower} {level.name}", lambda: _text(itemsize, lower, level))
    return rows_builtin("triangle", Signature(1, "mmmiii"), row, [itemsize] * 4, 0, weighted=True)


def _text(size: int, lower: bool, level: Level) -> str:
    code, declarations = Code(), Declarations()
    declarations["memmove"] = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"
    declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    out, source, counted, base = (code.load("ptr", code.slot("%pointers", k)) for k in range(4))
    out_step, source_step = (code.load("i64", code.slot("%strides", k)) for k in range(2))
    columns, diagonal = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
    addresses = [code.register(f"ptrtoint ptr {pointer} to i64") for pointer in (counted, base)]
    begin = code.register(f"sub i64 {addresses[0]}, {addresses[1]}")

    def nbytes(count: str) -> str:
        return code.register(f"mul i64 {count}, {size}")

    def copied(target: str, place: str, count: str) -> None:
        code.line(f"call void @llvm.memmove.p0.p0.i64(ptr {target}, ptr {place}, i64 {nbytes(count)}, i1 false)")

    def cleared(target: str, count: str) -> None:
        code.line(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {nbytes(count)}, i1 false)")

    with code.carry(0, "%n", 1, [("ptr", out), ("ptr", source)]) as loop:
        target, place = loop.values
        row = code.register(f"add i64 {begin}, {loop.index}")
        edge = code.register(f"add i64 {code.register(f'add i64 {row}, {diagonal}')}, {int(lower)}")
        behind = code.register(f"icmp sgt i64 {edge}, 0")
        split = code.minimum(code.register(f"select i1 {behind}, i64 {edge}, i64 0"), columns)
        rest = code.register(f"sub i64 {columns}, {split}")
        later, beyond = code.at(target, split, size), code.at(place, split, size)
        if lower:
            copied(target, place, split)
            cleared(later, rest)
        else:
            cleared(target, split)
            copied(later, beyond, rest)
        loop.following = [code.move(target, out_step), code.move(place, source_step)]
    return row_module(code, declarations, level.attributes)
