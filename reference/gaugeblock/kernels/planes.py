"""Common parts of the kernels that read planes, which are padded copies of the channels of some samples.

    kernel(out_ptr, input_ptr, other_ptr, bias_ptr or 0, table_ptr, scratch_ptr, slots, splits, units, work) -> None

In a plane, the elements that one place of the window sees from window to window are adjacent: a place is an offset, and
no columns of windows are needed. With a stride, the phases of a plane lie one after another.

The table, of 64-bit ints, says all this of sizes and options: `Planes` names the slots that it begins with. Strides and
offsets are in bytes. Units of work, which share nothing, go to the pool's threads; one that runs takes a slot of the
scratch memory, which begins with a flag, zero when free.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NamedTuple

from ..core.dtype import DType, float32, float64
from .code import NAME, PLAIN, Code
from .common import SHARE_GRID, declaration
from .entry import EntryWriter
from .isa import Level, current_level
from .sharing import DRIVE

FLAG = 64
"""Bytes of a slot before its planes."""
Planes = IntEnum(
    "Planes",
    "SAMPLES BLOCK GROUPS CHANNELS OUTPUTS INPUT_SAMPLE INPUT_CHANNEL INPUT_STEP GRID CHANNEL PLANES_BYTES ROWS "
    "ROWS_AT SLOT_BYTES SLOTS_AT",
    start=0,
)
"""The first slots of the table: how a block of samples is laid out.

A row is an offset in a plane, one in the input, and a length.
"""
FIRST_OF_KERNEL = len(Planes)
_ARGUMENTS = ("out", "input", "other", "bias", "table", "scratch", "slots", "splits", "units")
_POINTERS = 6


def lanes(dtype: DType) -> int:
    """Return the elements of a vector."""
    return max(2, current_level().vector_bytes // dtype.itemsize)


class Unit(NamedTuple):
    """Registers: a unit's part of its group and block, both of these, the block's samples, its planes."""

    split: str
    group: str
    first: str
    samples: str
    planes: str


class PlanesWriter(ABC):
    """Writes the module of a kernel; its subclass writes @NAME_drive, which does a share of the units."""

    title: str

    def __init__(self, dtype: DType, level: Level) -> None:
        self.size, self.lanes, self.level = dtype.itemsize, lanes(dtype), level
        self.type = {float32: "float", float64: "double"}.get(dtype, f"i{8 * dtype.itemsize}")
        self.vector = f"<{self.lanes} x {self.type}>"
        self.float = dtype.kind == 2
        self.zero = "0.0" if self.float else "0"
        self.add, self.multiply = ("fadd", "fmul") if self.float else ("add", "mul")
        self.suffix = f"v{self.lanes}f{8 * self.size}"
        self.code = Code()
        self.given: dict[str, str] = {}

    def text(self) -> str:
        """Return the LLVM IR of the module."""
        declared = ["declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"]
        if self.float:
            v, s = self.vector, self.suffix
            declared.append(f"declare {v} @llvm.fma.{s}({v}, {v}, {v})")
            declared.append(f"declare {self.type} @llvm.vector.reduce.fadd.{s}({self.type}, {v})")
        attributes = f"attributes #0 = {{ {self.level.attributes} }}"
        return "\n".join([*self.functions(), *declared, attributes, self._entry()])

    @abstractmethod
    def functions(self) -> list[str]:
        """Return the functions of the optimised part."""

    def _entry(self) -> str:
        """The Python entry point, which shares out the units."""
        entry = EntryWriter(NAME, self.title)
        given = [entry.integer(k) for k in range(len(_ARGUMENTS))]
        work = entry.integer(len(given))
        entry.check()
        numbers, sizes, strides, pointers = (entry.register(f"alloca [{n} x i64]") for n in (len(given), 2, 2, 1))
        for array, values in ((numbers, given), (sizes, ("1", given[-1])), (strides, "01"), (pointers, "0")):
            for k, value in enumerate(values):
                entry.put("i64", value, array, k)
        box = f"ptr {pointers}, ptr {numbers}, i64 2, ptr {sizes}, ptr {strides}, ptr null, ptr null, i64 0"
        each = entry.register(f"sdiv i64 {work}, {given[-1]}")
        shared = f"call i1 @{SHARE_GRID}(ptr @{NAME}_drive, ptr null, {box}, i64 1, i64 1, i64 {each})"
        entry.line(f"call void @{NAME}_prepare(ptr {numbers})")
        entry.run(f"call i1 @{NAME}_drive(ptr null, {box}, i64 1)", work, shared)
        types = ", ".join(one.split(" ")[0] for one in DRIVE.split(", "))
        declared = [f"declare i1 @{NAME}_drive({types})", f"declare void @{NAME}_prepare(ptr)"]
        text = entry.text("eq", len(given) + 1)
        return "\n".join([PLAIN, declaration(SHARE_GRID), *declared, text, ""])

    def begin(self) -> None:
        """Begin a function that is given the kernel's arguments in %numbers."""
        self.code = Code()
        types = ["ptr"] * _POINTERS + ["i64"] * (len(_ARGUMENTS) - _POINTERS)
        loads = [self.code.load(type, self.code.slot("%numbers", k)) for k, type in enumerate(types)]
        self.given = dict(zip(_ARGUMENTS, loads, strict=True))

    def entry(self, slot: int) -> str:
        """Return the value of a slot of the table."""
        return self.code.load("i64", self.code.slot(self.given["table"], int(slot)))

    def table(self, slot: int) -> str:
        """Return the address of the part of the table that begins at the place in a slot."""
        return self.code.slot(self.given["table"], self.entry(slot))

    def record(self, table: str, index: str, length: int) -> list[str]:
        """Return the values of an entry of a part of the table."""
        place = self.code.at(table, index, 8 * length)
        return [self.code.load("i64", self.code.slot(place, k)) for k in range(length)]

    def product_added(self, a: str, b: str, total: str, mask: str = "") -> str:
        """Return the vector a * b + total; only the bits of the product that a mask has count."""
        code, given = self.code, f"{self.vector} {a}, {self.vector} {b}"
        if self.float and self.level.name != "default" and not mask:
            return code.register(f"call {self.vector} @llvm.fma.{self.suffix}({given}, {self.vector} {total})")
        product = code.register(f"{self.multiply} {self.vector} {a}, {b}")
        if mask:
            ints = f"<{self.lanes} x i{8 * self.size}>"
            bits = code.register(f"bitcast {self.vector} {product} to {ints}")
            bits = code.register(f"and {ints} {bits}, {mask}")
            product = code.register(f"bitcast {ints} {bits} to {self.vector}")
        return code.register(f"{self.add} {self.vector} {product}, {total}")

    def splat(self, value: str) -> str:
        """Return the vector of one value."""
        one = self.code.register(f"insertelement {self.vector} undef, {self.type} {value}, i32 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.code.register(f"shufflevector {self.vector} {one}, {self.vector} undef, {mask}")

    def copy(self, target: str, source: str, count: str, to: str | int, of: str | int, bias: str = "") -> None:
        """Copy elements that are `to` and `of` bytes apart, one of them adjacent; `bias` is added to each."""
        code, size = self.code, self.size
        step = of if to == size else to
        whole = code.register(f"and i64 {count}, {-self.lanes}")
        stop = code.register(f"select i1 {code.register(f'icmp eq i64 {step}, {size}')}, i64 {whole}, i64 0")
        spread = self.splat(bias) if bias else ""
        with code.loop(0, stop, self.lanes) as i:
            value = code.load(self.vector, code.at(source, i, size), size)
            value = code.register(f"{self.add} {self.vector} {value}, {spread}") if bias else value
            code.store(self.vector, value, code.at(target, i, size), size)
        with code.loop(stop, count) as i:
            value = code.load(self.type, code.at(source, i, of), size)
            value = code.register(f"{self.add} {self.type} {value}, {bias}") if bias else value
            code.store(self.type, value, code.at(target, i, to), size)

    @contextmanager
    def units(self) -> Iterator[Unit]:
        """Each unit of this share, in the memory of one slot, whose planes are zero at first."""
        code = self.code
        slots = code.move(self.given["scratch"], self.entry(Planes.SLOTS_AT))
        nbytes = self.entry(Planes.SLOT_BYTES)
        before, look, taken = code.block, code.label(), code.label()
        code.jump(look)
        code.begin(look)
        slot = f"%slot_{look}"
        code.line(f"{slot} = phi i64 [0, %{before}], [{slot}.after, %{look}]")
        flag = code.at(slots, slot, nbytes)
        pair = code.register(f"cmpxchg ptr {flag}, i64 0, i64 1 acq_rel monotonic, align 8")
        ours = code.register(f"extractvalue {{i64, i1}} {pair}, 1")
        following = code.register(f"add i64 {slot}, 1")
        last = code.register(f"icmp eq i64 {following}, {self.given['slots']}")
        code.line(f"{slot}.after = select i1 {last}, i64 0, i64 {following}")
        code.branch(ours, taken, look)
        code.begin(taken)
        planes = code.move(flag, FLAG)
        self.clear(planes, self.entry(Planes.PLANES_BYTES))
        begin = code.load("i64", "%pointers")
        end = code.register(f"add i64 {begin}, {code.load('i64', code.slot('%sizes', 1))}")
        with code.loop(begin, end) as unit:
            rest, split = self._divided(unit, self.given["splits"])
            block, group = self._divided(rest, self.entry(Planes.GROUPS))
            first = code.register(f"mul i64 {block}, {self.entry(Planes.BLOCK)}")
            left = code.register(f"sub i64 {self.entry(Planes.SAMPLES)}, {first}")
            yield Unit(split, group, first, code.minimum(left, self.entry(Planes.BLOCK)), planes)
        code.line(f"store atomic i64 0, ptr {flag} release, align 8")

    def _divided(self, value: str, divisor: str) -> tuple[str, str]:
        return self.code.register(f"udiv i64 {value}, {divisor}"), self.code.register(f"urem i64 {value}, {divisor}")

    def clear(self, place: str, nbytes: str) -> None:
        """Set bytes to zero."""
        self.code.line(f"call void @llvm.memset.p0.i64(ptr {place}, i8 0, i64 {nbytes}, i1 false)")

    def share(self, count: str, split: str) -> tuple[str, str]:
        """Return the range of `count` things that is the share of one of the unit's splits."""
        code, bounds = self.code, []
        for k in (0, 1):
            scaled = code.register(f"mul i64 {count}, {code.register(f'add i64 {split}, {k}')}")
            bounds.append(code.register(f"udiv i64 {scaled}, {self.given['splits']}"))
        return bounds[0], bounds[1]

    def fill_planes(self, source: str, planes: str, channels: str, samples: str, *, constant: bool = False) -> None:
        """Copy channels of samples into planes; if `constant`, copy the one element at `source` to all their places."""
        code = self.code
        rows, table = self.entry(Planes.ROWS), self.table(Planes.ROWS_AT)
        step = "0" if constant else self.entry(Planes.INPUT_STEP)
        with code.loop(0, channels) as c, code.loop(0, samples) as n:
            target = code.at(code.at(planes, c, self.entry(Planes.CHANNEL)), n, self.entry(Planes.GRID))
            origin = source
            if not constant:
                origin = code.at(source, c, self.entry(Planes.INPUT_CHANNEL))
                origin = code.at(origin, n, self.entry(Planes.INPUT_SAMPLE))
            with code.loop(0, rows) as row:
                to, start, count = self.record(table, row, 3)
                place = origin if constant else code.move(origin, start)
                self.copy(code.move(target, to), place, count, self.size, step)

    def prepared(self) -> str:
        """Return @NAME_prepare with the code so far, which runs before all units: it frees the slots."""
        code, slots = self.code, self.code.move(self.given["scratch"], self.entry(Planes.SLOTS_AT))
        with code.loop(0, self.given["slots"]) as slot:
            code.store("i64", 0, code.at(slots, slot, self.entry(Planes.SLOT_BYTES)))
        return code.function(f"define void @{NAME}_prepare(ptr %numbers) #0", "  ret void")

    def drive(self) -> str:
        """Return @NAME_drive with the code so far."""
        return self.code.function(f"define i1 @{NAME}_drive({DRIVE}) #0", "  ret i1 false")
