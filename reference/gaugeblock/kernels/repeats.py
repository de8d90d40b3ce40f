"""Kernels that repeat places: 0 so many times as the first of some counts says, then 1, and so on.

    total_kernel(...)(cells_ptr, counts_ptr, 1, n, 0, byte stride)         cells: the sum of the counts, at most
                                                                           2**63 - 1, and the smallest count or 0
    repeat_kernel(...)(out_ptr, counts_ptr, total, 1, n, 0, byte stride)   the places, `total` in all
"""

from __future__ import annotations

import functools

from ..core.dtype import DType
from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .isa import Level, current_level
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .selection import repeated, vector_type

AT_ONCE = 8
"""Places that are stored together where a count is not larger; those too many are stored over."""


@functools.cache
def total_kernel(dtype: DType) -> Builtin:
    """Return the builtin for counts of int32 or int64; memoised."""
    level = current_level()
    row = compiler().load(f"total of counts {dtype.name} {level.name}", lambda: _total(dtype, level))
    return rows_builtin("total", Signature(1, "m"), row, [8, dtype.itemsize], 1)


@functools.cache
def repeat_kernel(dtype: DType) -> Builtin:
    """Return the builtin for counts and places of int32 or int64; memoised."""
    level = current_level()
    row = compiler().load(f"repeated places {dtype.name} {level.name}", lambda: _repeat(dtype, level))
    return rows_builtin("repeat", Signature(1, "mi"), row, [dtype.itemsize] * 2, 1)


def _count(code: Code, dtype: DType, place: str) -> str:
    """Return a count as an i64."""
    one = code.load(f"i{8 * dtype.itemsize}", place, dtype.itemsize)
    return one if dtype.itemsize == 8 else code.register(f"sext i32 {one} to i64")


def _total(dtype: DType, level: Level) -> str:
    code, declarations = Code(), Declarations()
    cells, source = (code.load("ptr", code.slot("%pointers", k)) for k in range(2))
    step = code.load("i64", code.slot("%strides", 1))
    declarations["sadd"] = "declare i64 @llvm.sadd.sat.i64(i64, i64)"
    with code.carry(0, "%n", 1, [("i64", "0"), ("i64", "0"), ("ptr", source)]) as loop:
        total, least, place = loop.values
        count = _count(code, dtype, place)
        total = code.register(f"call i64 @llvm.sadd.sat.i64(i64 {total}, i64 {count})")
        loop.following = [total, code.minimum(least, count), code.move(place, step)]
    for k in range(2):
        code.store("i64", loop.results[k], code.slot(cells, k))
    return row_module(code, declarations, level.attributes)


def _repeat(dtype: DType, level: Level) -> str:
    code, size, type = Code(), dtype.itemsize, f"i{8 * dtype.itemsize}"
    out, source = (code.load("ptr", code.slot("%pointers", k)) for k in range(2))
    step, total = code.load("i64", code.slot("%strides", 1)), code.load("i64", "%numbers")
    vector = vector_type(type, AT_ONCE)
    with code.carry(0, "%n", 1, [("ptr", out), ("ptr", source), ("i64", total)]) as loop:
        target, place, left = loop.values
        given = _count(code, dtype, place)
        fits = code.register(f"icmp ule i64 {given}, {left}")  # unless another thread has changed a count
        count = code.register(f"select i1 {fits}, i64 {given}, i64 0")
        number = loop.index if size == 8 else code.register(f"trunc i64 {loop.index} to {type}")
        room = code.register(f"icmp uge i64 {left}, {AT_ONCE}")
        few = code.register(f"and i1 {code.register(f'icmp ule i64 {count}, {AT_ONCE}')}, {room}")
        with code.when(few):
            code.store(vector, repeated(code, type, number, AT_ONCE), target, size)
        with code.loop(0, code.register(f"select i1 {few}, i64 0, i64 {count}")) as k:
            code.store(type, number, code.at(target, k, size), size)
        left = code.register(f"sub i64 {left}, {count}")
        loop.following = [code.at(target, count, size), code.move(place, step), left]
    return row_module(code, Declarations(), level.attributes)
