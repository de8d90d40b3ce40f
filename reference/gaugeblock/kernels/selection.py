"""LLVM IR functions that order a few unsigned integers of a type, and select one of many by its rank.

Selection follows Floyd and Rivest, "Expected time bounds for selection" (1975): two elements of a small sample bound
the wanted one from both sides, most likely. What lies outside of these is dropped, until few are left. An array has
room for the elements of a vector behind its own.
"""

from __future__ import annotations

from collections.abc import Callable

from .code import Code, Declarations
from .isa import Level

FEW_VECTORS = (6, 12)
"""Vectors of elements, no two of which are equal, up to which comparing each with each selects and sorts faster."""
SPREAD = 3
"""Distance in the sample from the expected place of the element to either bound."""
_HASH = 0x9E3779B97F4A7C15 - (1 << 64)
"""Weyl's sequence of the golden ratio: places of a sample that no pattern in the data meets."""


def vector_type(type: str, width: int) -> str:
    """Return the type of a vector, or of its one element."""
    return type if width == 1 else f"<{width} x {type}>"


def splat(type: str, number: int, width: int) -> str:
    """Return a constant in all lanes of a vector."""
    return f"{number}" if width == 1 else f"splat ({type} {number})"


def repeated(code: Code, type: str, value: str, width: int) -> str:
    """Return a scalar register in all lanes of a vector."""
    if width == 1:
        return value
    vector = vector_type(type, width)
    first = code.register(f"insertelement {vector} poison, {type} {value}, i32 0")
    return code.register(f"shufflevector {vector} {first}, {vector} poison, <{width} x i32> zeroinitializer")


class Selection:
    """Writes the functions for unsigned integers of `bits` bits, of which no two are equal if they are `distinct`."""

    def __init__(self, bits: int, level: Level, declarations: Declarations, *, distinct: bool = False) -> None:
        self.type, self.size, self.declarations = f"i{bits}", bits // 8, declarations
        self._distinct = distinct
        self.lanes = max(1, level.vector_bytes // self.size) if bits <= 64 else 1
        self.vector, self.truth = vector_type(self.type, self.lanes), vector_type("i1", self.lanes)
        self.few = 32 if bits <= 64 else 12
        """Elements up to which comparing each with each is fastest in any case, and those of a sample."""
        self.few_to_select, self.few_to_sort = (
            max(self.few, vectors * self.lanes) if distinct else self.few for vectors in FEW_VECTORS
        )
        """Elements up to which it is so for selecting one of these, and for sorting them."""

    def declare(self, *names: str) -> None:
        """Declare some of the functions @few, @select, @below and @nth, with the type's name behind each."""
        for name in names:
            self.declarations[f"{name}_{self.type}"] = getattr(self, f"_{name}")()

    def at(self, code: Code, array: str, index: str) -> str:
        """Return the place of an element."""
        return code.at(array, index, self.size)

    def pad(self, code: Code, array: str, count: str) -> None:
        """Store a vector of the largest number behind the elements."""
        code.store(self.vector, splat(self.type, -1, self.lanes), self.at(code, array, count), self.size)

    def select(self, code: Code, array: str, other: str, count: str, rank: str) -> str:
        """Return the element of a rank, 0 being the smallest. The padded array stays as it is; the other is used."""
        return code.register(f"call {self.type} @select_{self.type}(ptr {array}, ptr {other}, i64 {count}, i64 {rank})")

    def sort_few(self, code: Code, array: str, out: str, count: str) -> None:
        """Write a few elements in order, equal ones too, to another array."""
        code.line(f"call void @few_{self.type}(ptr {array}, ptr {out}, i64 {count})")

    def nth(self, code: Code, array: str, count: str, rank: str, value: str) -> str:
        """Return the index of the element of a rank, which has this value; equal ones count in their order."""
        given = f"ptr {array}, i64 {count}"
        before = code.register(f"call i64 @below_{self.type}({given}, {self.type} {value})")
        place = code.register(f"sub i64 {rank}, {before}")
        return code.register(f"call i64 @nth_{self.type}({given}, {self.type} {value}, i64 {place})")

    def keep(self, code: Code, source: str, target: str, count: str, wanted: Callable[[str], str]) -> str:
        """Copy the elements of which `wanted` says so, in their order, and return how many they are."""
        with code.carry(0, count, 1, [("i64", "0")]) as loop:
            one = code.load(self.type, self.at(code, source, loop.index), self.size)
            code.store(self.type, one, self.at(code, target, loop.values[0]), self.size)
            more = code.register(f"zext i1 {wanted(one)} to i64")
            loop.following = [code.register(f"add i64 {loop.values[0]}, {more}")]
        return loop.results[0]

    def _load(self, code: Code, array: str, index: str) -> str:
        return code.load(self.vector, self.at(code, array, index), self.size)

    def lanes_of(self, code: Code, truth: str, width: int) -> str:
        """Return in how many of the lanes something is true."""
        if width == 1:
            return code.register(f"zext i1 {truth} to i64")
        mask = f"i{width}"
        bits = code.register(f"bitcast {vector_type('i1', width)} {truth} to {mask}")
        name = f"@llvm.ctpop.{mask}"
        self.declarations[name] = f"declare {mask} {name}({mask})"
        many = code.register(f"call {mask} {name}({mask} {bits})")
        return many if mask == "i64" else code.register(f"zext {mask} {many} to i64")

    def _tally(self, code: Code, array: str, count: str, bounds: dict[str, str]) -> list[str]:
        """Return how many elements of a padded array hold each comparison with a value."""
        values = {kind: repeated(code, self.type, value, self.lanes) for kind, value in bounds.items()}
        with code.carry(0, count, self.lanes, [("i64", "0")] * len(bounds)) as loop:
            elements = self._load(code, array, loop.index)
            for (kind, value), total in zip(values.items(), loop.values, strict=True):
                true = code.register(f"icmp {kind} {self.vector} {elements}, {value}")
                many = self.lanes_of(code, true, self.lanes)
                loop.following.append(code.register(f"add i64 {total}, {many}"))
        return loop.results

    def _first(self, code: Code, index: str) -> str:
        """Return an index in the elements' own type."""
        if self.size == 8:
            return index
        return code.register(f"{'zext' if self.size > 8 else 'trunc'} i64 {index} to {self.type}")

    def _index(self, code: Code, index: str) -> str:
        """Return the indices of the elements of a vector, in their own type."""
        first = self._first(code, index)
        if self.lanes == 1:
            return first
        places = ", ".join([f"{self.type} {lane}" for lane in range(self.lanes)])
        return code.register(f"add {self.vector} {repeated(code, self.type, first, self.lanes)}, <{places}>")

    def _few(self) -> str:
        """@few(array, out, n): each element at the place that counts the smaller ones, and the equal ones before it."""
        code = self._few_distinct() if self._distinct else self._few_of_any()
        return code.function(f"define internal void @few_{self.type}(ptr %array, ptr %out, i64 %n) #0", "  ret void")

    def _few_distinct(self) -> Code:
        """Count for a vector of elements at a time; the padding comes to stand behind the last one."""
        code = Code()
        self.pad(code, "%array", "%n")
        zero = "0" if self.lanes == 1 else "zeroinitializer"
        with code.loop(0, "%n", self.lanes) as i:
            elements = self._load(code, "%array", i)
            with code.carry(0, "%n", self.lanes, [(self.vector, zero)]) as loop:
                (total,) = loop.values
                for lane in range(self.lanes):
                    other = self.at(code, "%array", code.register(f"add i64 {loop.index}, {lane}"))
                    value = repeated(code, self.type, code.load(self.type, other, self.size), self.lanes)
                    less = code.register(f"icmp ult {self.vector} {value}, {elements}")
                    less = code.register(f"sext {self.truth} {less} to {self.vector}")
                    total = code.register(f"sub {self.vector} {total}, {less}")
                loop.following = [total]
            for lane in range(self.lanes):
                one, place = (
                    each if self.lanes == 1 else code.register(f"extractelement {self.vector} {each}, i32 {lane}")
                    for each in (elements, loop.results[0])
                )
                if self.size != 8:
                    place = code.register(f"{'trunc' if self.size > 8 else 'zext'} {self.type} {place} to i64")
                code.store(self.type, one, self.at(code, "%out", place), self.size)
        return code

    def _few_of_any(self) -> Code:
        code = Code()
        self.pad(code, "%array", "%n")
        with code.loop(0, "%n") as i:
            one = code.load(self.type, self.at(code, "%array", i), self.size)
            value = repeated(code, self.type, one, self.lanes)
            own = repeated(code, self.type, self._first(code, i), self.lanes)
            with code.carry(0, "%n", self.lanes, [("i64", "0")]) as loop:
                others = self._load(code, "%array", loop.index)
                earlier = code.register(f"icmp ult {self.vector} {self._index(code, loop.index)}, {own}")
                equal = code.register(f"icmp eq {self.vector} {others}, {value}")
                tied = code.register(f"and {self.truth} {equal}, {earlier}")
                less = code.register(f"icmp ult {self.vector} {others}, {value}")
                many = self.lanes_of(code, code.register(f"or {self.truth} {less}, {tied}"), self.lanes)
                loop.following = [code.register(f"add i64 {loop.values[0]}, {many}")]
            code.store(self.type, one, self.at(code, "%out", loop.results[0]), self.size)
        return code

    def _below(self) -> str:
        """@below(array, n, value): how many elements are smaller."""
        code = Code()
        (many,) = self._tally(code, "%array", "%n", {"ult": "%value"})
        head = f"define internal i64 @below_{self.type}(ptr %array, i64 %n, {self.type} %value) #0"
        return code.function(head, f"  ret i64 {many}")

    def _nth(self) -> str:
        """@nth(array, n, value, place): the index of an element that equals the value, the `place`-th of these."""
        code = Code()
        value = repeated(code, self.type, "%value", self.lanes)
        with code.carry(0, "%n", self.lanes, [("i64", "0")] * 3) as loop:
            total, start, before = loop.values
            equal = code.register(f"icmp eq {self.vector} {self._load(code, '%array', loop.index)}, {value}")
            after = code.register(f"add i64 {total}, {self.lanes_of(code, equal, self.lanes)}")
            here = code.register(f"icmp ule i64 {total}, %place")
            start = code.register(f"select i1 {here}, i64 {loop.index}, i64 {start}")
            loop.following = [after, start, code.register(f"select i1 {here}, i64 {total}, i64 {before}")]
        _, start, before = loop.results
        with code.carry(0, self.lanes, 1, [("i64", before), ("i64", start)]) as loop:
            total, found = loop.values
            index = code.register(f"add i64 {start}, {loop.index}")
            one = code.load(self.type, self.at(code, "%array", index), self.size)
            equal = code.register(f"icmp eq {self.type} {one}, %value")
            wanted = code.register(f"and i1 {equal}, {code.register(f'icmp eq i64 {total}, %place')}")
            more = code.register(f"add i64 {total}, {code.register(f'zext i1 {equal} to i64')}")
            loop.following = [more, code.register(f"select i1 {wanted}, i64 {index}, i64 {found}")]
        head = f"define internal i64 @nth_{self.type}(ptr %array, i64 %n, {self.type} %value, i64 %place) #0"
        return code.function(head, f"  ret i64 {loop.results[1]}")

    def _select(self) -> str:
        """@select(array, other, n, rank)."""
        code, type = Code(), self.type
        room = f"alloca [{self.few_to_select + self.lanes} x {type}], align 64"
        sample, ordered = code.register(room), code.register(room)
        first = (("ptr", "%array"), ("i64", "%n"), ("i64", "%rank"), ("i64", f"{SPREAD}"), ("i64", "0"))
        places = [code.variable(kind, value) for kind, value in first]
        again, done = code.label(), code.label()
        code.branch(code.register(f"icmp ugt i64 %n, {self.few_to_select}"), again, done)
        code.begin(again)
        source, many, rank, spread, seed = [code.load(kind, at) for (kind, _), at in zip(first, places, strict=True)]
        gap = code.register(f"udiv i64 {many}, {self.few}")
        with code.carry(0, self.few, 1, [("i64", seed)]) as loop:
            off = code.register(f"lshr i64 {loop.values[0]}, 40")
            off = code.register(f"lshr i64 {code.register(f'mul i64 {off}, {gap}')}, 24")
            taken = code.register(f"add i64 {code.register(f'mul i64 {loop.index}, {gap}')}, {off}")
            one = code.load(type, self.at(code, source, taken), self.size)
            code.store(type, one, self.at(code, sample, loop.index), self.size)
            loop.following = [code.register(f"add i64 {loop.values[0]}, {_HASH}")]
        code.store("i64", loop.results[0], places[4])
        self.sort_few(code, sample, ordered, f"{self.few}")
        near = code.register(f"udiv i64 {code.register(f'mul i64 {rank}, {self.few}')}, {many}")
        ends = code.register(f"sub i64 {near}, {spread}"), code.register(f"add i64 {near}, {spread}")
        self.declarations["smax"] = "declare i64 @llvm.smax.i64(i64, i64)"
        low = code.register(f"call i64 @llvm.smax.i64(i64 {ends[0]}, i64 0)")
        high = code.minimum(ends[1], self.few - 1)
        low, high = [code.load(type, self.at(code, ordered, place), self.size) for place in (low, high)]
        smaller, up_to = self._tally(code, source, many, {"ult": low, "ule": high})
        below, within = [code.register(f"icmp ult i64 {rank}, {total}") for total in (smaller, up_to)]

        def chosen(kind: str, lower: str, middle: str, upper: str) -> str:
            inner = code.register(f"select i1 {within}, {kind} {middle}, {kind} {upper}")
            return code.register(f"select i1 {below}, {kind} {lower}, {kind} {inner}")

        least = chosen(type, "0", low, code.register(f"add {type} {high}, 1"))
        largest = chosen(type, code.register(f"sub {type} {low}, 1"), high, "-1")
        span = code.register(f"sub {type} {largest}, {least}")

        def inside(one: str) -> str:
            return code.register(f"icmp ule {type} {code.register(f'sub {type} {one}, {least}')}, {span}")

        kept = self.keep(code, source, "%other", many, inside)
        only = code.register(f"icmp eq {type} {span}, 0")
        left = code.register(f"select i1 {only}, i64 1, i64 {kept}")
        self.pad(code, "%other", left)
        before = chosen("i64", "0", smaller, up_to)
        rank = code.register(f"select i1 {only}, i64 0, i64 {code.register(f'sub i64 {rank}, {before}')}")
        slow = code.register(f"icmp ugt i64 {code.register(f'shl i64 {left}, 1')}, {many}")
        spread = code.register(f"select i1 {slow}, i64 0, i64 {SPREAD}")
        for place, (kind, _), value in zip(places, first, ("%other", left, rank, spread), strict=False):
            code.store(kind, value, place)
        code.branch(code.register(f"icmp ugt i64 {left}, {self.few_to_select}"), again, done)
        code.begin(done)
        source, many, rank = [code.load(kind, at) for (kind, _), at in zip(first[:3], places, strict=False)]
        self.sort_few(code, source, ordered, many)
        tail = f"  ret {type} {code.load(type, self.at(code, ordered, rank), self.size)}"
        head = f"define internal {type} @select_{type}(ptr %array, ptr %other, i64 %n, i64 %rank) #0"
        return code.function(head, tail)
