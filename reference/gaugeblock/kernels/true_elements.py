"""Kernels that walk tensors in row-major order and count, note, take or replace the elements where something is true.

    count_kernel(...)(cells_ptr, source_ptr, ...)                        cells[0] += how many elements are not zero
    places_kernel(...)(out_ptr, cells_ptr, source_ptr, 0..., ...)        their places, a column for each zero, one after
                                                                         the other in memory, or row by row
    take_kernel(...)(out_ptr, cells_ptr, source_ptr, mask_ptr, ...)      the elements where the mask is true
    replace_kernel(...)(out_ptr, cell_ptr, self_ptr, mask_ptr, source_ptr, 0, count, ...)
                                                                         those of self, but for the next one of the
                                                                         source where the mask is true

The dots are dims, sizes and byte strides as for pointwise kernels. Of the two 64-bit cells the first is the number of
elements that are true or wanted, and the second how many are done, at first none. An operand at the address 0 is not
read: the address that it comes to tells the place of an element, by strides of 1 along a dim, or those of a row-major
tensor.
A source with fewer elements than there are true ones ends the call with the RuntimeError of a failed guard.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..core.dtype import DType, bool_
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import from_storage, memory
from .expression import BOOL, Complex, Expr
from .isa import Level, current_level
from .loops import load_operand
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .selection import Selection
from .sharing import MAX_DIMS
from .tiles import element_type

AT_ONCE = 8
"""Elements that are replaced in one round of the loop."""


@functools.cache
def count_kernel(dtype: DType) -> Builtin:
    """Return the builtin for elements of a dtype; memoised."""
    return _builtin(f"count true {dtype.name}", Signature(1, "m"), lambda level: _count(dtype, level))


@functools.cache
def places_kernel(dtype: DType, columns: int, by_rows: bool) -> Builtin:
    """Return the builtin for elements of a dtype and their places along so many dims; memoised."""
    name, signature = f"true places {dtype.name} {columns} {by_rows}", Signature(2, "m" * (1 + columns))
    return _builtin(name, signature, lambda level: _places(dtype, columns, by_rows, level))


@functools.cache
def take_kernel(itemsize: int) -> Builtin:
    """Return the builtin for elements of `itemsize` bytes; memoised."""
    return _builtin(f"take true {itemsize}", Signature(2, "mm"), lambda level: _take(itemsize, level))


@functools.cache
def replace_kernel(itemsize: int) -> Builtin:
    """Return the builtin for elements of `itemsize` bytes; memoised."""
    return _builtin(f"replace true {itemsize}", Signature(2, "mmmmi"), lambda level: _replace(itemsize, level))


def _builtin(name: str, signature: Signature, text: Callable[[Level], str]) -> Builtin:
    """Return the builtin, which runs in one thread, of a row function."""
    level = current_level()
    row = compiler().load(f"{name} {level.name}", lambda: text(level))
    return rows_builtin(name, signature, row, [8] * signature.memory, MAX_DIMS)


def _begin(operands: int, level: Level) -> tuple[Emitter, list[str], list[str]]:
    """Return the code with the addresses of the operands and their strides."""
    code = Emitter(1, "x", Declarations(level.vector_bytes))
    pointers, strides = [
        [code.load(type, code.slot(array, k)) for k in range(operands)]
        for type, array in (("ptr", "%pointers"), ("i64", "%strides"))
    ]
    return code, pointers, strides


def _truth(code: Emitter, dtype: DType, place: str, level: Level) -> str:
    """Return whether an element is not zero, or a vector of such answers."""
    operand = memory("x", dtype)
    stored = operand.symbols()
    load_operand(code, operand, place, stored)
    value = from_storage(stored, dtype, level.half_hardware)
    parts: tuple[Expr, ...] = (value.re, value.im) if isinstance(value, Complex) else (value,)
    found = [part if part.type is BOOL else part != (0.0 if part.type.is_float else 0) for part in parts]
    return code.emit([found[0] | found[1] if len(found) == 2 else found[0]])[0]


def _counted(code: Emitter, dtype: DType, source: str, step: str, level: Level) -> str:
    """Return how many elements of a row are not zero."""
    lanes = level.vector_bytes // min(dtype.itemsize, 8) if level.vector_bytes else 1
    adjacent = code.register(f"icmp eq i64 {step}, {dtype.itemsize}")
    stop = code.register(f"select i1 {adjacent}, i64 {code.register(f'and i64 %n, {-lanes}')}, i64 0")
    total, tally = "0", Selection(64, level, code.declarations)
    for width, begin, end in ((lanes, "0", stop), (1, stop, "%n")):
        with code.scope(width), code.carry(begin, end, width, [("i64", total)]) as loop, code.scope():
            truth = _truth(code, dtype, code.at(source, loop.index, step), level)
            loop.following = [code.register(f"add i64 {loop.values[0]}, {tally.lanes_of(code, truth, width)}")]
        (total,) = loop.results
    return total


def _count(dtype: DType, level: Level) -> str:
    code, (cells, source), (_, step) = _begin(2, level)
    total = code.register(f"add i64 {code.load('i64', cells)}, {_counted(code, dtype, source, step, level)}")
    code.store("i64", total, cells)
    return row_module(code, code.declarations, level.attributes)


def _places(dtype: DType, columns: int, by_rows: bool, level: Level) -> str:
    code, (out, cells, source, *at), (_, _, step, *steps) = _begin(3 + columns, level)
    total, done = code.load("i64", cells), code.load("i64", code.slot(cells, 1))
    column, row = ("8", 8 * columns) if by_rows else (code.register(f"mul i64 {total}, 8"), 8)
    targets = [code.at(out, k, column) for k in range(columns)]
    starts = [code.register(f"ptrtoint ptr {place} to i64") for place in at]
    nowhere = code.variable("i64", 0)
    state = [("i64", done), ("ptr", source), *[("i64", start) for start in starts]]
    with code.carry(0, "%n", 1, state) as loop, code.scope():
        done, one, *places = loop.values
        wanted = _truth(code, dtype, one, level)
        fits = code.register(f"and i1 {wanted}, {code.register(f'icmp ult i64 {done}, {total}')}")
        for place, target in zip(places, targets, strict=True):
            code.store("i64", place, _either(code, fits, code.at(target, done, row), nowhere))
        moved = [code.register(f"add i64 {place}, {by}") for place, by in zip(places, steps, strict=True)]
        loop.following = [_one_more(code, done, wanted), code.move(one, step), *moved]
    code.store("i64", loop.results[0], code.slot(cells, 1))
    return row_module(code, code.declarations, level.attributes)


def _take(itemsize: int, level: Level) -> str:
    code, (out, cells, source, mask), (_, _, step, mask_step) = _begin(4, level)
    total, done = code.load("i64", cells), code.load("i64", code.slot(cells, 1))
    type, align = element_type(itemsize), min(itemsize, 4)
    nowhere = code.register(f"alloca {type}")
    with code.carry(0, "%n", 1, [("i64", done), ("ptr", source), ("ptr", mask)]) as loop:
        done, place, chosen = loop.values
        wanted = _is_set(code, chosen)
        fits = code.register(f"and i1 {wanted}, {code.register(f'icmp ult i64 {done}, {total}')}")
        one = code.load(type, place, align)
        code.store(type, one, _either(code, fits, code.at(out, done, itemsize), nowhere), align)
        loop.following = [_one_more(code, done, wanted), code.move(place, step), code.move(chosen, mask_step)]
    code.store("i64", loop.results[0], code.slot(cells, 1))
    return row_module(code, code.declarations, level.attributes)


def _replace(itemsize: int, level: Level) -> str:
    code, pointers, strides = _begin(6, level)
    (out, cell, given, mask, source, place), (step, _, given_step, mask_step, _, _) = pointers, strides
    count = code.load("i64", "%numbers")
    type, align = element_type(itemsize), min(itemsize, 4)
    first = code.register(f"icmp eq ptr {place}, null")
    done = code.register(f"select i1 {first}, i64 0, i64 {code.load('i64', cell)}")
    total = code.register(f"add i64 {done}, {_counted(code, bool_, mask, mask_step, level)}")
    code.leave(code.register(f"icmp sgt i64 {total}, {count}"), "i1 true")
    code.store("i64", total, cell)
    following = code.at(source, done, itemsize)
    places = [(out, step, itemsize), (given, given_step, itemsize), (mask, mask_step, 1)]
    apart = "0"
    for _, by, size in places:
        apart = code.register(f"or i64 {apart}, {code.register(f'xor i64 {by}, {size}')}")
    adjacent = code.register(f"icmp eq i64 {apart}, 0")
    whole = code.register(f"select i1 {adjacent}, i64 {code.register(f'and i64 %n, {-AT_ONCE}')}, i64 0")
    at = [place for place, _, _ in places]
    for begin, end, width in (("0", whole, AT_ONCE), (whole, "%n", 1)):
        with code.carry(begin, end, width, [("ptr", one) for one in (following, *at)]) as loop:
            following, *at = loop.values
            for lane in range(width):
                target, kept, chosen = (
                    code.move(one, lane * size) for one, (_, _, size) in zip(at, places, strict=True)
                )
                wanted = _is_set(code, chosen)
                code.store(type, code.load(type, _either(code, wanted, following, kept), align), target, align)
                taken = code.register(f"zext i1 {wanted} to i64")
                following = code.register(f"getelementptr {type}, ptr {following}, i64 {taken}")
            steps = [by if width == 1 else f"{AT_ONCE * size}" for _, by, size in places]
            loop.following = [following, *map(code.move, at, steps)]
        following, *at = loop.results
    return row_module(code, code.declarations, level.attributes)


def _is_set(code: Emitter, place: str) -> str:
    """Return whether an element of a mask is true."""
    return code.register(f"icmp ne i8 {code.load('i8', place, 1)}, 0")


def _either(code: Emitter, condition: str, then: str, otherwise: str) -> str:
    """Return one of two addresses."""
    return code.register(f"select i1 {condition}, ptr {then}, ptr {otherwise}")


def _one_more(code: Emitter, count: str, condition: str) -> str:
    """Return a count with one added where the condition holds."""
    return code.register(f"add i64 {count}, {code.register(f'zext i1 {condition} to i64')}")
