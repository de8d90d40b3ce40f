"""Calls that compare two tensors element by element, up to the first block of a row that differs.

    call(self, other) -> True or False

The call is one builtin in machine code. It returns None for an object whose class is not Tensor, and where all that it
compared is the same but the tensors have more elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.dtype import DType
from ..core.sealed import OFFSETS
from ..tensor.tensor import Tensor
from .code import NAME, Declarations
from .compiler import compiler
from .conversion import SCALAR_TYPES, from_storage, memory
from .entry import python_api
from .isa import Level, current_level
from .loops import load_operand
from .lower import Emitter
from .object_code import NONE, TYPE

DESCRIPTOR = bytes.__basicsize__ - 1
"""Offset of the ints in the bytes object that is the builtin's self: the class of tensors, what to return where all is
the same, sizes of the rows' dim and of rows, then byte strides of both operands along these."""

BLOCK = 32
"""Vectors of a row, or single elements, that are compared before the call may stop."""


def equality_call(
    dtype: DType, sizes: tuple[int, int], rows: tuple[int, int], steps: tuple[int, int], *, more: bool = False
) -> Callable[[Any, Any], bool | None]:
    """Return the call for two operands of a real dtype, with `sizes` of a row and of the dim of rows. `steps` are the
    byte strides of the operands within a row, `rows` those from row to row. `more` says whether the tensors have more
    elements."""
    level, packed = current_level(), steps == (dtype.itemsize, dtype.itemsize)
    address = compiler().load(f"equality {dtype.name} {packed} {level.name}", lambda: _text(dtype, packed, level))
    return compiler().builtin("equal", address, [id(Tensor), id(None if more else True), *sizes, *steps, *rows])


def _text(dtype: DType, packed: bool, level: Level) -> str:
    """LLVM IR of the builtin, named @NAME."""
    declarations = Declarations(level.vector_bytes)
    code = Emitter(1, "x", declarations)
    tensor, same, length, rows, *strides = (
        code.load("i64", code.slot(code.move("%self", DESCRIPTOR), place), 1) for place in range(8)
    )
    operands = [code.load("ptr", code.slot("%args", place)) for place in range(2)]
    for operand in operands:
        kind = code.register(f"ptrtoint ptr {code.load('ptr', code.move(operand, TYPE))} to i64")
        with code.ending(code.register(f"icmp ne i64 {kind}, {tensor}")):
            _return(code, NONE)
    addresses = [code.load("ptr", code.move(operand, OFFSETS[Tensor]["_pointer"])) for operand in operands]
    numbers = [code.register(f"call i64 @PyLong_AsLongLong(ptr {address})") for address in addresses]
    firsts = [code.register(f"inttoptr i64 {number} to ptr") for number in numbers]
    width = max(1, level.vector_bytes * 8 // SCALAR_TYPES[dtype].bits) if packed else 1
    stop = code.register(f"and i64 {length}, {-width}")
    with code.loop(0, rows) as row:
        starts = [code.at(first, row, stride) for first, stride in zip(firsts, strides[2:], strict=True)]
        for wide, span in ((width, ("0", stop)), (1, (stop, length))):
            with code.loop(*span, BLOCK * wide) as begin:
                end = code.minimum(code.register(f"add i64 {begin}, {BLOCK * wide}"), span[1])
                alike = _block(code, dtype, wide, (begin, end), starts, strides[:2], level)
                with code.ending(code.register(f"xor i1 {alike}, true")):
                    _return(code, "@_Py_FalseStruct")
    outcome = code.register(f"inttoptr i64 {same} to ptr")
    code.line(f"call void @Py_IncRef(ptr {outcome})")
    head = f"define ptr @{NAME}(ptr %self, ptr %args, i64 %nargs) #0"
    return python_api(f"{code.function(head, f'  ret ptr {outcome}')}\n{declarations.text(level.attributes)}")


def _block(
    code: Emitter, dtype: DType, width: int, span: tuple[str, str], starts: Sequence[str], steps: Sequence[str],
    level: Level,
) -> str:  # fmt: skip
    """Return the i1 that says whether a block of two rows is the same."""
    with code.scope(width):
        type = code.type("i1")
        first = code.register(f"icmp eq {code.type('i8')} zeroinitializer, zeroinitializer")
        with code.carry(*span, width, [(type, first)]) as loop:
            values = []
            for name, start, step in zip("ab", starts, steps, strict=True):
                operand = memory(name, dtype)
                stored = operand.symbols()
                load_operand(code, operand, code.at(start, loop.index, step), stored)
                values.append(from_storage(stored, dtype, level.half_hardware))
            (same,) = code.emit([values[0] == values[1]])
            loop.following = [code.register(f"and {type} {loop.values[0]}, {same}")]
        (found,) = loop.results
    if width == 1:
        return found
    name = f"llvm.vector.reduce.and.v{width}i1"
    code.declarations[name] = f"declare i1 @{name}(<{width} x i1>)"
    return code.register(f"call i1 @{name}(<{width} x i1> {found})")


def _return(code: Emitter, value: str) -> None:
    code.line(f"call void @Py_IncRef(ptr {value})")
    code.line(f"ret ptr {value}")
