"""A kernel that finds the runs of equal elements in a row that is in order.

    kernel(values_ptr, counts_ptr, inverse_ptr, total_ptr, ordered_ptr, indices_ptr, 1, n, six byte strides) -> None

It writes the first element of each run, the length of each, how many runs there are and, at the index that an element
had before the row was in order, the number of its run. The first two may take the place of what is read. NaN equals
nothing. Only the stride of the inverse is looked at; the others are those of contiguous operands.
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
def runs_kernel(dtype: DType) -> Builtin:
    """Return the builtin for elements of a dtype that is not complex; memoised."""
    level = current_level()
    row = compiler().load(f"runs {dtype.name} {level.name}", lambda: _text(dtype, level))
    return rows_builtin("runs", Signature(4, "mm"), row, [dtype.itemsize, 8, 8, 8, dtype.itemsize, 8], 1)


def _text(dtype: DType, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    values, counts, inverse, total, ordered, indices = (code.load("ptr", code.slot("%pointers", k)) for k in range(6))
    step = code.load("i64", code.slot("%strides", 2))
    operand, type = memory("x", dtype), storage_type(dtype).ir
    zero = "0.0" if storage_type(dtype).is_float else "0"
    with code.carry(0, "%n", 1, [("i64", "-1"), ("i64", "0"), (type, zero)]) as loop:
        run, start, first = loop.values
        (one,), (kept,) = stored = operand.symbols(), operand.symbols()
        load_operand(code, operand, code.at(ordered, loop.index, dtype.itemsize), (one,))
        code.bind(kept, first)
        this, before = (from_storage(each, dtype, level.half_hardware) for each in stored)
        assert isinstance(this, Expr) and isinstance(before, Expr)
        differs, element = code.emit([this != before, one])
        new = code.register(f"or i1 {differs}, {code.register(f'icmp eq i64 {loop.index}, 0')}")
        run = code.register(f"add i64 {run}, {code.register(f'zext i1 {new} to i64')}")
        start = code.register(f"select i1 {new}, i64 {loop.index}, i64 {start}")
        first = code.register(f"select i1 {new}, {type} {element}, {type} {first}")
        place = code.load("i64", code.at(indices, loop.index, 8))
        code.store("i64", run, code.at(inverse, place, step))
        code.store(type, first, code.at(values, run, dtype.itemsize), dtype.itemsize)
        length = code.register(f"sub i64 {code.register(f'add i64 {loop.index}, 1')}, {start}")
        code.store("i64", length, code.at(counts, run, 8))
        loop.following = [run, start, first]
    code.store("i64", code.register(f"add i64 {loop.results[0]}, 1"), total)
    return row_module(code, declarations, level.attributes)
