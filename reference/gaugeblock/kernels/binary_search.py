"""Kernels of binary search: where values would be inserted into a row in ascending order, in which NaN is last.

    kernel(out_ptr, values_ptr, sequence_ptr, count, step, ndim, sizes..., byte strides of the three...) -> None

as for pointwise kernels. The sequence has `count` elements, `step` bytes apart; its strides are those from one row to
the next. All searches take the same number of steps, none of which branches on an element, several side by side.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial

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

LANES = 8
"""Values that are searched for side by side."""


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
    halvings = code.register(f"sub i64 64, {zeros}")

    def search(rows: Sequence[str], before: Sequence[Callable[[Expr], Expr]]) -> list[str]:
        """Return how many elements of each row, the first ones, come before a value of its own."""

        def passes(row: str, index: str, test: Callable[[Expr], Expr]) -> str:
            with code.scope():
                return code.emit([test(_loaded(code, sequence, compute, code.at(row, index, step), level))])[0]

        with code.carry(0, halvings, 1, [("i64", count), *[("i64", "0") for _ in rows]]) as loop:
            many, *passed = loop.values
            half = code.register(f"lshr i64 {many}, 1")
            last = code.register(f"sub i64 {half}, 1")
            loop.following = [code.register(f"sub i64 {many}, {half}")]
            for row, index, test in zip(rows, passed, before, strict=True):
                right = passes(row, code.register(f"add i64 {index}, {last}"), test)
                mask = code.register(f"sext i1 {right} to i64")  # a select may become a branch
                loop.following.append(code.register(f"add i64 {index}, {code.register(f'and i64 {mask}, {half}')}"))
        found = []
        for row, index, test in zip(rows, loop.results[1:], before, strict=True):
            right = code.register(f"zext i1 {passes(row, index, test)} to i64")
            found.append(code.register(f"add i64 {index}, {right}"))
        return found

    def search_for(begin: str, lanes: int) -> None:
        """Find the places of as many values, side by side: their loads do not wait for each other."""
        places = [code.register(f"add i64 {begin}, {lane}") for lane in range(lanes)]
        rows = [code.at(first, k, steps[2]) for k in places]
        given = [_loaded(code, values, compute, code.at(source, k, steps[1]), level) for k in places]
        code.emit(given)
        tests = [partial(le if right else lt, other=value) for value in given]
        for k, row, value, index in zip(places, rows, given, search(rows, tests), strict=True):
            code.store("i64", index, found)
            if value.type.is_float:
                (unordered,) = code.emit([isnan(value)])
                with code.when(unordered):
                    behind = count if right else search([row], [lambda element: element == element])[0]
                    code.store("i64", behind, found)
            place = code.load("i64", found)
            if out.itemsize == 4:
                place = code.register(f"trunc i64 {place} to i32")
            code.store(integer, place, code.at(target, k, steps[0]), out.itemsize)

    found = code.variable("i64", 0)
    integer = f"i{8 * out.itemsize}"
    empty = code.register(f"icmp eq i64 {count}, 0")
    with code.loop(0, code.register(f"select i1 {empty}, i64 %n, i64 0")) as k:
        code.store(integer, 0, code.at(target, k, steps[0]), out.itemsize)
    end = code.register(f"select i1 {empty}, i64 0, i64 %n")
    whole = code.register(f"and i64 {end}, {-LANES}")
    for begin, stop, lanes in (("0", whole, LANES), (whole, end, 1)):
        with code.loop(begin, stop, lanes) as k, code.scope():
            search_for(k, lanes)
    return row_module(code, declarations, level.attributes)


def lt(element: Expr, other: Expr) -> Expr:
    """Return whether an element comes before a value."""
    return element < other


def le(element: Expr, other: Expr) -> Expr:
    """Return whether an element comes before a value or equals it."""
    return element <= other


def _loaded(code: Emitter, dtype: DType, compute: DType, place: str, level: Level) -> Expr:
    """Load an element, and return it as the dtype that is compared."""
    operand = memory("x", dtype)
    stored = operand.symbols()
    load_operand(code, operand, place, stored)
    value = convert(from_storage(stored, dtype, level.half_hardware), compute)
    assert isinstance(value, Expr)
    return value
