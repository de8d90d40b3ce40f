"""A kernel of bags of rows of a table: the sum, the mean or the largest of the rows that the indices of a bag name.

    kernel(result_ptr, owner_ptr, lengths_ptr, places_ptr, wide_ptr, table_ptr, indices_ptr, offsets_ptr, scale_ptr,
           rows, width, row step, element step, index step, scale step, starts, count, padding, 1, bags, strides...)

Bag k holds the indices from offset k to the next one, of `starts` in all, or else up to `count`. The owner of an index
is its bag, and of a maximum the places are the rows that the elements come from; a mean has its lengths there. An index
that equals `padding` does not count. An index that names no row makes the call fail, as a guard does; so do offsets
that do not begin at 0, and a last one behind `count`. Sums have no owners, lengths and places. 16-bit floats have
memory for a row of wider ones. A row of the result is contiguous; only the strides from bag to bag are looked at.

A sum or a mean of adjacent elements is added up in registers, some columns at a time, and needs no row of wider
floats. All others are added up in memory, an index at a time.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod

from ..core.dtype import DType, float32, int32
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES, is_half
from .expression import BOOL, INT, Expr, ScalarType, Value, select
from .functions import cast, isnan
from .isa import Level, current_level
from .loops import load_value, store_value
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .sharing import MAX_DIMS

SUM, MEAN, MAX = range(3)
AHEAD = 16
"""Rows are prefetched this many indices ahead, about the latency of memory."""
LINE = 64
"""Bytes in a cache line."""
SHORT = 16
"""Bytes below which a row is not prefetched: a table of such rows fits in the cache."""
VECTORS = 4
"""Vectors that one pass over a bag adds up, while enough columns remain."""


def results_of(dtype: DType, made: DType, mode: int, adjacent: bool) -> list[DType]:
    """Return the dtypes of the operands that are written: the result, others in `made`, and a row of wider floats."""
    others = {SUM: 0, MEAN: 3, MAX: 3}[mode]
    return [dtype, *[made] * others, *([float32] if is_half(dtype) and not in_registers(mode, adjacent) else [])]


def in_registers(mode: int, adjacent: bool) -> bool:
    """Return whether rows are added up in registers."""
    return adjacent and mode != MAX


@functools.cache
def bags_kernel(
    dtype: DType, index: DType, offset: DType, made: DType, mode: int, scale: DType | None, adjacent: bool
) -> Builtin:
    """Return the builtin for a table of a dtype, with the elements of a row adjacent or not, indices and offsets of
    int32 or int64, other results of `made`, and factors of each row of a dtype, if there are any; memoised."""
    level = current_level()
    names = " ".join(one.name for one in (dtype, index, offset, made))
    description = f"embedding bag {names} {mode} {scale and scale.name} {adjacent} {level.name}"
    writer = RegisterWriter if in_registers(mode, adjacent) else MemoryWriter
    row = compiler().load(description, lambda: writer(dtype, index, offset, made, mode, scale, level).text())
    results = results_of(dtype, made, mode, adjacent)
    read = [dtype, index, offset, *([] if scale is None else [scale])]
    signature = Signature(len(results), "m" * len(read) + "i" * 9)
    return rows_builtin("embedding_bag", signature, row, [one.itemsize for one in (*results, *read)], MAX_DIMS)


class Writer(ABC):
    """Writes the module of a kernel."""

    adjacent: bool

    def __init__(
        self, dtype: DType, index: DType, offset: DType, made: DType, mode: int, scale: DType | None, level: Level
    ) -> None:
        self.dtype, self.index, self.offset, self.made = dtype, index, offset, made
        self.mode, self.scaled, self.level = mode, scale, level
        self.wide = float32 if is_half(dtype) else dtype
        self.type = SCALAR_TYPES[dtype]
        self.width = max(1, level.vector_bytes // self.wide.itemsize)
        self.declarations = Declarations(level.vector_bytes)
        self.code = code = Emitter(1, "x", self.declarations)
        many = len(results_of(dtype, made, mode, self.adjacent))
        pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many + 3 + (scale is not None))]
        strides = [code.load("i64", code.slot("%strides", k)) for k in range(len(pointers))]
        self.table, self.indices, offsets, *factors = pointers[many:]
        self.offsets = offsets, strides[many + 2]
        self.scale = factors[0] if factors else ""
        self.results = [*zip(pointers[:many], strides[:many], strict=True)]
        numbers = [code.load("i64", code.slot("%numbers", k)) for k in range(9)]
        self.rows, self.columns, self.row_step, self.step, self.index_step, self.scale_step = numbers[:6]
        self.starts, self.count, self.padding = numbers[6:]

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        code, (offsets, offset_step) = self.code, self.offsets
        last = code.register(f"sub i64 {self.starts}, 1")
        wrong = code.register(f"icmp ne i64 {self._integer(offsets, self.offset)}, 0")
        last = self._integer(code.at(offsets, last, offset_step), self.offset)
        wrong = code.register(f"or i1 {wrong}, {code.register(f'icmp sgt i64 {last}, {self.count}')}")
        last = self._start("%n")
        code.leave(self._check(last, wrong), "i1 true")
        with code.carry(0, "%n", 1, [("i64", self._start("0"))]) as bags:
            places = [code.at(pointer, bags.index, stride) for pointer, stride in self.results]
            end = code.minimum(self._start(code.register(f"add i64 {bags.index}, 1")), last)
            self.add_bag(bags.index, bags.values[0], end, places)
            bags.following = [end]
        return row_module(code, self.declarations, self.level.attributes)

    @abstractmethod
    def add_bag(self, bag: str, begin: str, end: str, places: list[str]) -> None:
        """Write the results of a bag, which has the indices from one place to another, at its places."""

    def _check(self, end: str, wrong: str) -> str:
        """Return whether the call fails: `wrong`, or an index before `end` is out of range."""
        code = self.code
        most, found = code.register(f"sub i64 {self.rows}, 1"), wrong
        whole = code.register(f"and i64 {end}, {-self.width}")
        adjacent = code.register(f"icmp eq i64 {self.index_step}, {self.index.itemsize}")
        whole = code.register(f"select i1 {adjacent}, i64 {whole}, i64 0")
        for width, begin, stop in ((self.width, "0", whole), (1, whole, end)):
            with code.scope(width):
                kind, limit = code.type(INT[64]), code.splat(most, INT[64])
                zero = code.constant(Expr("constant", INT[64], (), 0))
                with code.carry(begin, stop, width, [(kind, zero)]) as loop:
                    place = code.at(self.indices, loop.index, self.index_step)
                    (row,) = code.emit([cast(self._value(load_value(code, self.index, place, self.level)), INT[64])])
                    above = code.register(f"or {kind} {row}, {code.register(f'sub {kind} {limit}, {row}')}")
                    loop.following = [code.register(f"or {kind} {loop.values[0]}, {above}")]
                negative = code.register(f"icmp slt {kind} {loop.results[0]}, {zero}")
                found = code.register(f"or i1 {found}, {code.any_lane(negative)}")
        return found

    def _integer(self, place: str, dtype: DType) -> str:
        found = self.code.load(f"i{8 * dtype.itemsize}", place, dtype.itemsize)
        return self.code.register(f"sext i32 {found} to i64") if dtype is int32 else found

    def _store_integer(self, value: str, place: str) -> None:
        if self.made is int32:
            value = self.code.register(f"trunc i64 {value} to i32")
        self.code.store(f"i{8 * self.made.itemsize}", value, place, self.made.itemsize)

    def _start(self, bag: str) -> str:
        """Return where a bag starts, within the indices."""
        code, (offsets, step) = self.code, self.offsets
        given = code.register(f"icmp slt i64 {bag}, {self.starts}")
        place = code.register(f"select i1 {given}, i64 {bag}, i64 0")
        start = self._integer(code.at(offsets, place, step), self.offset)
        start = code.minimum(code.register(f"select i1 {given}, i64 {start}, i64 {self.count}"), self.count)
        below = code.register(f"icmp slt i64 {start}, 0")
        return code.register(f"select i1 {below}, i64 0, i64 {start}")

    def _row_of(self, index: str) -> str:
        """Return the row that the index at a place names."""
        return self._integer(self.code.at(self.indices, index, self.index_step), self.index)

    def _coming(self, index: str) -> str:
        """Return the address of the row that is needed AHEAD indices later."""
        code = self.code
        later = code.minimum(code.register(f"add i64 {index}, {AHEAD}"), code.register(f"sub i64 {self.count}, 1"))
        return code.at(self.table, self._row_of(later), self.row_step)

    def _counts(self, row: str) -> str:
        """Return whether a row counts."""
        return self.code.register(f"icmp ne i64 {row}, {self.padding}")

    def _one_more(self, many: str, counts: str) -> str:
        """Return `many`, plus one if the row counts."""
        return self.code.register(f"add i64 {many}, {self.code.register(f'zext i1 {counts} to i64')}")

    def _factor(self, index: str) -> str:
        """Return the register of the factor of the index at a place; empty if there are no factors."""
        if self.scaled is None:
            return ""
        with self.code.scope(1):
            place = self.code.at(self.scale, index, self.scale_step)
            scale = self._value(load_value(self.code, self.scaled, place, self.level))
            return self.code.emit([cast(scale, self.type)])[0]

    def _divisor(self, many: str) -> str:
        """Return the register that a mean divides by, 1 for no rows; empty for other modes."""
        if self.mode != MEAN:
            return ""
        with self.code.scope(1):
            count = Expr("argument", INT[64])
            self.code.bind(count, many)
            return self.code.emit([cast(select(count == 0, 1, count), self.type)])[0]

    def _prefetch(self, place: str) -> None:
        """Bring what lies at a place into the cache. No place is wrong: an index that names no row does no harm."""
        self.declarations["prefetch"] = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"
        self.code.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")

    def _at(self, row: str, index: str) -> str:
        return self.code.at(row, index, self.wide.itemsize)

    def _bound(self, register: str, type: ScalarType) -> Expr:
        """Return the expression of a scalar register in all lanes."""
        expr = Expr("argument", type)
        self.code.bind(expr, self.code.splat(register, type))
        return expr

    def _value(self, value: Value) -> Expr:
        assert isinstance(value, Expr)
        return value


class RegisterWriter(Writer):
    """Writes a kernel that adds up adjacent elements in registers, a block of columns at a time."""

    adjacent = True

    def add_bag(self, bag: str, begin: str, end: str, places: list[str]) -> None:
        code = self.code
        many = self._count(bag, begin, end, places) if self.mode == MEAN else ""
        divisor = self._divisor(many)
        done = "0"
        for vectors, width in self._blocks():
            step = vectors * width
            if vectors > 1:
                left = code.register(f"sub i64 {self.columns}, {done}")
                stop = code.register(f"add i64 {done}, {code.register(f'and i64 {left}, {-step}')}")
            else:
                enough = code.register(f"icmp sge i64 {self.columns}, {width}")
                stop = code.register(f"select i1 {enough}, i64 {self.columns}, i64 {done}")
            last = code.register(f"sub i64 {self.columns}, {step}")
            with code.scope(width), code.loop(done, stop, step) as column:
                first = code.minimum(column, last)
                offset = [code.register(f"add i64 {first}, {k * width}") for k in range(vectors)]
                for place, total in zip(offset, self._sums(begin, end, offset), strict=True):
                    value = Expr("argument", self.type)
                    code.bind(value, total)
                    value = value / self._bound(divisor, self.type) if divisor else value
                    at = code.at(places[0], place, self.dtype.itemsize)
                    store_value(code, self.dtype, at, value, self.level)
            done = stop

    def _blocks(self) -> list[tuple[int, int]]:
        """Return the number of vectors and their width for each block of columns. The last single vector may overlap
        the one before, so that only rows shorter than a vector need shorter ones."""
        shorter = [(1, 1 << k) for k in reversed(range(self.width.bit_length()))]
        return [(VECTORS, self.width), *shorter]

    def _count(self, bag: str, begin: str, end: str, places: list[str]) -> str:
        """Store the owner of each index of a bag, and the number of those that count; return that number."""
        code = self.code
        with code.carry(begin, end, 1, [("i64", "0")]) as loop:
            self._store_integer(bag, code.at(places[1], loop.index, self.made.itemsize))
            loop.following = [self._one_more(loop.values[0], self._counts(self._row_of(loop.index)))]
        (many,) = loop.results
        self._store_integer(many, places[2])
        self._store_integer(many, places[3])
        return many

    def _sums(self, begin: str, end: str, columns: list[str]) -> list[str]:
        """Return the vectors of sums of the rows of a bag, from some columns on."""
        code, width = self.code, self.code.width
        type = code.type(self.type)
        zero = code.constant(Expr("constant", self.type, (), 0))
        with code.carry(begin, end, 1, [(type, zero)] * len(columns)) as loop:
            row, nbytes = self._row_of(loop.index), width * self.dtype.itemsize
            if nbytes >= SHORT:
                coming = self._coming(loop.index)
                for column in columns[:: max(1, LINE // nbytes)]:
                    self._prefetch(code.at(coming, column, self.dtype.itemsize))
            counts, before = self._counts(row), code.label()
            code.jump(before)
            code.begin(before)
            with code.ending(counts) as after, code.scope():
                source, factor = code.at(self.table, row, self.row_step), self._factor(loop.index)
                made = []
                for column, total in zip(columns, loop.values, strict=True):
                    place = code.at(source, column, self.dtype.itemsize)
                    value = self._value(load_value(code, self.dtype, place, self.level))
                    if factor:
                        value = value * self._bound(factor, self.type)
                    known = Expr("argument", self.type)
                    code.bind(known, total)
                    made += code.emit([known + value])
                inside = code.block
                code.jump(after)
            loop.following = [
                code.register(f"phi {type} [{old}, %{before}], [{new}, %{inside}]")
                for old, new in zip(loop.values, made, strict=True)
            ]
        return loop.results


class MemoryWriter(Writer):
    """Writes a kernel that adds up the elements, or finds the largest ones, in the row of the result."""

    adjacent = False

    def add_bag(self, bag: str, begin: str, end: str, places: list[str]) -> None:
        code = self.code
        total = places[-1] if self.wide is not self.dtype else places[0]
        self._clear(total, self.wide)
        if self.mode == MAX:
            self._clear(places[3], self.made)
        with code.carry(begin, end, 1, [("i64", "0")]) as loop:
            loop.following = [self._add(loop.index, bag, places, total, loop.values[0])]
        (many,) = loop.results
        if self.mode != SUM:
            self._store_integer(many, places[2])
        if self.mode == MEAN:
            self._store_integer(many, places[3])
        if self.mode == MEAN or self.wide is not self.dtype:
            self._finish(total, places[0], many)

    def _clear(self, row: str, dtype: DType) -> None:
        self.declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        size = self.code.register(f"mul i64 {self.columns}, {dtype.itemsize}")
        self.code.line(f"call void @llvm.memset.p0.i64(ptr {row}, i8 0, i64 {size}, i1 false)")

    def _add(self, index: str, bag: str, places: list[str], total: str, many: str) -> str:
        """Add the row of an index to what is found, and return how many rows that has."""
        code = self.code
        row, coming = self._row_of(index), self._coming(index)
        counts = self._counts(row)
        if self.mode != SUM:
            self._store_integer(bag, code.at(places[1], index, self.made.itemsize))
        self._prefetch(coming)
        with code.when(counts):
            source, factor = code.at(self.table, row, self.row_step), self._factor(index)
            first = code.register(f"icmp eq i64 {many}, 0")
            for width, begin, end in self._spans(self.step, self.dtype.itemsize):
                with code.scope(width), code.loop(begin, end, width) as k:
                    if width > 1:
                        self._prefetch(code.at(coming, k, self.step))
                    value = self._value(load_value(code, self.dtype, code.at(source, k, self.step), self.level))
                    if factor:
                        value = value * self._bound(factor, value.type)
                    before = self._value(load_value(code, self.wide, self._at(total, k), self.level))
                    if self.mode == MAX:
                        better = self._bound(first, BOOL) | (value > before) | (isnan(value) & ~isnan(before))
                        self._mark(better, row, code.at(places[3], k, self.made.itemsize))
                        value = select(better, value, before)
                    else:
                        value = before + value
                    store_value(code, self.wide, self._at(total, k), value, self.level)
        return self._one_more(many, counts)

    def _mark(self, better: Expr, row: str, place: str) -> None:
        """Note the row where something is better than what has been found before."""
        kind = INT[8 * self.made.itemsize]
        found = self._value(load_value(self.code, self.made, place, self.level))
        value = select(better, cast(self._bound(row, INT[64]), kind), found)
        store_value(self.code, self.made, place, value, self.level)

    def _finish(self, total: str, result: str, many: str) -> None:
        """Store the row of the result: what has been added up, in a mean divided by how many rows it is."""
        code = self.code
        divisor = self._divisor(many)
        for width, begin, end in self._spans(str(self.wide.itemsize), self.wide.itemsize):
            with code.scope(width), code.loop(begin, end, width) as k:
                value = self._value(load_value(code, self.wide, self._at(total, k), self.level))
                value = value / self._bound(divisor, value.type) if divisor else value
                store_value(code, self.dtype, code.at(result, k, self.dtype.itemsize), value, self.level)

    def _spans(self, step: str, itemsize: int) -> list[tuple[int, str, str]]:
        """Return the widths of loops over the elements of a row, each with where it begins and ends."""
        code, columns = self.code, self.columns
        adjacent = code.register(f"icmp eq i64 {step}, {itemsize}")
        stop = code.register(f"and i64 {columns}, {-self.width}")
        stop = code.register(f"select i1 {adjacent}, i64 {stop}, i64 0")
        return [(self.width, "0", stop), (1, stop, columns)] if self.width > 1 else [(1, "0", columns)]

