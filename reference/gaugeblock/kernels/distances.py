"""Kernels of distances between rows: of all rows of two matrices, and of all pairs of rows of one.

    distances(out_ptr, left_ptr, panels_ptr, columns, count, work, ndim, sizes..., strides of the three...) -> None
    pair_distances(out_ptr, rows_ptr, rows_ptr, p, rows, columns, work, 1, (rows + 1) // 2, 0, 0, 1) -> None

Strides are in bytes. The first is Euclidean. Dimension 0 are the rows of the left matrix, whose elements are adjacent,
as are those of the result; the others are those of a batch. Rows of the right matrix lie in panels, `panel` of them
each: all first elements, all second ones and so on, the last panel filled up. `work` is that of a row of the result. A
block of the result is BLOCK rows by a panel, so that elements that were loaded serve several distances. Sums of CHUNK
squares are added up, for the sake of accuracy.

The second goes through the pairs of a row with those behind it, and then of the row as far from the end, so that all
these steps, which threads share, are of the same work, that of `work` elements. Strides tell the number of the first
step. Rows and distances are contiguous, of float32 or float64. What the differences of two rows come to is added up in
float64, in several lanes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..core.dtype import DType, float32
from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .expression import F64, Expr, constant, select
from .functions import cast, fabs, maximum, mul_add, sqrt
from .isa import Level, current_level
from .logarithm import pow
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .selection import repeated

BLOCK, VECTORS, CHUNK = 4, 2, 128


def panel(dtype: DType) -> int:
    """Return how many rows are in a panel."""
    return VECTORS * _lanes(dtype, current_level())


def _lanes(dtype: DType, level: Level) -> int:
    return max(2, level.vector_bytes // dtype.itemsize)


@functools.cache
def distances_kernel(dtype: DType) -> Builtin:
    """Return the builtin for float32 or float64; memoised."""
    level = current_level()
    row = compiler().load(f"distances {dtype.name} {level.name}", lambda: _Writer(dtype, level).text())
    return rows_builtin("distances", Signature(1, "mmiii"), row, [dtype.itemsize] * 3, 0, weighted=True)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(self, dtype: DType, level: Level) -> None:
        self.level, self.size, self.lanes = level, dtype.itemsize, _lanes(dtype, level)
        self.type, suffix = ("float", "f32") if dtype is float32 else ("double", "f64")
        self.vector, self.suffix = f"<{self.lanes} x {self.type}>", f"v{self.lanes}{suffix}"
        self.code, self.declarations = Code(), Declarations(level.vector_bytes)

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        vector, masks = self.vector, f"<{self.lanes} x i1>"
        self.declarations |= {
            "sqrt": f"declare {vector} @llvm.sqrt.{self.suffix}({vector})",
            "fmuladd": f"declare {vector} @llvm.fmuladd.{self.suffix}({vector}, {vector}, {vector})",
            "store": f"declare void @llvm.masked.store.{self.suffix}.p0({vector}, ptr, i32, {masks})",
        }
        code, width = self.code, VECTORS * self.lanes
        self.out, self.left, panels = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
        self.steps = [code.load("i64", code.slot("%strides", k)) for k in range(2)]
        self.columns, count = (code.load("i64", code.slot("%numbers", k)) for k in range(2))
        panel_bytes = code.register(f"mul i64 {self.columns}, {width * self.size}")
        several = code.register(f"and i64 %n, {-BLOCK}")
        with code.loop(0, count, width) as first:
            here = code.at(panels, code.register(f"udiv i64 {first}, {width}"), panel_bytes)
            left = code.register(f"sub i64 {count}, {first}")
            for rows, begin, end in ((BLOCK, "0", several), (1, several, "%n")):
                with code.loop(begin, end, rows) as row:
                    self._block(rows, row, here, first, left)
        return row_module(code, self.declarations, self.level.attributes)

    def _block(self, rows: int, row: str, panel: str, first: str, left: str) -> None:
        """Write the distances of some rows, from `row` on, to those of a panel, of which `left` are wanted."""
        code, zeros = self.code, [(self.vector, "zeroinitializer")] * (rows * VECTORS)
        numbers = [code.register(f"add i64 {row}, {k}") for k in range(rows)]
        lefts = [code.at(self.left, number, self.steps[1]) for number in numbers]
        with code.carry(0, self.columns, CHUNK, zeros) as chunks:
            end = code.minimum(code.register(f"add i64 {chunks.index}, {CHUNK}"), self.columns)
            with code.carry(chunks.index, end, 1, zeros) as loop:
                loop.following = self._squares(loop.index, lefts, panel, loop.values)
            chunks.following = [
                code.register(f"fadd {self.vector} {total}, {some}")
                for total, some in zip(chunks.values, loop.results, strict=True)
            ]
        sums = iter(chunks.results)
        for number in numbers:
            place = code.at(code.at(self.out, number, self.steps[0]), first, self.size)
            for k in range(VECTORS):
                root = code.register(f"call {self.vector} @llvm.sqrt.{self.suffix}({self.vector} {next(sums)})")
                self._store(root, code.move(place, k * self.lanes * self.size), left, k * self.lanes)

    def _squares(self, column: str, lefts: Sequence[str], panel: str, sums: Sequence[str]) -> list[str]:
        """Return the sums with the squares of the differences in a column."""
        code, vector = self.code, self.vector
        place = code.at(panel, column, VECTORS * self.lanes * self.size)
        rights = [code.load(vector, code.move(place, k * self.lanes * self.size), self.size) for k in range(VECTORS)]
        found = []
        for k, left in enumerate(lefts):
            one = code.load(self.type, code.at(left, column, self.size), self.size)
            spread = repeated(code, self.type, one, self.lanes)
            for right, total in zip(rights, sums[k * VECTORS : (k + 1) * VECTORS], strict=True):
                difference = code.register(f"fsub {vector} {spread}, {right}")
                given = f"{vector} {difference}, {vector} {difference}, {vector} {total}"
                found.append(code.register(f"call {vector} @llvm.fmuladd.{self.suffix}({given})"))
        return found

    def _store(self, value: str, place: str, left: str, before: int) -> None:
        """Store the lanes of a vector that are wanted: all but `before` of those that are left."""
        code, lanes = self.code, self.lanes
        whole = code.register(f"icmp sge i64 {left}, {before + lanes}")
        with code.when(whole):
            code.store(self.vector, value, place, self.size)
        with code.when(code.register(f"xor i1 {whole}, true")):
            rest = repeated(code, "i64", code.register(f"sub i64 {left}, {before}"), lanes)
            numbers = ", ".join(f"i64 {k}" for k in range(lanes))
            mask = code.register(f"icmp sgt <{lanes} x i64> {rest}, <{numbers}>")
            given = f"{self.vector} {value}, ptr {place}, i32 {self.size}, <{lanes} x i1> {mask}"
            code.line(f"call void @llvm.masked.store.{self.suffix}.p0({given})")


class Order(NamedTuple):
    """An order of distance: adds a difference to a partial value, joins two partial values, and turns the value into
    the distance. The last argument of the first and the third is the order as a number."""

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
    row = compiler().load(f"pair distances {dtype.name} {order} {level.name}", lambda: _pairs_text(dtype, order, level))
    return rows_builtin("pair_distances", Signature(1, "mmdiii"), row, [dtype.itemsize] * 3, 0, weighted=True)


def _pairs_text(dtype: DType, order: str, level: Level) -> str:
    """LLVM IR of the row function, named @NAME."""
    code, type, size = Emitter(1, "x", Declarations(level.vector_bytes)), SCALAR_TYPES[dtype], dtype.itemsize
    add, join, finish = ORDERS[order]
    out, first, counted = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
    power = code.load("double", "%numbers")
    rows, columns = (code.load("i64", code.slot("%numbers", k)) for k in (1, 2))
    lanes = max(1, level.vector_bytes // size)
    whole = code.register(f"and i64 {columns}, {-lanes}")
    nbytes = code.register(f"mul i64 {columns}, {size}")
    last = ""
    if lanes > 1:
        places = ", ".join([f"i64 {lane}" for lane in range(lanes)])
        few = repeated(code, "i64", code.register(f"sub i64 {columns}, {whole}"), lanes)
        last = code.register(f"icmp sgt <{lanes} x i64> {few}, <{places}>")

    def value(*exprs: Expr) -> str:
        with code.scope():
            return code.emit(exprs)[0]

    def bound(*names: str) -> list[Expr]:
        found = [Expr("argument", F64) for _ in names]
        code.bind_all(found, names)
        return found

    def added(total: str, loaded: Callable[[str], str], one: str, other: str) -> str:
        """Return the value after the elements that are loaded from both rows."""
        given = [Expr("argument", type) for _ in range(2)]
        code.bind_all(given, [loaded(one), loaded(other)])
        before, p = bound(total, code.splat(power, F64))
        return value(add(before, cast(given[0] - given[1], F64), p))

    def summed(one: str, other: str) -> str:
        """Return the value of all columns in lanes; behind the last one, which differ by nothing, stand zeros."""
        with code.scope(lanes):
            vector = code.type(type)
            zero = "zeroinitializer" if lanes > 1 else "0.0"
            with code.carry(0, whole, lanes, [(code.type(F64), zero)]) as loop:
                at = loop.index
                loop.following = [
                    added(loop.values[0], lambda row: code.load(vector, code.at(row, at, size), size), one, other)
                ]
            (total,) = loop.results
            if lanes == 1:
                return total
            name = f"@llvm.masked.load.v{lanes}f{type.bits}.p0"
            code.declarations[name] = f"declare {vector} {name}(ptr, i32 immarg, <{lanes} x i1>, {vector})"
            given = f"i32 {size}, <{lanes} x i1> {last}, {vector} zeroinitializer"

            def masked(row: str) -> str:
                return code.register(f"call {vector} {name}(ptr {code.at(row, whole, size)}, {given})")

            with code.carry(whole, columns, lanes, [(code.type(F64), total)]) as loop:
                loop.following = [added(loop.values[0], masked, one, other)]
            return loop.results[0]

    addresses = [code.register(f"ptrtoint ptr {pointer} to i64") for pointer in (counted, first)]
    begin = code.register(f"sub i64 {addresses[0]}, {addresses[1]}")
    end = code.register(f"add i64 {begin}, %n")
    last_row = code.register(f"sub i64 {rows}, 1")

    def row_pairs(row: str) -> None:
        one, following = code.at(first, row, nbytes), code.register(f"add i64 {row}, 1")
        before = code.register(f"mul i64 {row}, {code.register(f'sub i64 {rows}, {following}')}")
        triangle = code.register(f"lshr i64 {code.register(f'mul i64 {row}, {following}')}, 1")
        start = code.at(out, code.register(f"add i64 {before}, {triangle}"), size)
        with code.carry(following, rows, 1, [("ptr", code.move(one, nbytes)), ("ptr", start)]) as pair:
            other, place = pair.values
            total = summed(one, other)
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
            distance, p = bound(total, power)
            found = value(cast(finish(distance, p), type))
            code.store(type.ir, found, place, size)
            pair.following = [code.move(other, nbytes), code.move(place, size)]

    with code.loop(begin, end, 1) as step:
        row_pairs(step)
        opposite = code.register(f"sub i64 {last_row}, {step}")
        with code.when(code.register(f"icmp sgt i64 {opposite}, {step}")):
            row_pairs(opposite)
    return row_module(code, code.declarations, level.attributes)
