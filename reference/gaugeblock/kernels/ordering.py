"""Kernels that order the elements of rows: sorting them, finding the first few, one by its rank, or the most frequent.

    kernel(values_ptr, indices_ptr, scratch_ptr, in_ptr, number, ndim, sizes..., byte strides of the four...) -> None

Dimension 0 is the row. Each element becomes a word: its key, bits in the unsigned order of the values with NaN last,
above its index in the row. No two words are equal, and equal elements stay in their order.

Words are sorted from the lowest digit of their keys to the highest (LSD radix sort). One is selected by counting how
many lie in each of 256 parts of the range, and narrowing this to a part. A few are compared each with each. The first
few of a long row are gathered in a buffer, from which all but these are dropped whenever it is full. Words of short
rows are on the stack: there is no scratch operand.
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
"""Words of a row that are on the stack."""
MORE = 256
"""Words that a buffer of the first few takes in beyond twice their number before it drops some."""
BUFFER = 384
"""Words by which a buffer is longer than what it has to hold."""
PARTS = 256
ROUNDS = 10
"""Selections of a part until no key is left but one: each leaves less than 1 / 128 of the range."""


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


def scratch_words(order: Order, dtype: DType, size: int, number: int) -> int:
    """Return the 64-bit words of scratch memory for a row; 0 if it needs none."""
    held = 2 * number if order is Order.SELECTED else size
    return 0 if held <= LOCAL else 2 * (held + BUFFER) * _bytes(word_of(dtype, size)) // 8


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
        self.stored = f"i{8 * dtype.itemsize}"
        self.lanes = max(1, level.vector_bytes // 8) if word == "i64" else 1
        self.vector = _vector(word, self.lanes)
        self.declarations = Declarations(level.vector_bytes)

    def text(self) -> str:
        """LLVM IR of the module; the row function is called @NAME."""
        self.declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        self.declarations["ctlz"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
        self.declarations["few"] = self._few()
        self.declarations["range"] = self._range()
        if self.order in (Order.SORTED, Order.SELECTED, Order.MODE):
            self.declarations["sort"] = self._sort()
        if self.order not in (Order.SORTED, Order.MODE):
            self.declarations["select"] = self._select()
        if self.order is Order.SELECTED:
            self.declarations["add"] = self._add()
        return row_module(self._row(), self.declarations, self.level.attributes)

    def _row(self) -> Code:
        code = Code()
        many = 3 if self.local else 4
        pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(many)]
        strides = [code.load("i64", code.slot("%strides", k)) for k in range(many)]
        number = code.load("i64", "%numbers")
        held = code.register(f"shl i64 {number}, 1") if self.order is Order.SELECTED else "%n"
        keys = code.register(f"alloca [{2 * (LOCAL + BUFFER)} x {self.word}], align 64") if self.local else pointers[2]
        other = self._at(code, keys, code.register(f"add i64 {held}, {BUFFER}"))
        self.target = pointers[0], strides[0], pointers[1], strides[1], pointers[-1], strides[-1]
        count, missing = "%n", "0"
        if self.order is Order.SELECTED:
            count = self._first_few(code, keys, other, pointers[-1], strides[-1], number)
        else:
            missing = self._pack(code, keys, pointers[-1], strides[-1])
        if self.order in (Order.RANKED, Order.MEDIAN, Order.NANMEDIAN):
            self._write(code, "0", self._selected(code, keys, other, "%n", self._rank(code, number, missing)))
            return code
        found = code.register(f"call ptr @sort(ptr {keys}, ptr {other}, i64 {count})")
        if self.order is Order.MODE:
            self._write(code, "0", self._most(code, found))
            return code
        with code.loop(0, number) as k:
            self._write(code, k, code.load(self.word, self._at(code, found, k)))
        return code

    def _selected(self, code: Code, keys: str, other: str, count: str, rank: str) -> str:
        return code.register(f"call {self.word} @select(ptr {keys}, ptr {other}, i64 {count}, i64 {rank})")

    def _at(self, code: Code, words: str, index: str) -> str:
        return code.at(words, index, self.size)

    def _word(self, code: Code, source: str, stride: str, index: str) -> tuple[str, str]:
        """Return the word of an element, and the i1 that it is NaN."""
        bits = code.load(self.stored, code.at(source, index, stride), self.dtype.itemsize)
        key, nan = self._key(code, bits, 1)
        wide = code.register(f"zext {self.stored} {key} to {self.word}") if self.stored != self.word else key
        high = code.register(f"shl {self.word} {wide}, {4 * self.size}")
        low = index if self.word == "i64" else code.register(f"zext i64 {index} to {self.word}")
        return code.register(f"or {self.word} {high}, {low}"), nan

    def _pack(self, code: Code, keys: str, source: str, stride: str) -> str:
        """Store the words of a row, and return how many elements are NaN, if that is asked for."""
        counted = self.order in (Order.MEDIAN, Order.NANMEDIAN) and self.dtype.is_floating_point
        with code.carry(0, "%n", 1, [("i64", "0")] if counted else []) as loop:
            word, nan = self._word(code, source, stride, loop.index)
            code.store(self.word, word, self._at(code, keys, loop.index))
            if counted:
                loop.following = [code.register(f"add i64 {loop.values[0]}, {code.register(f'zext i1 {nan} to i64')}")]
        return loop.results[0] if counted else "0"

    def _key(self, code: Code, bits: str, width: int) -> tuple[str, str]:
        """Return the key of an element, or of a vector of them, and the i1 that it is NaN."""
        top, nan, type = 8 * self.dtype.itemsize - 1, "false", _vector(self.stored, width)
        truth = _vector("i1", width)

        def splat(number: int) -> str:
            return _splat(self.stored, number, width)

        if self.dtype.is_floating_point:
            magnitude = code.register(f"and {type} {bits}, {splat((1 << top) - 1)}")
            infinity = (1 << top) - int(1 / finfo(self.dtype).eps)
            nan = code.register(f"icmp ugt {type} {magnitude}, {splat(infinity)}")
            zero = code.register(f"icmp eq {type} {magnitude}, {splat(0)}")
            sign = code.register(f"ashr {type} {bits}, {splat(top)}")
            flipped = code.register(f"or {type} {sign}, {splat(-1 << top)}")
            bits = code.register(f"xor {type} {bits}, {flipped}")
            bits = code.register(f"select {truth} {zero}, {type} {splat(-1 << top)}, {type} {bits}")
            bits = code.register(f"select {truth} {nan}, {type} {splat(-1)}, {type} {bits}")
        elif self.dtype.is_signed:
            bits = code.register(f"xor {type} {bits}, {splat(-1 << top)}")
        return (code.register(f"xor {type} {bits}, {splat(-1)}") if self.descending else bits), nan

    def _first_few(self, code: Code, keys: str, other: str, source: str, stride: str, number: str) -> str:
        """Store the words of the first so many elements in any order, and return how many they are."""
        width = max(1, self.level.vector_bytes // self.dtype.itemsize)
        type, truth = _vector(self.stored, width), _vector("i1", width)
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
                less = code.register(f"icmp ult {type} {key}, {_repeated(code, self.stored, high, width)}")
                name = f"@llvm.vector.reduce.or.v{width}i1"
                if width > 1:
                    self.declarations[name] = f"declare i1 {name}({truth})"
                    less = code.register(f"call i1 {name}({truth} {less})")
                code.store("i1", less, wanted, 1)
            with code.when(code.load("i1", wanted, 1)):
                given = f"ptr {source}, i64 {stride}, i64 {begin}, i64 {code.minimum(end, '%n')}, ptr {keys}"
                code.line(f"call void @add({given}, ptr {other}, ptr {count}, ptr {bound}, i64 {number})")
        last = code.register(f"sub i64 {number}, 1")
        found = self._selected(code, keys, other, code.load("i64", count), last)
        return self._keep(code, keys, keys, code.load("i64", count), self._up_to(code, found))

    def _add(self) -> str:
        """@add(source, stride, begin, end, keys, other, count, bound, number): add the words below the bound."""
        code = Code()
        limit = code.load(self.word, "%bound")
        with code.carry("%begin", "%end", 1, [("i64", code.load("i64", "%count"))]) as loop:
            word, _ = self._word(code, "%source", "%stride", loop.index)
            code.store(self.word, word, self._at(code, "%keys", loop.values[0]))
            less = code.register(f"icmp ult {self.word} {word}, {limit}")
            loop.following = [code.register(f"add i64 {loop.values[0]}, {code.register(f'zext i1 {less} to i64')}")]
        (many,) = loop.results
        code.store("i64", many, "%count")
        most = code.register(f"add i64 {code.register('shl i64 %number, 1')}, {MORE}")
        with code.when(code.register(f"icmp uge i64 {many}, {most}")):
            last = code.register("sub i64 %number, 1")
            found = self._selected(code, "%keys", "%other", many, last)
            code.store(self.word, found, "%bound")
            code.store("i64", self._keep(code, "%keys", "%keys", many, self._up_to(code, found)), "%count")
        given = "ptr %source, i64 %stride, i64 %begin, i64 %end, ptr %keys, ptr %other"
        head = f"define internal void @add({given}, ptr %count, ptr %bound, i64 %number) #0"
        return code.function(head, "  ret void")

    def _up_to(self, code: Code, bound: str) -> Callable[[str, str], str]:
        return lambda k, word: code.register(f"icmp ule {self.word} {word}, {bound}")

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
        zero = "0" if lanes == 1 else "zeroinitializer"
        counts = "i64" if lanes == 1 else vector
        code.store(vector, _splat(word, -1, lanes), self._at(code, "%keys", "%n"))
        with code.loop(0, "%n") as i:
            one = code.load(word, self._at(code, "%keys", i))
            all_lanes = _repeated(code, word, one, lanes)
            with code.carry(0, "%n", lanes, [(counts, zero)]) as loop:
                others = code.load(vector, self._at(code, "%keys", loop.index))
                less = code.register(f"icmp ult {vector} {others}, {all_lanes}")
                bit = code.register(f"zext {_vector('i1', lanes)} {less} to {counts}")
                loop.following = [code.register(f"add {counts} {loop.values[0]}, {bit}")]
            (place,) = loop.results
            if lanes > 1:
                name = f"@llvm.vector.reduce.add.v{lanes}i64"
                self.declarations[name] = f"declare i64 {name}({vector})"
                place = code.register(f"call i64 {name}({vector} {place})")
            code.store(word, one, self._at(code, "%out", place))
        return code.function("define internal void @few(ptr %keys, ptr %out, i64 %n) #0", "  ret void")

    def _part(self, code: Code, words: str, index: str, least: str, shift: str) -> str:
        """Return a part of how far the key of a word lies above the least one."""
        above = code.register(f"sub i64 {self._key_of(code, words, index)}, {least}")
        return code.register(f"and i64 {code.register(f'lshr i64 {above}, {shift}')}, {PARTS - 1}")

    def _key_of(self, code: Code, words: str, index: str) -> str:
        """Return the key of a word, its upper half, as i64."""
        place = code.move(self._at(code, words, index), self.size // 2)
        if self.word == "i128":
            return code.load("i64", place)
        return code.register(f"zext i32 {code.load('i32', place, 4)} to i64")

    def _zero(self, code: Code, counters: str) -> None:
        code.line(f"call void @llvm.memset.p0.i64(ptr {counters}, i8 0, i64 {8 * PARTS}, i1 false)")

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
        counters = code.register(f"alloca [{PARTS} x i64], align 64")
        places = [code.variable("ptr", name) for name in ("%keys", "%other")]
        with code.ending(code.register(f"icmp ule i64 %n, {FEW[self.word]}")):
            code.line("call void @few(ptr %keys, ptr %other, i64 %n)")
            code.line("ret ptr %other")
        least, bits = self._ranged(code, "%keys", "%n")
        with code.loop(0, bits, 8) as shift:
            source, target = [code.load("ptr", place) for place in places]
            self._zero(code, counters)
            with code.loop(0, "%n") as k:
                self._count(code, counters, self._part(code, source, k, least, shift))
            alike = code.load("i64", code.slot(counters, self._part(code, source, "0", least, shift)))
            with code.when(code.register(f"icmp ne i64 {alike}, %n")):
                with code.carry(0, PARTS, 1, [("i64", "0")]) as loop:
                    place = code.slot(counters, loop.index)
                    many = code.load("i64", place)
                    code.store("i64", loop.values[0], place)
                    loop.following = [code.register(f"add i64 {loop.values[0]}, {many}")]
                with code.loop(0, "%n") as k:
                    to = self._count(code, counters, self._part(code, source, k, least, shift))
                    code.store(self.word, code.load(self.word, self._at(code, source, k)), self._at(code, target, to))
                for place, pointer in zip(places, (target, source), strict=True):
                    code.store("ptr", pointer, place)
        tail = f"  ret ptr {code.load('ptr', places[0])}"
        return code.function("define internal ptr @sort(ptr %keys, ptr %other, i64 %n) #0", tail)

    def _select(self) -> str:
        """@select(keys, other, n, rank): the word of a rank, the smallest having 0. The keys stay as they are."""
        code = Code()
        counters = code.register(f"alloca [{PARTS} x i64], align 64")
        places = [code.variable(type, name) for type, name in (("ptr", "%keys"), ("i64", "%n"), ("i64", "%rank"))]
        with code.loop(0, ROUNDS):
            source, many, rank = [code.load(type, one) for type, one in zip(("ptr", "i64", "i64"), places, strict=True)]
            with code.when(code.register(f"icmp ugt i64 {many}, {FEW[self.word]}")):
                least, bits = self._ranged(code, source, many)
                self.declarations["usub"] = "declare i64 @llvm.usub.sat.i64(i64, i64)"
                shift = code.register(f"call i64 @llvm.usub.sat.i64(i64 {bits}, i64 8)")
                with code.when(code.register(f"icmp ne i64 {bits}, 0")):
                    self._narrow(code, counters, places, (source, many, rank), (least, shift))
        source, many, rank = [code.load(type, one) for type, one in zip(("ptr", "i64", "i64"), places, strict=True)]
        with code.ending(code.register(f"icmp ule i64 {many}, {FEW[self.word]}")):
            ordered = self._at(code, "%other", code.register(f"add i64 {many}, {self.lanes}"))
            code.line(f"call void @few(ptr {source}, ptr {ordered}, i64 {many})")
            code.line(f"ret {self.word} {code.load(self.word, self._at(code, ordered, rank))}")
        tail = f"  ret {self.word} {code.load(self.word, self._at(code, source, rank))}"
        return code.function(f"define internal {self.word} @select(ptr %keys, ptr %other, i64 %n, i64 %rank) #0", tail)

    def _narrow(
        self, code: Code, counters: str, places: list[str], now: tuple[str, str, str], parts: tuple[str, str]
    ) -> None:
        """Keep the words of the part in which the rank lies."""
        source, many, rank = now
        self._zero(code, counters)
        with code.loop(0, many) as each:
            self._count(code, counters, self._part(code, source, each, *parts))
        with code.carry(0, PARTS, 1, [("i64", "0"), ("i64", "0"), ("i64", "0")]) as loop:
            total, part, before = loop.values
            after = code.register(f"add i64 {total}, {code.load('i64', code.slot(counters, loop.index))}")
            lower = code.register(f"icmp ule i64 {after}, {rank}")
            following = code.register(f"add i64 {loop.index}, 1")
            part = code.register(f"select i1 {lower}, i64 {following}, i64 {part}")
            loop.following = [after, part, code.register(f"select i1 {lower}, i64 {after}, i64 {before}")]
        _, part, before = loop.results

        def inside(k: str, word: str) -> str:
            return code.register(f"icmp eq i64 {self._part(code, source, k, *parts)}, {part}")

        code.store("i64", self._keep(code, source, "%other", many, inside), places[1])
        code.store("ptr", "%other", places[0])
        code.store("i64", code.register(f"sub i64 {rank}, {before}"), places[2])


def _vector(type: str, width: int) -> str:
    return type if width == 1 else f"<{width} x {type}>"


def _splat(type: str, number: int, width: int) -> str:
    return f"{number}" if width == 1 else f"splat ({type} {number})"


def _repeated(code: Code, type: str, value: str, width: int) -> str:
    """Return a scalar register in all lanes of a vector."""
    if width == 1:
        return value
    vector = _vector(type, width)
    first = code.register(f"insertelement {vector} poison, {type} {value}, i32 0")
    return code.register(f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer")
