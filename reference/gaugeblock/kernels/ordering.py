"""Kernels that order the elements of rows: sorting them, finding the first few, one by its rank, or the most frequent.

    kernel(values_ptr, indices_ptr, scratch_ptr, in_ptr, number, ndim, sizes..., byte strides of the four...) -> None

Dimension 0 is the row. Each element becomes a word: its bits, changed so that unsigned order is that of the values with
NaN last, above its index in the row. No two words are equal, and equal elements stay in their order. Words are sorted
digit by digit from the lowest (LSD radix sort) and selected from the highest (radix selection); a few by comparing each
with each. Short rows have their words on the stack, and no scratch operand.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum

from ..core.dtype import DType
from ..core.limits import finfo
from .code import Code, Declarations, row_module
from .compiler import Builtin, compiler
from .isa import Level, current_level
from .pointwise import rows_builtin
from .pointwise_entry import Signature

FEW = {"i64": 32, "i128": 12}
"""Words up to which comparing each with each is fastest."""
LOCAL = 1024
"""Elements of rows whose words are on the stack."""
BUFFER = 64
"""Words by which a buffer is longer than its row."""
DIGITS = 256


class Order(Enum):
    """What a kernel finds, given a number: the first so many, sorted in full or `selected`; the one of that rank; the
    median, which is the first NaN if there is one, or that of all but NaN; the last of the most frequent value."""

    SORTED = "sorted"
    SELECTED = "selected"
    RANKED = "ranked"
    MEDIAN = "median"
    NANMEDIAN = "nanmedian"
    MODE = "mode"


def word_of(dtype: DType, size: int) -> str:
    """Return the type of the words for rows of `size` elements, whose lower half is the index."""
    return "i64" if dtype.itemsize <= 4 and size < 1 << 32 else "i128"


def scratch_words(dtype: DType, size: int) -> int:
    """Return the 64-bit words of scratch memory for a row; 0 if it needs none."""
    return 0 if size <= LOCAL else 2 * (size + BUFFER) * _bytes(word_of(dtype, size)) // 8


def _bytes(word: str) -> int:
    return int(word[1:]) // 8


@functools.cache
def order_kernel(order: Order, dtype: DType, descending: bool, word: str, local: bool) -> Builtin:
    """Return the builtin for elements of a dtype that is not complex, which has no scratch operand if the rows are
    `local`; memoised."""
    level = current_level()
    description = f"order {order.value} {dtype.name} {descending} {word} {local} {level.name}"
    row = compiler().load(description, lambda: _Writer(order, dtype, descending, word, local, level).text())
    itemsizes = [dtype.itemsize, 8, *([] if local else [8]), dtype.itemsize]
    return rows_builtin(order.value, Signature(len(itemsizes) - 1, "mi"), row, itemsizes, 1)


class _Writer:
    """Writes the module of a kernel."""

    def __init__(
        self, order: Order, dtype: DType, descending: bool, word: str, local: bool, level: Level
    ) -> None:  # fmt: skip
        self.order, self.dtype, self.descending = order, dtype, descending
        self.word, self.size, self.local, self.level = word, _bytes(word), local, level
        self.digits = dtype.itemsize
        self.stored = f"i{8 * dtype.itemsize}"
        self.lanes = max(1, level.vector_bytes // 8) if word == "i64" else 1
        self.vector = word if self.lanes == 1 else f"<{self.lanes} x {word}>"
        self.declarations = Declarations(level.vector_bytes)

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        self.declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        self.declarations["few"] = self._few()
        if self.order in (Order.SORTED, Order.SELECTED, Order.MODE):
            self.declarations["sort"] = self._sort()
        if self.order not in (Order.SORTED, Order.MODE):
            self.declarations["select"] = self._select()
        return row_module(self._row(), self.declarations, self.level.attributes)

    def _row(self) -> Code:
        code = Code()
        many = 3 if self.local else 4
        pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many)]
        strides = [code.load("i64", code.slot("%strides", k)) for k in range(many)]
        number = code.load("i64", "%numbers")
        room = code.register(f"add i64 %n, {BUFFER}")
        keys = code.register(f"alloca [{2 * (LOCAL + BUFFER)} x {self.word}], align 64") if self.local else pointers[2]
        other = self._at(code, keys, room)
        missing = self._pack(code, keys, pointers[-1], strides[-1])
        self.target = pointers[0], strides[0], pointers[1], strides[1], pointers[-1], strides[-1]
        if self.order is Order.MODE:
            self._write(code, "0", self._most(code, code.register(f"call ptr @sort(ptr {keys}, ptr {other}, i64 %n)")))
            return code
        if self.order in (Order.RANKED, Order.MEDIAN, Order.NANMEDIAN):
            self._write(code, "0", self._selected(code, keys, other, self._rank(code, number, missing)))
            return code
        count = "%n"
        if self.order is Order.SELECTED:
            bound = self._selected(code, keys, other, code.register(f"sub i64 {number}, 1"))
            self._keep(code, keys, keys, "%n", lambda k, word: code.register(f"icmp ule {self.word} {word}, {bound}"))
            count = number
        found = code.register(f"call ptr @sort(ptr {keys}, ptr {other}, i64 {count})")
        with code.loop(0, number) as k:
            self._write(code, k, code.load(self.word, self._at(code, found, k)))
        return code

    def _selected(self, code: Code, keys: str, other: str, rank: str) -> str:
        return code.register(f"call {self.word} @select(ptr {keys}, ptr {other}, i64 %n, i64 {rank})")

    def _at(self, code: Code, words: str, index: str) -> str:
        return code.at(words, index, self.size)

    def _pack(self, code: Code, keys: str, source: str, stride: str) -> str:
        """Store the words of a row, and return how many elements are NaN, if that is asked for."""
        counted = self.order in (Order.MEDIAN, Order.NANMEDIAN) and self.dtype.is_floating_point
        with code.carry(0, "%n", 1, [("i64", "0")] if counted else []) as loop:
            key, nan = self._key(code, code.load(self.stored, code.at(source, loop.index, stride), self.dtype.itemsize))
            wide = code.register(f"zext {self.stored} {key} to {self.word}") if self.stored != self.word else key
            high = code.register(f"shl {self.word} {wide}, {4 * self.size}")
            index = loop.index if self.word == "i64" else code.register(f"zext i64 {loop.index} to {self.word}")
            code.store(self.word, code.register(f"or {self.word} {high}, {index}"), self._at(code, keys, loop.index))
            if counted:
                loop.following = [code.register(f"add i64 {loop.values[0]}, {code.register(f'zext i1 {nan} to i64')}")]
        return loop.results[0] if counted else "0"

    def _key(self, code: Code, bits: str) -> tuple[str, str]:
        """Return the unsigned integer that stands for an element, and the i1 that it is NaN."""
        type, top = self.stored, 8 * self.dtype.itemsize - 1
        nan = "false"
        if self.dtype.is_floating_point:
            infinity = (1 << top) - int(1 / finfo(self.dtype).eps)
            magnitude = code.register(f"and {type} {bits}, {(1 << top) - 1}")
            nan = code.register(f"icmp ugt {type} {magnitude}, {infinity}")
            zero = code.register(f"icmp eq {type} {magnitude}, 0")
            sign = code.register(f"ashr {type} {bits}, {top}")
            flipped = code.register(f"or {type} {sign}, {-1 << top}")
            bits = code.register(f"xor {type} {bits}, {flipped}")
            bits = code.register(f"select i1 {zero}, {type} {-1 << top}, {type} {bits}")
            bits = code.register(f"select i1 {nan}, {type} -1, {type} {bits}")
        elif self.dtype.is_signed:
            bits = code.register(f"xor {type} {bits}, {-1 << top}")
        return (code.register(f"xor {type} {bits}, -1") if self.descending else bits), nan

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

    def _most(self, code: Code, words: str) -> str:
        """Return the last word of the longest run of equal keys; NaN equals nothing."""
        start = [("i64", "0"), (self.word, "0"), ("i64", "0"), (self.word, "0")]
        with code.carry(0, "%n", 1, start) as loop:
            best, found, run, before = loop.values
            word = code.load(self.word, self._at(code, words, loop.index))
            key = code.register(f"lshr {self.word} {word}, {4 * self.size}")
            same = code.register(f"icmp eq {self.word} {key}, {before}")
            if self.dtype.is_floating_point:
                number = code.register(f"icmp ne {self.word} {key}, {(1 << 8 * self.dtype.itemsize) - 1}")
                same = code.register(f"and i1 {same}, {number}")
            length = code.register(f"select i1 {same}, i64 {run}, i64 0")
            length = code.register(f"add i64 {length}, 1")
            more = code.register(f"icmp sgt i64 {length}, {best}")
            best = code.register(f"select i1 {more}, i64 {length}, i64 {best}")
            found = code.register(f"select i1 {more}, {self.word} {word}, {self.word} {found}")
            loop.following = [best, found, length, key]
        return loop.results[1]

    def _write(self, code: Code, place: str, word: str) -> None:
        """Store the element and the index of a word at a place of the results."""
        values, value_stride, indices, index_stride, source, stride = self.target
        if self.word == "i64":
            index = code.register(f"and i64 {word}, {(1 << 32) - 1}")
        else:
            index = code.register(f"trunc {self.word} {word} to i64")
        value = code.load(self.stored, code.at(source, index, stride), self.dtype.itemsize)
        code.store(self.stored, value, code.at(values, place, value_stride), self.dtype.itemsize)
        code.store("i64", index, code.at(indices, place, index_stride))

    def _few(self) -> str:
        """@few(keys, out, n): each word at the place that counts the smaller ones."""
        code, word, vector, lanes = Code(), self.word, self.vector, self.lanes
        ones = "-1" if lanes == 1 else f"<{', '.join([f'{word} -1'] * lanes)}>"
        zero = "0" if lanes == 1 else "zeroinitializer"
        counts = "i64" if lanes == 1 else vector
        code.store(vector, ones, self._at(code, "%keys", "%n"))
        with code.loop(0, "%n") as i:
            one = code.load(word, self._at(code, "%keys", i))
            all_lanes = one
            if lanes > 1:
                first = code.register(f"insertelement {vector} poison, {word} {one}, i32 0")
                mask = f"<{lanes} x i32> zeroinitializer"
                all_lanes = code.register(f"shufflevector {vector} {first}, {vector} poison, {mask}")
            with code.carry(0, "%n", lanes, [(counts, zero)]) as loop:
                others = code.load(vector, self._at(code, "%keys", loop.index))
                less = code.register(f"icmp ult {vector} {others}, {all_lanes}")
                bit = code.register(f"zext {'i1' if lanes == 1 else f'<{lanes} x i1>'} {less} to {counts}")
                loop.following = [code.register(f"add {counts} {loop.values[0]}, {bit}")]
            (place,) = loop.results
            if lanes > 1:
                name = f"@llvm.vector.reduce.add.v{lanes}i64"
                self.declarations[name] = f"declare i64 {name}({vector})"
                place = code.register(f"call i64 {name}({vector} {place})")
            code.store(word, one, self._at(code, "%out", place))
        return code.function("define internal void @few(ptr %keys, ptr %out, i64 %n) #0", "  ret void")

    def _digit(self, code: Code, words: str, index: str, digit: str) -> str:
        """Return a digit of a word, 0 being the lowest of its key: a byte of its upper half."""
        place = code.move(self._at(code, words, index), self.size // 2)
        return code.register(f"zext i8 {code.load('i8', code.move(place, digit), 1)} to i64")

    def _zero(self, code: Code, counters: str, digits: int) -> None:
        code.line(f"call void @llvm.memset.p0.i64(ptr {counters}, i8 0, i64 {8 * DIGITS * digits}, i1 false)")

    def _count(self, code: Code, counters: str, digit: str) -> str:
        """Add one to a counter, and return what it was."""
        place = code.slot(counters, digit)
        before = code.load("i64", place)
        code.store("i64", code.register(f"add i64 {before}, 1"), place)
        return before

    def _keep(
        self, code: Code, source: str, target: str, count: str, wanted: Callable[[str, str], str]
    ) -> str:  # fmt: skip
        """Copy the words of which `wanted` says so, in their order, and return how many they are."""
        with code.carry(0, count, 1, [("i64", "0")]) as loop:
            word = code.load(self.word, self._at(code, source, loop.index))
            code.store(self.word, word, self._at(code, target, loop.values[0]))
            more = code.register(f"zext i1 {wanted(loop.index, word)} to i64")
            loop.following = [code.register(f"add i64 {loop.values[0]}, {more}")]
        return loop.results[0]

    def _sort(self) -> str:
        """@sort(keys, other, n): return which of the two buffers has the words in order."""
        code = Code()
        counters = code.register(f"alloca [{DIGITS * self.digits} x i64], align 64")
        places = [code.variable("ptr", name) for name in ("%keys", "%other")]
        with code.ending(code.register(f"icmp ule i64 %n, {FEW[self.word]}")):
            code.line("call void @few(ptr %keys, ptr %other, i64 %n)")
            code.line("ret ptr %other")
        self._zero(code, counters, self.digits)
        with code.loop(0, "%n") as k:
            for digit in range(self.digits):
                self._count(code, code.slot(counters, DIGITS * digit), self._digit(code, "%keys", k, f"{digit}"))
        with code.loop(0, self.digits) as digit:
            own = code.at(counters, digit, 8 * DIGITS)
            source, target = [code.load("ptr", place) for place in places]
            alike = code.load("i64", code.slot(own, self._digit(code, source, "0", digit)))
            with code.when(code.register(f"icmp ne i64 {alike}, %n")):
                with code.carry(0, DIGITS, 1, [("i64", "0")]) as loop:
                    place = code.slot(own, loop.index)
                    many = code.load("i64", place)
                    code.store("i64", loop.values[0], place)
                    loop.following = [code.register(f"add i64 {loop.values[0]}, {many}")]
                with code.loop(0, "%n") as k:
                    to = self._count(code, own, self._digit(code, source, k, digit))
                    code.store(self.word, code.load(self.word, self._at(code, source, k)), self._at(code, target, to))
                for place, pointer in zip(places, (target, source), strict=True):
                    code.store("ptr", pointer, place)
        tail = f"  ret ptr {code.load('ptr', places[0])}"
        return code.function("define internal ptr @sort(ptr %keys, ptr %other, i64 %n) #0", tail)

    def _select(self) -> str:
        """@select(keys, other, n, rank): the word of a rank, the smallest having 0. The keys stay as they are."""
        code = Code()
        counters = code.register(f"alloca [{DIGITS} x i64], align 64")
        places = [code.variable(type, name) for type, name in (("ptr", "%keys"), ("i64", "%n"), ("i64", "%rank"))]
        with code.loop(0, self.digits) as k:
            source, many, rank = [code.load(type, one) for type, one in zip(("ptr", "i64", "i64"), places, strict=True)]
            with code.when(code.register(f"icmp ugt i64 {many}, {FEW[self.word]}")):
                digit = code.register(f"sub i64 {self.digits - 1}, {k}")
                self._zero(code, counters, 1)
                with code.loop(0, many) as each:
                    self._count(code, counters, self._digit(code, source, each, digit))
                with code.carry(0, DIGITS, 1, [("i64", "0"), ("i64", "0"), ("i64", "0")]) as loop:
                    total, bucket, before = loop.values
                    after = code.register(f"add i64 {total}, {code.load('i64', code.slot(counters, loop.index))}")
                    lower = code.register(f"icmp ule i64 {after}, {rank}")
                    following = code.register(f"add i64 {loop.index}, 1")
                    bucket = code.register(f"select i1 {lower}, i64 {following}, i64 {bucket}")
                    loop.following = [after, bucket, code.register(f"select i1 {lower}, i64 {after}, i64 {before}")]
                _, bucket, before = loop.results

                def inside(k: str, word: str) -> str:
                    return code.register(f"icmp eq i64 {self._digit(code, source, k, digit)}, {bucket}")

                code.store("i64", self._keep(code, source, "%other", many, inside), places[1])
                code.store("ptr", "%other", places[0])
                code.store("i64", code.register(f"sub i64 {rank}, {before}"), places[2])
        source, many, rank = [code.load(type, one) for type, one in zip(("ptr", "i64", "i64"), places, strict=True)]
        with code.ending(code.register(f"icmp ule i64 {many}, {FEW[self.word]}")):
            ordered = self._at(code, "%other", code.register(f"add i64 {many}, {self.lanes}"))
            code.line(f"call void @few(ptr {source}, ptr {ordered}, i64 {many})")
            code.line(f"ret {self.word} {code.load(self.word, self._at(code, ordered, rank))}")
        tail = f"  ret {self.word} {code.load(self.word, self._at(code, source, rank))}"
        return code.function(f"define internal {self.word} @select(ptr %keys, ptr %other, i64 %n, i64 %rank) #0", tail)
