"""Kernels of binary search: where values would be inserted into a row in ascending order, in which NaN is last.

    kernel(out_ptr, values_ptr, sequence_ptr, count, step, ndim, sizes..., byte strides of the three...) -> None

as for pointwise kernels. The sequence has `count` elements, `step` bytes apart; its strides are those from one row to
the next. All searches take the same number of steps, none of which branches on an element.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

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
    zeros = code.register(f"call i64 @llvm.ctlz.i64(i64 {code.register(f'sub i64 {count}, 1')}, i1 false)")
    halvings, back = [code.register(f"sub i64 {whole}, {part}") for whole, part in ((64, zeros), (0, step))]

    def search(row: str, before: Callable[[Expr], Expr]) -> str:
        """Return how many elements of the sequence, the first ones, come before a value."""

        def comes_before(place: str) -> str:
            with code.scope():
                return code.emit([before(_loaded(code, sequence, compute, place, level))])[0]

        with code.carry(0, halvings, 1, [("ptr", row), ("i64", count), ("i64", "0")]) as loop:
            place, many, passed = loop.values
            half = code.register(f"lshr i64 {many}, 1")
            middle = code.at(place, half, step)
            last = code.move(middle, back)
            right = comes_before(last)
            loop.following = [
                code.register(f"select i1 {right}, ptr {middle}, ptr {place}"),
                code.register(f"sub i64 {many}, {half}"),
                code.register(f"select i1 {right}, i64 {code.register(f'add i64 {passed}, {half}')}, i64 {passed}"),
            ]
        place, _, passed = loop.results
        return code.register(f"add i64 {passed}, {code.register(f'zext i1 {comes_before(place)} to i64')}")

    found = code.variable("i64", 0)
    integer = f"i{8 * out.itemsize}"
    empty = code.register(f"icmp eq i64 {count}, 0")
    with code.loop(0, code.register(f"select i1 {empty}, i64 %n, i64 0")) as k:
        code.store(integer, 0, code.at(target, k, steps[0]), out.itemsize)
    with code.loop(0, code.register(f"select i1 {empty}, i64 0, i64 %n")) as k, code.scope():
        row = code.at(first, k, steps[2])
        value = _loaded(code, values, compute, code.at(source, k, steps[1]), level)
        code.emit([value])
        code.store("i64", search(row, lambda element: element <= value if right else element < value), found)
        if value.type.is_float:
            (unordered,) = code.emit([isnan(value)])
            with code.when(unordered):
                behind = count if right else search(row, lambda element: element == element)
                code.store("i64", behind, found)
        place = code.load("i64", found)
        if out.itemsize == 4:
            place = code.register(f"trunc i64 {place} to i32")
        code.store(integer, place, code.at(target, k, steps[0]), out.itemsize)
    return row_module(code, declarations, level.attributes)


def _loaded(code: Emitter, dtype: DType, compute: DType, place: str, level: Level) -> Expr:
    """Load an element, and return it as the dtype that is compared."""
    operand = memory("x", dtype)
    stored = operand.symbols()
    load_operand(code, operand, place, stored)
    value = convert(from_storage(stored, dtype, level.half_hardware), compute)
    assert isinstance(value, Expr)
    return value
