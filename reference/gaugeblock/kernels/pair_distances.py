"""A kernel of the distances between all pairs of rows, the first with the second, with the third, and so on.

    kernel(out_ptr, rows_ptr, p, rows, columns, 1, pairs, byte strides of the two) -> None

Rows and distances are contiguous, of float32 or float64; the strides are not looked at. What the differences of two
rows come to is added up in float64, in several lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

from ..core.dtype import DType
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .expression import F64, Expr, constant, select
from .functions import cast, fabs, maximum, mul_add, sqrt
from .isa import Level, current_level
from .logarithm import pow
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature


class Order(NamedTuple):
    """What a difference makes of the value so far, how two values become one, and the distance by the value; the last
    argument of the first and the third is the order."""

    add: Callable[[Expr, Expr, Expr], Expr]
    join: Callable[[Expr, Expr], Expr]
    finish: Callable[[Expr, Expr], Expr]


def _sum(a: Expr, b: Expr) -> Expr:
    return a + b


def _same(total: Expr, p: Expr) -> Expr:
    return total


ORDERS = {
    "0": Order(lambda total, d, p: total + select(d != 0.0, constant(1.0, F64), 0.0), _sum, _same),
    "1": Order(lambda total, d, p: total + fabs(d), _sum, _same),
    "2": Order(lambda total, d, p: mul_add(d, d, total), _sum, lambda total, p: sqrt(total)),
    "inf": Order(lambda total, d, p: maximum(total, fabs(d)), maximum, _same),
    "p": Order(lambda total, d, p: total + pow(fabs(d), p), _sum, lambda total, p: pow(total, 1.0 / p)),
}
"""By name; "p" stands for every other order."""


@functools.cache
def pair_distances_kernel(dtype: DType, order: str) -> Builtin:
    """Return the builtin for a dtype and a name of ORDERS; memoised."""
    level = current_level()
    row = compiler().load(f"pair distances {dtype.name} {order} {level.name}", lambda: _text(dtype, order, level))
    return rows_builtin("pair_distances", Signature(1, "mdii"), row, [dtype.itemsize] * 2, 1)


def _text(dtype: DType, order: str, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    code, type, size = Emitter(1, "x", Declarations(level.vector_bytes)), SCALAR_TYPES[dtype], dtype.itemsize
    add, join, finish = ORDERS[order]
    out, first = (code.load("ptr", code.slot("%pointers", k)) for k in range(2))
    power = code.load("double", "%numbers")
    rows, columns = (code.load("i64", code.slot("%numbers", k)) for k in (1, 2))
    lanes = max(1, level.vector_bytes // size)
    whole = code.register(f"and i64 {columns}, {-lanes}")
    nbytes = code.register(f"mul i64 {columns}, {size}")

    def value(*exprs: Expr) -> str:
        with code.scope():
            return code.emit(exprs)[0]

    def bound(*names: str) -> list[Expr]:
        found = [Expr("argument", F64) for _ in names]
        code.bind_all(found, names)
        return found

    def added(width: int, begin: str, end: str, start: str, one: str, other: str) -> str:
        """Return the value, of one lane or of vectors, after some of the columns."""
        with code.scope(width), code.carry(begin, end, width, [(code.type(F64), start)]) as loop:
            given = [Expr("argument", type) for _ in range(2)]
            at = [code.load(code.type(type), code.at(row, loop.index, size), size) for row in (one, other)]
            code.bind_all(given, at)
            total, p = bound(loop.values[0], code.splat(power, F64))
            loop.following = [value(add(total, cast(given[0] - given[1], F64), p))]
        return loop.results[0]

    with code.carry(0, rows, 1, [("ptr", first), ("ptr", out)]) as each:
        one, target = each.values
        following = code.move(one, nbytes)
        left = code.register(f"sub i64 {rows}, {each.index}")
        with code.carry(1, left, 1, [("ptr", following), ("ptr", target)]) as pair:
            other, place = pair.values
            total = added(lanes, "0", whole, "zeroinitializer" if lanes > 1 else "0.0", one, other)
            width = lanes
            while width > 1:
                width //= 2
                halves = [
                    code.register(
                        f"shufflevector <{2 * width} x double> {total}, <{2 * width} x double> poison, <{width} x i32> "
                        f"<{', '.join(f'i32 {k}' for k in range(start, start + width))}>"
                    )
                    if width > 1 else code.register(f"extractelement <2 x double> {total}, i32 {start}")
                    for start in (0, width)
                ]  # fmt: skip
                with code.scope(width):
                    total = value(join(*bound(*halves)))
            total = added(1, whole, columns, total, one, other)
            distance, p = bound(total, power)
            found = value(cast(finish(distance, p), type))
            code.store(type.ir, found, place, size)
            pair.following = [code.move(other, nbytes), code.move(place, size)]
        each.following = [following, pair.results[1]]
    return row_module(code, code.declarations, level.attributes)
