"""Kernels that find the runs of equal elements in a row, or of equal rows in a matrix.

    runs_kernel(...)(values_ptr, total_ptr, inverse_ptr, counts_ptr, row_ptr, indices_ptr, 1, n, byte strides...)
    row_runs_kernel(...)(values_ptr, total_ptr, inverse_ptr, counts_ptr, scratch_ptr, rows_ptr, width, 1, n, ...)

They write the first of each run, how many runs there are, for each element or row the number of its run, and the length
of each run. The inverse of a row is written at the indices, which say where an element was before the row was in order;
without them where the element is. The values may take the place of the row, and the counts that of the indices. NaN
equals nothing. All operands are contiguous, and what is not wanted is left out.

Rows that are not taken as they lie are first put in lexicographic order, with NaN last and equal ones in their order,
by a merge sort of their numbers: scratch holds two for each row.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType
from .code import MEMCPY, Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import from_storage, memory, storage_type
from .expression import Expr
from .isa import Level, current_level
from .loops import load_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature


@functools.cache
def runs_kernel(dtype: DType, inverse: bool, counts: bool, indices: bool) -> Builtin:
    """Return the builtin for elements of a dtype that is not complex, which writes inverse and counts if it should, and
    reads indices if there are any; memoised."""
    level = current_level()
    description = f"runs {dtype.name} {inverse} {counts} {indices} {level.name}"
    row = compiler().load(description, lambda: _runs(dtype, inverse, counts, indices, level))
    itemsizes = [dtype.itemsize, 8, *[8] * inverse, *[8] * counts, dtype.itemsize, *[8] * indices]
    made = 2 + inverse + counts
    return rows_builtin("runs", Signature(made, "m" * (len(itemsizes) - made)), row, itemsizes, 1)


@functools.cache
def row_runs_kernel(dtype: DType, inverse: bool, counts: bool, in_order: bool) -> Builtin:
    """Return the builtin for rows of a dtype that is not complex, which are taken `in_order`, as they lie, or put in
    order first, and which have a scratch operand only then; memoised."""
    level = current_level()
    description = f"runs of rows {dtype.name} {inverse} {counts} {in_order} {level.name}"
    row = compiler().load(description, lambda: _row_runs(dtype, inverse, counts, in_order, level))
    itemsizes = [dtype.itemsize, *[8] * (1 + inverse + counts + (not in_order)), dtype.itemsize]
    return rows_builtin("runs of rows", Signature(len(itemsizes) - 1, "mi"), row, itemsizes, 1)


class _Pair:
    """Loads pairs of elements, and compares them."""

    def __init__(self, code: Emitter, dtype: DType, level: Level) -> None:
        self._code, self._dtype, self._level = code, dtype, level
        self.type = storage_type(dtype).ir

    def load(self, place: str) -> Expr:
        """Return the element at a place."""
        operand = memory("x", self._dtype)
        (symbol,) = operand.symbols()
        load_operand(self._code, operand, place, (symbol,))
        return symbol

    def bound(self, register: str) -> Expr:
        """Return the element in a register."""
        (symbol,) = memory("x", self._dtype).symbols()
        self._code.bind(symbol, register)
        return symbol

    def value(self, element: Expr) -> Expr:
        """Return the number that a stored element stands for."""
        value = from_storage((element,), self._dtype, self._level.half_hardware)
        assert isinstance(value, Expr)
        return value

    def differ(self, one: Expr, other: Expr) -> str:
        """Return the i1 that two elements are not equal."""
        return self._code.emit([self.value(one) != self.value(other)])[0]

    def orders(self, one: Expr, other: Expr) -> list[str]:
        """Return the two i1 that the first of two elements comes before the other one, and behind it."""
        a, b = self.value(one), self.value(other)
        if not self._dtype.is_floating_point:
            return self._code.emit([a < b, b < a])
        return self._code.emit([(a < b) | ((b != b) & (a == a)), (b < a) | ((a != a) & (b == b))])


def _runs(dtype: DType, inverse: bool, counts: bool, indices: bool, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    pair, size = _Pair(code, dtype, level), dtype.itemsize
    pointers = iter(range(6))
    values, total, places, lengths, given, order = (
        code.load("ptr", code.slot("%pointers", next(pointers))) if wanted else ""
        for wanted in (True, True, inverse, counts, True, indices)
    )
    start = [("i64", "-1"), ("i64", "0"), (pair.type, "0.0" if storage_type(dtype).is_float else "0")]
    with code.carry(0, "%n", 1, start) as loop:
        run, begin, last = loop.values
        one = pair.load(code.at(given, loop.index, size))
        differs, (element,) = pair.differ(one, pair.bound(last)), code.emit([one])
        new = code.register(f"or i1 {differs}, {code.register(f'icmp eq i64 {loop.index}, 0')}")
        # What equals the one before is stored too, where the next run begins: it is stored over, or beyond the last.
        code.store(pair.type, element, code.at(values, code.register(f"add i64 {run}, 1"), size), size)
        run = code.register(f"add i64 {run}, {code.register(f'zext i1 {new} to i64')}")
        if inverse:
            place = code.load("i64", code.slot(order, loop.index)) if indices else loop.index
            code.store("i64", run, code.slot(places, place))
        if counts:
            begin = code.register(f"select i1 {new}, i64 {loop.index}, i64 {begin}")
            length = code.register(f"sub i64 {code.register(f'add i64 {loop.index}, 1')}, {begin}")
            code.store("i64", length, code.slot(lengths, run))
        loop.following = [run, begin, element]
    code.store("i64", code.register(f"add i64 {loop.results[0]}, 1"), total)
    return row_module(code, declarations, level.attributes)


def _row_runs(dtype: DType, inverse: bool, counts: bool, in_order: bool, level: Level) -> str:
    """LLVM IR of the function of a matrix, named @NAME, and of those that it calls."""
    declarations = Declarations(level.vector_bytes)
    declarations["memcpy"] = MEMCPY
    declarations["same"] = _same(dtype, level, declarations)
    code = Emitter(1, "x", declarations)
    pointers = iter(range(6))
    values, total, places, lengths, order, rows = (
        code.load("ptr", code.slot("%pointers", next(pointers))) if wanted else ""
        for wanted in (True, True, inverse, counts, not in_order, True)
    )
    width = code.load("i64", "%numbers")
    nbytes = code.register(f"mul i64 {width}, {dtype.itemsize}")
    if not in_order:
        declarations["ctlz"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
        declarations["before"] = _before(dtype, level, declarations)
        declarations["order"] = _order()
        order = code.register(f"call ptr @order(ptr {order}, ptr {rows}, i64 {width}, i64 {nbytes}, i64 %n)")
    with code.carry(0, "%n", 1, [("i64", "-1"), ("i64", "0"), ("ptr", rows)]) as loop:
        run, begin, last = loop.values
        place = loop.index if in_order else code.load("i64", code.slot(order, loop.index))
        this = code.at(rows, place, nbytes)
        same = code.register(f"call i1 @same(ptr {last}, ptr {this}, i64 {width})")
        first = code.register(f"icmp eq i64 {loop.index}, 0")
        new = code.register(f"or i1 {first}, {code.register(f'xor i1 {same}, true')}")
        run = code.register(f"add i64 {run}, {code.register(f'zext i1 {new} to i64')}")
        with code.when(new):
            to = code.at(values, run, nbytes)
            code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {this}, i64 {nbytes}, i1 false)")
        if inverse:
            code.store("i64", run, code.slot(places, place))
        if counts:
            begin = code.register(f"select i1 {new}, i64 {loop.index}, i64 {begin}")
            length = code.register(f"sub i64 {code.register(f'add i64 {loop.index}, 1')}, {begin}")
            code.store("i64", length, code.slot(lengths, run))
        loop.following = [run, begin, this]
    code.store("i64", code.register(f"add i64 {loop.results[0]}, 1"), total)
    return row_module(code, declarations, level.attributes)


def _same(dtype: DType, level: Level, declarations: Declarations) -> str:
    """@same(a, b, width): whether two rows are equal."""
    code = Emitter(1, "x", declarations)
    pair = _Pair(code, dtype, level)
    with code.loop(0, "%width") as k:
        one, other = (pair.load(code.at(row, k, dtype.itemsize)) for row in ("%a", "%b"))
        code.leave(pair.differ(one, other), "i1 false")
    return code.function("define internal i1 @same(ptr %a, ptr %b, i64 %width) #0", "  ret i1 true")


def _before(dtype: DType, level: Level, declarations: Declarations) -> str:
    """@before(a, b, width): whether a row comes before another one, to which it is not equal."""
    code = Emitter(1, "x", declarations)
    pair = _Pair(code, dtype, level)
    with code.loop(0, "%width") as k:
        one, other = (pair.load(code.at(row, k, dtype.itemsize)) for row in ("%a", "%b"))
        with code.when(pair.differ(one, other)):
            before, behind = pair.orders(one, other)
            code.leave(code.register(f"or i1 {before}, {behind}"), f"i1 {before}")
    return code.function("define internal i1 @before(ptr %a, ptr %b, i64 %width) #0", "  ret i1 false")


def _order() -> str:
    """@order(scratch, rows, width, nbytes, n): the numbers of rows of so many elements and bytes in their order."""
    code = Emitter(1, "x", Declarations())
    from_right = code.variable("i1", "false", 1)
    other = code.slot("%scratch", "%n")
    with code.loop(0, "%n") as k:
        code.store("i64", k, code.slot("%scratch", k))
    zeros = code.register(f"call i64 @llvm.ctlz.i64(i64 {code.register('sub i64 %n, 1')}, i1 false)")
    passes = code.register(f"sub i64 64, {zeros}")
    with code.carry(0, passes, 1, [("i64", "1"), ("ptr", "%scratch"), ("ptr", other)]) as merges:
        size, source, target = merges.values
        twice = code.register(f"shl i64 {size}, 1")
        with code.loop(0, "%n", twice) as begin:
            middle, end = (code.minimum(code.register(f"add i64 {begin}, {step}"), "%n") for step in (size, twice))
            with code.carry(begin, end, 1, [("i64", begin), ("i64", middle)]) as merge:
                left, right = merge.values
                some = code.register(f"icmp slt i64 {left}, {middle}"), code.register(f"icmp slt i64 {right}, {end}")
                code.store("i1", code.register(f"xor i1 {some[0]}, true"), from_right, 1)
                with code.when(code.register(f"and i1 {some[0]}, {some[1]}")):
                    a, b = (
                        code.at("%rows", code.load("i64", code.slot(source, at)), "%nbytes") for at in (right, left)
                    )
                    before = code.register(f"call i1 @before(ptr {a}, ptr {b}, i64 %width)")
                    code.store("i1", before, from_right, 1)
                taken = code.load("i1", from_right, 1)
                at = code.register(f"select i1 {taken}, i64 {right}, i64 {left}")
                code.store("i64", code.load("i64", code.slot(source, at)), code.slot(target, merge.index))
                step = code.register(f"zext i1 {taken} to i64")
                kept = code.register(f"sub i64 1, {step}")
                merge.following = [code.register(f"add i64 {left}, {kept}"), code.register(f"add i64 {right}, {step}")]
        merges.following = [twice, target, source]
    head = "define internal ptr @order(ptr %scratch, ptr %rows, i64 %width, i64 %nbytes, i64 %n) #0"
    return code.function(head, f"  ret ptr {merges.results[1]}")
