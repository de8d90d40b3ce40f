"""Kernels of binary search: where values would be inserted into a row in ascending order, in which NaN is last.

    kernel(out_ptr, values_ptr, sequence_ptr, count, step, ndim, sizes..., byte strides of the three...) -> None

as for pointwise kernels. The sequence has `count` elements, `step` bytes apart; its strides are those from one row to
the next. Each search takes as many steps as `count` has bits, without a branch.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import convert, from_storage, memory
from .expression import Expr
from .functions import isnan
from .isa import Level, current_level
from .loops import load_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature


@functools.cache
def search_kernel(sequence: DType, values: DType, compute: DType, out: DType, right: bool) -> Builtin:
    """Return the builtin that compares in the dtype `compute`; memoised. Places are int32 or int64, with `right` behind
    equal elements."""
    level = current_level()
    given = sequence, values, compute, out
    description = f"search {[one.name for one in given]} {right} {level.name}"
    row = compiler().load(description, lambda: _text(sequence, values, compute, out, right, level))
    return rows_builtin("search", Signature(1, "mmii"), row, [out.itemsize, values.itemsize, sequence.itemsize], 0)


def _text(sequence: DType, values: DType, compute: DType, out: DType, right: bool, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    target, source, first = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
    steps = [code.load("i64", code.slot("%strides", k)) for k in range(3)]
    count, step = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
    declarations["ctlz"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
    zeros = code.register(f"call i64 @llvm.ctlz.i64(i64 {count}, i1 false)")
    bits = code.register(f"sub i64 64, {zeros}")
    with code.loop(0, "%n") as k, code.scope():
        row = code.at(first, k, steps[2])
        value = _loaded(code, values, compute, code.at(source, k, steps[1]), level)
        with code.carry(0, bits, 1, [("i64", "0")]) as loop:
            (found,) = loop.values
            shift = code.register(f"sub i64 {bits}, {code.register(f'add i64 {loop.index}, 1')}")
            probe = code.register(f"add i64 {found}, {code.register(f'shl i64 1, {shift}')}")
            inside = code.register(f"icmp ule i64 {probe}, {count}")
            last = code.register(f"sub i64 {code.register(f'select i1 {inside}, i64 {probe}, i64 1')}, 1")
            with code.scope():
                element = _loaded(code, sequence, compute, code.at(row, last, step), level)
                (before,) = code.emit([~_less(value, element) if right else _less(element, value)])
            moves = code.register(f"and i1 {inside}, {before}")
            loop.following = [code.register(f"select i1 {moves}, i64 {probe}, i64 {found}")]
        place = loop.results[0]
        if out.itemsize == 4:
            place = code.register(f"trunc i64 {place} to i32")
        code.store(f"i{8 * out.itemsize}", place, code.at(target, k, steps[0]), out.itemsize)
    return row_module(code, declarations, level.attributes)


def _loaded(code: Emitter, dtype: DType, compute: DType, place: str, level: Level) -> Expr:
    """Load an element, and return it as the dtype that is compared."""
    operand = memory("x", dtype)
    stored = operand.symbols()
    load_operand(code, operand, place, stored)
    value = convert(from_storage(stored, dtype, level.half_hardware), compute)
    assert isinstance(value, Expr)
    return value


def _less(a: Expr, b: Expr) -> Expr:
    return (a < b) | (isnan(b) & ~isnan(a)) if a.type.is_float else a < b
