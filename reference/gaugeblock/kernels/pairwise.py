"""Kernels of Euclidean distances between all pairs of rows of two matrices.

    kernel(out_ptr, left_ptr, panels_ptr, columns, count, work, ndim, sizes..., byte strides of the three...) -> None

Dimension 0 are the rows of the left matrix, whose elements are adjacent, as are those of the result; the others are
those of a batch. Rows of the right matrix lie in panels, `panel` of them each: all first elements, all second ones and
so on, the last panel filled up. `work` is that of a row of the result.

A block of the result is BLOCK rows by a panel, so that elements that were loaded serve several distances. Sums of CHUNK
squares are added up, for the sake of accuracy.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from ..core.dtype import DType, float32
from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .isa import Level, current_level
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
        """The sums with the squares of the differences in a column."""
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
