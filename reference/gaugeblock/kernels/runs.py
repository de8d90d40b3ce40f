"""A kernel that finds the runs of equal elements in a row.

    kernel(values_ptr, counts_ptr, inverse_ptr, total_ptr, row_ptr, indices_ptr, 1, n, six byte strides) -> None

It writes the first element of each run, the length of each, for each element the number of its run, and how many runs
there are. The inverse is written at the indices, which say where an element was before the row was in order; without
them where the element is. The values may take the place of the row, and the counts that of the indices. NaN equals
nothing. All operands are contiguous, and what is not wanted is not looked at.
"""

from __future__ import annotations

import functools

from ..core.dtype import DType
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import from_storage, memory, storage_type
from .expression import Expr
from .isa import Level, current_level
from .loops import load_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature


@functools.cache
def runs_kernel(dtype: DType, counts: bool, inverse: bool, indices: bool) -> Builtin:
    """Return the builtin for elements of a dtype that is not complex, which writes counts and inverse if it should, and
    reads indices if there are any; memoised."""
    level = current_level()
    description = f"runs {dtype.name} {counts} {inverse} {indices} {level.name}"
    row = compiler().load(description, lambda: _text(dtype, counts, inverse, indices, level))
    return rows_builtin("runs", Signature(4, "mm"), row, [dtype.itemsize, 8, 8, 8, dtype.itemsize, 8], 1)


def _text(dtype: DType, counts: bool, inverse: bool, indices: bool, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    values, lengths, places, total, given, order = (code.load("ptr", code.slot("%pointers", k)) for k in range(6))
    operand, type = memory("x", dtype), storage_type(dtype).ir
    zero = "0.0" if storage_type(dtype).is_float else "0"
    with code.carry(0, "%n", 1, [("i64", "-1"), ("i64", "0"), (type, zero), (type, zero)]) as loop:
        run, start, first, last = loop.values
        (one,), (kept,) = stored = operand.symbols(), operand.symbols()
        load_operand(code, operand, code.at(given, loop.index, dtype.itemsize), (one,))
        code.bind(kept, last)
        this, before = (from_storage(each, dtype, level.half_hardware) for each in stored)
        assert isinstance(this, Expr) and isinstance(before, Expr)
        differs, element = code.emit([this != before, one])
        new = code.register(f"or i1 {differs}, {code.register(f'icmp eq i64 {loop.index}, 0')}")
        run = code.register(f"add i64 {run}, {code.register(f'zext i1 {new} to i64')}")
        first = code.register(f"select i1 {new}, {type} {element}, {type} {first}")
        if inverse:
            place = code.load("i64", code.slot(order, loop.index)) if indices else loop.index
            code.store("i64", run, code.slot(places, place))
        code.store(type, first, code.at(values, run, dtype.itemsize), dtype.itemsize)
        if counts:
            start = code.register(f"select i1 {new}, i64 {loop.index}, i64 {start}")
            length = code.register(f"sub i64 {code.register(f'add i64 {loop.index}, 1')}, {start}")
            code.store("i64", length, code.slot(lengths, run))
        loop.following = [run, start, first, element]
    code.store("i64", code.register(f"add i64 {loop.results[0]}, 1"), total)
    return row_module(code, declarations, level.attributes)
