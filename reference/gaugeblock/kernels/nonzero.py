"""A kernel that writes the places of the elements that are not zero, a column for each dim.

    kernel(out_ptr, in_ptr, state_ptr, room, ndim, sizes..., byte strides of the three...) -> None

for sizes and strides innermost first, those of `out` and of the state 0. There is room for so many places in each of
the columns, which follow one another, the one of the outermost dim first; more are left out. The state is int64s: how
many places were found so far, where the row is along each of the outer dims, outermost first, and the sizes of these.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType, bool_
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import convert, from_storage, memory
from .expression import Expr
from .isa import Level, current_level
from .loops import load_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .sharing import MAX_DIMS


@functools.cache
def nonzero_kernel(dtype: DType, ndim: int) -> Builtin:
    """Return the builtin for tensors of a dtype and of one dim or more; memoised."""
    level = current_level()
    row = compiler().load(f"nonzero {dtype.name} {ndim} {level.name}", lambda: _text(dtype, ndim, level))
    return rows_builtin("nonzero", Signature(1, "mmi"), row, [8, dtype.itemsize, 8], MAX_DIMS)


def _text(dtype: DType, ndim: int, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    code = Emitter(1, "x", Declarations(level.vector_bytes))
    out, given, state = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
    step, room = code.load("i64", code.slot("%strides", 1)), code.load("i64", "%numbers")
    before, outer = code.load("i64", state), ndim - 1
    last, spare = code.slot(out, code.register(f"mul i64 {room}, {outer}")), code.register("alloca i64")
    with code.carry(0, "%n", 1, [("i64", before)]) as loop, code.scope():
        found = loop.values[0]
        operand = memory("x", dtype)
        stored = operand.symbols()
        load_operand(code, operand, code.at(given, loop.index, step), stored)
        value = convert(from_storage(stored, dtype, level.half_hardware), bool_)
        assert isinstance(value, Expr)
        (wanted,) = code.emit([value])
        fits = code.register(f"icmp slt i64 {found}, {room}")
        place = code.register(f"select i1 {fits}, ptr {code.slot(last, found)}, ptr {spare}")
        code.store("i64", loop.index, place)
        loop.following = [code.register(f"add i64 {found}, {code.register(f'zext i1 {wanted} to i64')}")]
    after = code.minimum(loop.results[0], room)
    code.store("i64", after, state)
    carry = "1"
    for dim in reversed(range(outer)):
        column = code.slot(out, code.register(f"mul i64 {room}, {dim}"))
        along, size = code.slot(state, 1 + dim), code.load("i64", code.slot(state, 1 + outer + dim))
        here = code.load("i64", along)
        with code.loop(before, after) as k:
            code.store("i64", here, code.slot(column, k))
        following = code.register(f"add i64 {here}, {carry}")
        over = code.register(f"icmp eq i64 {following}, {size}")
        code.store("i64", code.register(f"select i1 {over}, i64 0, i64 {following}"), along)
        carry = code.register(f"zext i1 {over} to i64")
    return row_module(code, code.declarations, level.attributes)
