"""A kernel that resamples along a dim: each element of the result is a weighted sum of elements at places of a table.

    kernel(out_ptr, sums_ptr, source_ptr, places_ptr, weights_ptr, step, place step, weight step, ndim, sizes...,
           byte strides of the operands...) -> None

`step` is the stride of the source along the dim, where its own stride is 0. The tables have a row for each element of
the sum, the other steps are from one row to the next; their strides are 0 but along the dim. Sums of further elements,
to which these are added, are only there if they are wanted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..core.dtype import DType, int64
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .expression import INT, Expr, constant
from .functions import cast, maximum, minimum, mul_add
from .isa import Level, current_level
from .loops import gather_value, lanes_apart, load_value, scatter_value
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature


@functools.cache
def resampling_kernel(
    count: int, dtype: DType, compute: DType, result: DType, *, added: bool = False, bits: int = 0
) -> Builtin:
    """Return the builtin of sums of `count` elements, computed in the dtype of the weights; memoised. A sum of whole
    weights with so many `bits` behind the point is rounded to a byte."""
    level = current_level()
    description = f"resampling {count} {dtype.name} {compute.name} {result.name} {added} {bits} {level.name}"
    row = compiler().load(description, lambda: _Writer(count, dtype, compute, result, added, bits, level).text())
    operands = [result, *([compute] if added else []), dtype, int64, compute]
    signature = Signature(1, "m" * (len(operands) - 1) + "iii")
    return rows_builtin("resampling", signature, row, [one.itemsize for one in operands], 0)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(
        self, count: int, dtype: DType, compute: DType, result: DType, added: bool, bits: int, level: Level
    ) -> None:
        self.count, self.dtype, self.compute, self.result, self.bits = count, dtype, compute, result, bits
        self.added, self.level, self.type = added, level, SCALAR_TYPES[compute]
        self.declarations = Declarations(level.vector_bytes)
        self.code = code = Emitter(1, "x", self.declarations)
        self.width = max(1, level.vector_bytes * 8 // self.type.bits)
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(4 + added)]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(4 + added)]
        self.step, *self.rows = (code.load("i64", code.slot("%numbers", k)) for k in range(3))

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        code, width = self.code, self.width
        whole = code.register(f"and i64 %n, {-width}") if width > 1 else "0"
        fixed = code.register(f"icmp eq i64 {self.strides[-2]}, 0")
        with code.when(fixed):
            adjacent = code.register(f"icmp eq i64 {self.strides[-3]}, {self.dtype.itemsize}")
            close = code.register(f"select i1 {adjacent}, i64 {whole}, i64 0")
            offsets = [self._offset("0", k) for k in range(self.count)]
            weights = [code.emit([self._weight("0", k)])[0] for k in range(self.count)]
            for lanes, begin, end, together in ((width, "0", close, True), (width, close, whole, False)):
                if width > 1:
                    self._fixed(lanes, begin, end, offsets, weights, together)
            self._fixed(1, whole, "%n", offsets, weights, True)
        with code.when(code.register(f"xor i1 {fixed}, true")):
            for lanes, begin, end in ((width, "0", whole), (1, whole, "%n"))[width == 1 :]:
                with code.scope(lanes), code.loop(begin, end, lanes) as first:
                    apart = lanes_apart(code, self.strides[-3])
                    moves = [self._moved(self._offset(first, k), apart) for k in range(self.count)]
                    self._store(first, moves, [self._weight(first, k) for k in range(self.count)])
        return row_module(code, self.declarations, self.level.attributes)

    def _fixed(
        self, width: int, begin: str, end: str, offsets: list[str], weights: list[str], together: bool
    ) -> None:
        """Write the loop over elements for all of which the tables have the same, in a source where these lie
        `together` or not."""
        code = self.code
        with code.scope(width), code.loop(begin, end, width) as first:
            factors = [self._bound(weight) for weight in weights]
            apart = "" if together else lanes_apart(code, self.strides[-3])
            moves = offsets if together else [self._moved(code.splat(one, INT[64]), apart) for one in offsets]
            self._store(first, moves, factors, together)

    def _store(self, first: str, offsets: list[str], weights: list[Expr], together: bool = False) -> None:
        """Write the sums of the elements from the first one on."""
        code, (result, *sums), source = self.code, self.pointers[: 1 + self.added], self.pointers[-3]
        here = code.at(source, first, self.strides[-3])
        values = list[Expr]()
        if sums:
            apart = lanes_apart(code, self.strides[1])
            values.append(gather_value(code, self.compute, code.at(sums[0], first, self.strides[1]), apart, self.level))
        for offset in offsets:
            if together:
                value = load_value(code, self.dtype, code.move(here, offset), self.level)
                assert isinstance(value, Expr)
            else:
                value = gather_value(code, self.dtype, here, offset, self.level)
            values.append(cast(value, self.type))
        total = _sum_of_products(self.count, self.added, self.bits)(*values, *weights)
        scatter_value(code, self.result, code.at(result, first, self.strides[0]), self.strides[0], total, self.level)

    def _offset(self, first: str, row: int) -> str:
        """Return the bytes to the places in a row of the table, from the first on."""
        code = self.code
        place = code.at(code.at(self.pointers[-2], row, self.rows[0]), first, self.strides[-2])
        places = code.load(code.type(INT[64]), place)
        return code.register(f"mul {code.type(INT[64])} {places}, {code.splat(self.step, INT[64])}")

    def _moved(self, offset: str, apart: str) -> str:
        """Return offsets, and how far the lanes are apart, added up."""
        return self.code.register(f"add {self.code.type(INT[64])} {offset}, {apart}")

    def _weight(self, first: str, row: int) -> Expr:
        """Return the weights in a row of the table, from the first on."""
        place = self.code.at(self.code.at(self.pointers[-1], row, self.rows[1]), first, self.strides[-1])
        value = load_value(self.code, self.compute, place, self.level)
        assert isinstance(value, Expr)
        return value

    def _bound(self, register: str) -> Expr:
        """Return the expression of a scalar register in all lanes."""
        expr = Expr("argument", self.type)
        self.code.bind(expr, self.code.splat(register, self.type))
        return expr


@functools.cache
def _sum_of_products(count: int, added: bool, bits: int) -> Callable[..., Expr]:
    def total(*exprs: Expr) -> Expr:
        """Return the first `count` expressions times the others, added up; a first one more is `added` to that. A sum
        with so many `bits` behind the point is rounded, and cut off at 0 and 255."""
        before, given = exprs[:added], exprs[added:]
        found = before[0] if added else given[0] * given[count]
        for x, weight in list(zip(given[:count], given[count:], strict=True))[not added :]:
            found = mul_add(x, weight, found) if x.type.is_float else found + x * weight
        if not bits:
            return found
        low, high = constant(0, found.type), constant(255, found.type)
        return minimum(maximum((found + (1 << bits >> 1)) >> bits, low), high)

    return total
