"""Kernels that order the elements of rows: sorting them, finding the first few, one by its rank, or the most frequent.

    kernel(values_ptr, indices_ptr, scratch_ptr, in_ptr, number, ndim, sizes..., byte strides of the four...) -> None

Dimension 0 is the row. Each element becomes a word: its key, bits in the unsigned order of the values with NaN last,
above its index in the row. No two words are equal, and equal elements stay in their order.

Words are sorted from the lowest digit of their keys to the highest (LSD radix sort). For one element by its rank keys
alone are enough (see selection). The first few of a long row are gathered in a buffer, from which all but these are
dropped whenever it is full. The most frequent is counted (see frequency). Short rows are on the stack: there is no
scratch operand.
"""

from __future__ import annotations

import functools
from enum import Enum

from ..core.dtype import DType
from ..core.limits import finfo
from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .frequency import most_frequent, table_words
from .isa import Level, current_level
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .selection import Selection, repeated, splat, vector_type

SHORT = 48
"""Elements of a row of which one is found by words of 64 bits, not by keys alone; for wider words two thirds."""
LOCAL = 1024
"""Words of a row that are on the stack."""
MORE = 256
"""Words that a buffer of the first few takes in beyond twice their number before it drops some."""
BUFFER = 384
"""Words by which a buffer is longer than what it has to hold."""
DIGITS = 256
EXTRA_BITS = 10
"""Bits beyond those of the number of words by which they are sorted before insertion sort does the rest."""
MOVES = 8
"""Steps of insertion sort for each word after which all digits are sorted instead."""


class Order(Enum):
    """The results of a kernel of rows: the first k elements, by sorting or by selection; the element of a rank; the
    median, which is the first NaN if there is one, or the median without NaN; the last of the most frequent value."""

    SORTED = "sorted"
    SELECTED = "selected"
    RANKED = "ranked"
    MEDIAN = "median"
    NANMEDIAN = "nanmedian"
    MODE = "mode"


BY_RANK = (Order.RANKED, Order.MEDIAN, Order.NANMEDIAN)


def word_bytes(order: Order, dtype: DType, size: int) -> int:
    """Return the bytes of a word for rows of `size` elements, whose lower half is the index, or of a key alone."""
    short = SHORT if dtype.itemsize <= 4 else 2 * SHORT // 3
    if order is Order.MODE or (order in BY_RANK and size > short):
        return dtype.itemsize
    return 8 if dtype.itemsize <= 4 and size < 1 << 32 else 16


def scratch_words(order: Order, dtype: DType, size: int, number: int) -> int:
    """Return the 64-bit words of scratch memory for a row; 0 if it needs none."""
    held = 2 * number if order is Order.SELECTED else size
    return 0 if held <= LOCAL else _memory(order, word_bytes(order, dtype, size), held)


def _memory(order: Order, word: int, held: int) -> int:
    """Return the 64-bit words of memory for a row of which so many elements are held as words of so many bytes."""
    once = -(-(held + BUFFER) * word // 64) * 8
    return once + table_words(held) if order is Order.MODE else 2 * once


@functools.cache
def order_kernel(order: Order, dtype: DType, descending: bool, size: int, local: bool) -> Builtin:
    """Return the builtin for elements of a dtype that is not complex, with words of `size` bytes. Rows that are `local`
    have no scratch operand. Memoised."""
    level = current_level()
    description = f"order {order.value} {dtype.name} {descending} {size} {local} {level.name}"
    row = compiler().load(description, lambda: _Writer(order, dtype, descending, size, local, level).text())
    itemsizes = [dtype.itemsize, 8, *([] if local else [8]), dtype.itemsize]
    return rows_builtin(order.value, Signature(len(itemsizes) - 1, "mi"), row, itemsizes, 1)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(self, order: Order, dtype: DType, descending: bool, size: int, local: bool, level: Level) -> None:
        self.order, self.dtype, self.descending, self.local, self.level = order, dtype, descending, local, level
        self.declarations = Declarations(level.vector_bytes)
        self.stored = f"i{8 * dtype.itemsize}"
        self.indexed = size > dtype.itemsize
        """True if the low bits of a word are an index."""
        self.words = Selection(8 * size, level, self.declarations, distinct=self.indexed)
        self.word, self.size = self.words.type, size

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        if self.order in BY_RANK:
            self.words.declare("few", "select", *(() if self.indexed else ("below", "nth")))
            return row_module(self._row(), self.declarations, self.level.attributes)
        if self.order is Order.MODE:
            return row_module(self._row(), self.declarations, self.level.attributes)
        self.declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        self.declarations["ctlz"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
        self.words.declare("few")
        self.declarations |= {"range": self._range(), "insert": self._insert(), "sort": self._sort()}
        if self.order is Order.SELECTED:
            self.words.declare("select")
            self.declarations["add"] = self._add()
        return row_module(self._row(), self.declarations, self.level.attributes)

    def _row(self) -> Code:
        code = Code()
        many = 3 if self.local else 4
        pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many)]
        strides = [code.load("i64", code.slot("%strides", k)) for k in range(many)]
        number = code.load("i64", "%numbers")
        held = code.register(f"shl i64 {number}, 1") if self.order is Order.SELECTED else "%n"
        local = f"alloca [{_memory(self.order, self.size, LOCAL)} x i64], align 64"
        keys = code.register(local) if self.local else pointers[2]
        self.target = pointers[0], strides[0], pointers[1], strides[1], pointers[-1], strides[-1]
        if self.order is Order.MODE:
            self._pack(code, keys, pointers[-1], strides[-1])
            table = self.words.at(code, keys, code.register(f"and i64 {code.register('add i64 %n, 7')}, -8"))
            with_nan = self.dtype.is_floating_point
            found = most_frequent(code, self.declarations, keys, 8 * self.size, table, with_nan=with_nan)
            self._write(code, "0", found)
            return code
        other = self.words.at(code, keys, code.register(f"add i64 {held}, {BUFFER}"))
        if self.order is Order.SELECTED:
            count = self._first_few(code, keys, other, pointers[-1], strides[-1], number)
        else:
            count, missing = "%n", self._pack(code, keys, pointers[-1], strides[-1])
        if self.order in BY_RANK:
            self.words.pad(code, keys, "%n")
            rank = self._rank(code, number, missing)
            found = self.words.select(code, keys, other, "%n", rank)
            index = self._index_of(code, found) if self.indexed else self.words.nth(code, keys, "%n", rank, found)
            self._write(code, "0", index)
            return code
        found = code.register(f"call ptr @sort(ptr {keys}, ptr {other}, i64 {count})")
        with code.loop(0, number) as k:
            self._write(code, k, self._index_of(code, code.load(self.word, self.words.at(code, found, k))))
        return code

    def _index_of(self, code: Code, word: str) -> str:
        return code.register(f"and i64 {word}, {(1 << 32) - 1}" if self.size == 8 else f"trunc i128 {word} to i64")

    def _word(self, code: Code, source: str, stride: str, index: str, width: int = 1) -> tuple[str, str]:
        """Return the word of an element, or of a vector of adjacent ones, and the i1 that it is NaN."""
        bits = code.load(vector_type(self.stored, width), code.at(source, index, stride), self.dtype.itemsize)
        key, nan = self._key(code, bits, width)
        if not self.indexed:
            return key, nan
        type = vector_type(self.word, width)
        wide = code.register(f"zext {vector_type(self.stored, width)} {key} to {type}")
        high = code.register(f"shl {type} {wide}, {splat(self.word, 4 * self.size, width)}")
        low = index if self.size == 8 else code.register(f"zext i64 {index} to i128")
        if width > 1:
            places = ", ".join([f"i64 {lane}" for lane in range(width)])
            low = code.register(f"add {type} {repeated(code, 'i64', low, width)}, <{places}>")
        return code.register(f"or {type} {high}, {low}"), nan

    def _pack(self, code: Code, keys: str, source: str, stride: str) -> str:
        """Store the words of a row, and return how many elements are NaN, if that is asked for."""
        counted = self.order in (Order.MEDIAN, Order.NANMEDIAN) and self.dtype.is_floating_point
        width = self.words.lanes
        adjacent = code.register(f"icmp eq i64 {stride}, {self.dtype.itemsize}")
        stop = code.register(f"and i64 %n, {-width}")
        stop = code.register(f"select i1 {adjacent}, i64 {stop}, i64 0")
        total = "0"
        for lanes, begin, end in ((width, "0", stop), (1, stop, "%n")):
            with code.carry(begin, end, lanes, [("i64", total)] if counted else []) as loop:
                word, nan = self._word(code, source, stride, loop.index, lanes)
                place = self.words.at(code, keys, loop.index)
                code.store(vector_type(self.word, lanes), word, place, min(self.size, 8))
                if counted:
                    more = self.words.lanes_of(code, nan, lanes)
                    loop.following = [code.register(f"add i64 {loop.values[0]}, {more}")]
            total = loop.results[0] if counted else "0"
        return total

    def _key(self, code: Code, bits: str, width: int) -> tuple[str, str]:
        """Return the key of an element, or of a vector of them, and the i1 that it is NaN."""
        top, nan, type = 8 * self.dtype.itemsize - 1, "false", vector_type(self.stored, width)
        truth = vector_type("i1", width)

        def all_lanes(number: int) -> str:
            return splat(self.stored, number, width)

        if self.dtype.is_floating_point:
            magnitude = code.register(f"and {type} {bits}, {all_lanes((1 << top) - 1)}")
            infinity = (1 << top) - int(1 / finfo(self.dtype).eps)
            nan = code.register(f"icmp ugt {type} {magnitude}, {all_lanes(infinity)}")
            zero = code.register(f"icmp eq {type} {magnitude}, {all_lanes(0)}")
            sign = code.register(f"ashr {type} {bits}, {all_lanes(top)}")
            flipped = code.register(f"or {type} {sign}, {all_lanes(-1 << top)}")
            bits = code.register(f"xor {type} {bits}, {flipped}")
            bits = code.register(f"select {truth} {zero}, {type} {all_lanes(-1 << top)}, {type} {bits}")
            bits = code.register(f"select {truth} {nan}, {type} {all_lanes(-1)}, {type} {bits}")
        elif self.dtype.is_signed:
            bits = code.register(f"xor {type} {bits}, {all_lanes(-1 << top)}")
        return (code.register(f"xor {type} {bits}, {all_lanes(-1)}") if self.descending else bits), nan

    def _first_few(self, code: Code, keys: str, other: str, source: str, stride: str, number: str) -> str:
        """Store the words of the first so many elements in any order, and return how many they are."""
        width = max(1, self.level.vector_bytes // self.dtype.itemsize)
        type = vector_type(self.stored, width)
        count, bound = code.variable("i64", 0), code.variable(self.word, -1)
        wanted = code.variable("i1", "true", 1)
        adjacent = code.register(f"icmp eq i64 {stride}, {self.dtype.itemsize}")
        with code.loop(0, "%n", width) as begin:
            end = code.register(f"add i64 {begin}, {width}")
            whole = code.register(f"and i1 {adjacent}, {code.register(f'icmp sle i64 {end}, %n')}")
            code.store("i1", "true", wanted, 1)
            limit = code.load(self.word, bound)
            full = code.register(f"icmp ne {self.word} {limit}, -1")
            with code.when(code.register(f"and i1 {whole}, {full}")):
                high = code.register(f"lshr {self.word} {limit}, {4 * self.size}")
                if self.stored != self.word:
                    high = code.register(f"trunc {self.word} {high} to {self.stored}")
                bits = code.load(type, code.move(source, code.register(f"mul i64 {begin}, {self.dtype.itemsize}")), 1)
                key, _ = self._key(code, bits, width)
                less = code.register(f"icmp ult {type} {key}, {repeated(code, self.stored, high, width)}")
                some = code.register(f"icmp ne i64 {self.words.lanes_of(code, less, width)}, 0")
                code.store("i1", some, wanted, 1)
            with code.when(code.load("i1", wanted, 1)):
                given = f"ptr {source}, i64 {stride}, i64 {begin}, i64 {code.minimum(end, '%n')}, ptr {keys}"
                code.line(f"call void @add({given}, ptr {other}, ptr {count}, ptr {bound}, i64 {number})")
        last = code.register(f"sub i64 {number}, 1")
        return self._drop(code, keys, other, code.load("i64", count), last)[0]

    def _add(self) -> str:
        """@add(source, stride, begin, end, keys, other, count, bound, number): add the words below the bound."""
        code = Code()
        limit = code.load(self.word, "%bound")
        with code.carry("%begin", "%end", 1, [("i64", code.load("i64", "%count"))]) as loop:
            word, _ = self._word(code, "%source", "%stride", loop.index)
            code.store(self.word, word, self.words.at(code, "%keys", loop.values[0]))
            less = code.register(f"icmp ult {self.word} {word}, {limit}")
            loop.following = [code.register(f"add i64 {loop.values[0]}, {code.register(f'zext i1 {less} to i64')}")]
        (many,) = loop.results
        code.store("i64", many, "%count")
        most = code.register(f"add i64 {code.register('shl i64 %number, 1')}, {MORE}")
        with code.when(code.register(f"icmp uge i64 {many}, {most}")):
            last = code.register("sub i64 %number, 1")
            kept, found = self._drop(code, "%keys", "%other", many, last)
            code.store(self.word, found, "%bound")
            code.store("i64", kept, "%count")
        given = "ptr %source, i64 %stride, i64 %begin, i64 %end, ptr %keys, ptr %other"
        head = f"define internal void @add({given}, ptr %count, ptr %bound, i64 %number) #0"
        return code.function(head, "  ret void")

    def _drop(self, code: Code, keys: str, other: str, count: str, rank: str) -> tuple[str, str]:
        """Drop the words above the one of a rank, and return how many are left, and this one."""
        self.words.pad(code, keys, count)
        bound = self.words.select(code, keys, other, count, rank)

        def wanted(word: str) -> str:
            return code.register(f"icmp ule {self.word} {word}, {bound}")

        return self.words.keep(code, keys, keys, count, wanted), bound

    def _rank(self, code: Code, number: str, missing: str) -> str:
        """Return the rank of the element that is wanted."""
        if self.order is Order.RANKED:
            return number
        known = code.register(f"sub i64 %n, {missing}")
        if self.order is Order.NANMEDIAN:
            some = code.register(f"call i64 @llvm.smax.i64(i64 {known}, i64 1)")
            self.declarations["smax"] = "declare i64 @llvm.smax.i64(i64, i64)"
            return code.register(f"lshr i64 {code.register(f'sub i64 {some}, 1')}, 1")
        half = code.register(f"lshr i64 {code.register('sub i64 %n, 1')}, 1")
        return code.register(f"select i1 {code.register(f'icmp eq i64 {missing}, 0')}, i64 {half}, i64 {known}")

    def _write(self, code: Code, place: str, index: str) -> None:
        """Store the element at an index, and the index, at a place of the results."""
        values, value_stride, indices, index_stride, source, stride = self.target
        value = code.load(self.stored, code.at(source, index, stride), self.dtype.itemsize)
        code.store(self.stored, value, code.at(values, place, value_stride), self.dtype.itemsize)
        code.store("i64", index, code.at(indices, place, index_stride))

    def _digit(self, code: Code, words: str, index: str, least: str, shift: str) -> str:
        """Return the digit from a bit on of how far the key of a word lies above the least one."""
        above = code.register(f"sub i64 {self._key_of(code, words, index)}, {least}")
        return code.register(f"and i64 {code.register(f'lshr i64 {above}, {shift}')}, {DIGITS - 1}")

    def _key_of(self, code: Code, words: str, index: str) -> str:
        """Return the key of a word, its upper half, as i64."""
        place = code.move(self.words.at(code, words, index), self.size // 2)
        if self.word == "i128":
            return code.load("i64", place)
        return code.register(f"zext i32 {code.load('i32', place, 4)} to i64")

    def _zero(self, code: Code, counters: str) -> None:
        code.line(f"call void @llvm.memset.p0.i64(ptr {counters}, i8 0, i64 {8 * DIGITS}, i1 false)")

    def _range(self) -> str:
        """@range(words, n): the least key, and how far the largest lies above it."""
        code = Code()
        with code.carry(0, "%n", 1, [("i64", "-1"), ("i64", "0")]) as loop:
            key = self._key_of(code, "%words", loop.index)
            for kind, value in zip(("ult", "ugt"), loop.values, strict=True):
                better = code.register(f"icmp {kind} i64 {key}, {value}")
                loop.following.append(code.register(f"select i1 {better}, i64 {key}, i64 {value}"))
        least, largest = loop.results
        pair = code.register(f"insertvalue {{i64, i64}} poison, i64 {least}, 0")
        spread = code.register(f"sub i64 {largest}, {least}")
        pair = code.register(f"insertvalue {{i64, i64}} {pair}, i64 {spread}, 1")
        return code.function("define internal {i64, i64} @range(ptr %words, i64 %n) #0", f"  ret {{i64, i64}} {pair}")

    def _ranged(self, code: Code, words: str, count: str) -> tuple[str, str]:
        """Return the least key, and how many bits the differences from it have."""
        pair = code.register(f"call {{i64, i64}} @range(ptr {words}, i64 {count})")
        least, spread = [code.register(f"extractvalue {{i64, i64}} {pair}, {place}") for place in range(2)]
        zeros = code.register(f"call i64 @llvm.ctlz.i64(i64 {spread}, i1 false)")
        return least, code.register(f"sub i64 64, {zeros}")

    def _count(self, code: Code, counters: str, digit: str) -> str:
        """Add one to a counter, and return what it was."""
        place = code.slot(counters, digit)
        before = code.load("i64", place)
        code.store("i64", code.register(f"add i64 {before}, 1"), place)
        return before

    def _unsorted_bits(self, code: Code, bits: str) -> str:
        """Return how many low bits of keys need no digit: those above tell apart all but few of so many keys."""
        zeros = code.register("call i64 @llvm.ctlz.i64(i64 %n, i1 false)")
        needed = code.register(f"and i64 {code.register(f'sub i64 {64 + EXTRA_BITS + 7}, {zeros}')}, -8")
        self.declarations["usub"] = "declare i64 @llvm.usub.sat.i64(i64, i64)"
        return code.register(f"call i64 @llvm.usub.sat.i64(i64 {bits}, i64 {needed})")

    def _insert(self) -> str:
        """@insert(words, n): sort words that are almost in order by insertion; false, the rest undone, if it takes more
        than MOVES steps for each."""
        code = Code()
        moves, to = code.variable("i64", 0), code.variable("i64", 0)
        most = code.register(f"mul i64 %n, {MOVES}")
        with code.loop(1, "%n") as k:
            word = code.load(self.word, self.words.at(code, "%words", k))
            before = code.load(self.word, self.words.at(code, "%words", code.register(f"sub i64 {k}, 1")))
            with code.when(code.register(f"icmp ugt {self.word} {before}, {word}")):
                code.leave(code.register(f"icmp ugt i64 {code.load('i64', moves)}, {most}"), "i1 false")
                code.store("i64", k, to)
                step, found = code.label(), code.label()
                code.jump(step)
                code.begin(step)
                place = code.load("i64", to)
                last = code.register(f"sub i64 {place}, 1")
                larger = code.load(self.word, self.words.at(code, "%words", last))
                code.store(self.word, larger, self.words.at(code, "%words", place))
                code.store("i64", last, to)
                below = code.register(f"call i64 @llvm.usub.sat.i64(i64 {last}, i64 1)")
                following = code.load(self.word, self.words.at(code, "%words", below))
                more = code.register(f"icmp ugt {self.word} {following}, {word}")
                more = code.register(f"and i1 {more}, {code.register(f'icmp ne i64 {last}, 0')}")
                code.branch(more, step, found)
                code.begin(found)
                code.store(self.word, word, self.words.at(code, "%words", last))
                taken = code.register(f"sub i64 {k}, {last}")
                code.store("i64", code.register(f"add i64 {code.load('i64', moves)}, {taken}"), moves)
        return code.function("define internal i1 @insert(ptr %words, i64 %n) #0", "  ret i1 true")

    def _sort(self) -> str:
        """@sort(keys, other, n): return which of the two buffers has the words in order."""
        code = Code()
        counters = code.register(f"alloca [{DIGITS} x i64], align 64")
        places = [code.variable("ptr", name) for name in ("%keys", "%other")]
        with code.ending(code.register(f"icmp ule i64 %n, {self.words.few_to_sort}")):
            self.words.sort_few(code, "%keys", "%other", "%n")
            code.line("ret ptr %other")
        least, bits = self._ranged(code, "%keys", "%n")
        start = code.variable("i64", self._unsorted_bits(code, bits))
        again, done = code.label(), code.label()
        code.jump(again)
        code.begin(again)
        first = code.load("i64", start)
        with code.loop(first, bits, 8) as shift:
            source, target = [code.load("ptr", place) for place in places]
            self._zero(code, counters)
            with code.loop(0, "%n") as k:
                self._count(code, counters, self._digit(code, source, k, least, shift))
            alike = code.load("i64", code.slot(counters, self._digit(code, source, "0", least, shift)))
            with code.when(code.register(f"icmp ne i64 {alike}, %n")):
                with code.carry(0, DIGITS, 1, [("i64", "0")]) as loop:
                    place = code.slot(counters, loop.index)
                    many = code.load("i64", place)
                    code.store("i64", loop.values[0], place)
                    loop.following = [code.register(f"add i64 {loop.values[0]}, {many}")]
                with code.loop(0, "%n") as k:
                    to = self._count(code, counters, self._digit(code, source, k, least, shift))
                    word = code.load(self.word, self.words.at(code, source, k))
                    code.store(self.word, word, self.words.at(code, target, to))
                for place, pointer in zip(places, (target, source), strict=True):
                    code.store("ptr", pointer, place)
        found = code.load("ptr", places[0])
        code.store("i64", 0, start)
        code.leave(code.register(f"icmp eq i64 {first}, 0"), f"ptr {found}")
        code.branch(code.register(f"call i1 @insert(ptr {found}, i64 %n)"), done, again)
        code.begin(done)
        tail = f"  ret ptr {found}"
        return code.function("define internal ptr @sort(ptr %keys, ptr %other, i64 %n) #0", tail)
