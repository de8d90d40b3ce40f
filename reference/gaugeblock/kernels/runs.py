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
from .expression import Expr
from .isa import Level, current_level
from .loops import load_value
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature

AT_ONCE = 8
"""Elements that are compared at a time."""


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


def _differ(code: Emitter, dtype: DType, level: Level, one: str, other: str) -> str:
    """Return the i1 that two elements are not equal, or those of as many pairs in a row as a vector has."""
    a, b = (load_value(code, dtype, place, level) for place in (one, other))
    assert isinstance(a, Expr)
    return code.emit([a != b])[0]


def _runs(dtype: DType, inverse: bool, counts: bool, indices: bool, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    size, type = dtype.itemsize, f"i{8 * dtype.itemsize}"
    pointers = iter(range(6))
    values, total, places, lengths, given, order = (
        code.load("ptr", code.slot("%pointers", next(pointers))) if wanted else ""
        for wanted in (True, True, inverse, counts, True, indices)
    )

    def add(index: str, new: str, run: str, begin: str) -> list[str]:
        """Take in an element, whose run is `new` or not; return the number of its run, and where that begins."""
        element = code.load(type, code.at(given, index, size), size)
        # What equals the one before is stored too, where the next run begins: it is stored over, or beyond the last.
        code.store(type, element, code.at(values, code.register(f"add i64 {run}, 1"), size), size)
        run = code.register(f"add i64 {run}, {new}")
        if inverse:
            place = code.load("i64", code.slot(order, index)) if indices else index
            code.store("i64", run, code.slot(places, place))
        if counts:
            first = code.register(f"icmp ne i64 {new}, 0")
            begin = code.register(f"select i1 {first}, i64 {index}, i64 {begin}")
            length = code.register(f"sub i64 {code.register(f'add i64 {index}, 1')}, {begin}")
            code.store("i64", length, code.slot(lengths, run))
        return [run, begin]

    state = add("0", "1", "-1", "0")
    last = [code.variable("i64", one) for one in state]
    others = code.register(f"and i64 {code.register('sub i64 %n, 1')}, {-AT_ONCE}")
    whole = code.register(f"add i64 {others}, 1")
    for start, stop, width in (("1", whole, AT_ONCE), (whole, "%n", 1)):
        with code.loop(start, stop, width) as index:
            this = code.at(given, index, size)
            with code.scope(width):
                differ = _differ(code, dtype, level, code.move(this, -size), this)
                bits = code.register(f"bitcast {code.type('i1')} {differ} to i{width}")
            state = [code.load("i64", one) for one in last]
            several = "true"
            if width > 1 and not inverse and not counts:
                several = code.register(f"icmp ne i{width} {bits}, -1")
                with code.when(code.register(f"xor i1 {several}, true")):
                    taken = code.load(f"<{width} x {type}>", this, size)
                    run = code.register(f"add i64 {state[0]}, 1")
                    code.store(f"<{width} x {type}>", taken, code.at(values, run, size), size)
                    code.store("i64", code.register(f"add i64 {state[0]}, {width}"), last[0])
            with code.when(several):
                bits = code.register(f"zext i{width} {bits} to i64")
                for lane in range(width):
                    new = code.register(f"and i64 {code.register(f'lshr i64 {bits}, {lane}')}, 1")
                    state = add(code.register(f"add i64 {index}, {lane}"), new, *state)
                for place, one in zip(last, state, strict=True):
                    code.store("i64", one, place)
    state = [code.load("i64", one) for one in last]
    code.store("i64", code.register(f"add i64 {state[0]}, 1"), total)
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
    whole = code.register(f"and i64 %width, {-AT_ONCE}")
    for start, stop, width in (("0", whole, AT_ONCE), (whole, "%width", 1)):
        with code.loop(start, stop, width) as k, code.scope(width):
            differ = _differ(code, dtype, level, *[code.at(row, k, dtype.itemsize) for row in ("%a", "%b")])
            bits = code.register(f"bitcast {code.type('i1')} {differ} to i{width}")
            code.leave(code.register(f"icmp ne i{width} {bits}, 0"), "i1 false")
    return code.function("define internal i1 @same(ptr %a, ptr %b, i64 %width) #0", "  ret i1 true")


def _before(dtype: DType, level: Level, declarations: Declarations) -> str:
    """@before(a, b, width): whether a row comes before another one, to which it is not equal."""
    code = Emitter(1, "x", declarations)
    with code.loop(0, "%width") as k:
        a, b = (load_value(code, dtype, code.at(row, k, dtype.itemsize), level) for row in ("%a", "%b"))
        assert isinstance(a, Expr) and isinstance(b, Expr)
        with code.when(code.emit([a != b])[0]):
            before, behind = a < b, b < a
            if dtype.is_floating_point:
                before, behind = before | ((b != b) & (a == a)), behind | ((a != a) & (b == b))
            before_bit, behind_bit = code.emit([before, behind])
            code.leave(code.register(f"or i1 {before_bit}, {behind_bit}"), f"i1 {before_bit}")
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
