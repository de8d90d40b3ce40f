"""Entry points of pointwise kernels, shared by all kernels with the same signature, and the n-dimensional driver.

    contiguous(out_ptr..., in_ptr_or_number..., n)
    strided(out_ptr..., in_ptr_or_number..., ndim, sizes..., byte strides operand by operand...)

The function's `self` is a bytes object, the descriptor: the row function's address, the item sizes, and for strided
the address of the driver over tiles (0: rows are taken as they lie), the first dim that may be split among threads,
and the driver's transfer routines.
"""

from __future__ import annotations

from dataclasses import dataclass

from .common import SHARE_FLAT, SHARE_GRID, declaration
from .entry import PYTHON_API, EntryWriter
from .sharing import MAX_DIMS


@dataclass(frozen=True, slots=True)
class Signature:
    """Number of outputs and the kinds of the other operands: "m" memory, else a number read as "i" int64,
    "u" uint64, "d" double, "c" two doubles, "b" truth value."""

    outputs: int
    kinds: str

    @property
    def memory(self) -> int:
        return self.outputs + self.kinds.count("m")

    @property
    def operands(self) -> int:
        return self.outputs + len(self.kinds)

    @property
    def slots(self) -> int:
        return sum({"m": 0, "c": 2}.get(kind, 1) for kind in self.kinds)


class _Arguments:
    def __init__(self, entry: EntryWriter, signature: Signature) -> None:
        self.pointers = entry.register(f"alloca [{signature.memory} x ptr]")
        self.numbers = entry.register(f"alloca [{max(1, signature.slots)} x i64]")
        places = 0
        slots = 0
        for index, kind in enumerate("m" * signature.outputs + signature.kinds):
            if kind == "m":
                entry.store("i64", entry.integer(index), self.pointers, places)
                places += 1
                continue
            for type, value in entry.number(index, kind):
                entry.store(type, value, self.numbers, slots)
                slots += 1
        self.last = entry.integer(signature.operands)
        entry.check()
        base = entry.descriptor()
        self.row = entry.register(f"load ptr, ptr {base}")
        self.itemsizes = entry.register(f"getelementptr i64, ptr {base}, i64 1")


def entries(signature: Signature) -> str:
    """IR text of the module with both entry points."""
    parts = [PYTHON_API, declaration(SHARE_FLAT), declaration(SHARE_GRID), _grid(signature), _drive(signature)]
    return "\n".join([*parts, _contiguous(signature), _strided(signature), ""])


def _contiguous(signature: Signature) -> str:
    entry = EntryWriter("contiguous", "contiguous pointwise kernel")
    given = _Arguments(entry, signature)
    call = f"ptr {given.pointers}, ptr {given.numbers}, i64 {given.last}, ptr {given.itemsizes}"
    shared = f"call i1 @{SHARE_FLAT}(ptr {given.row}, {call}, i64 {signature.memory})"
    entry.run(f"call i1 {given.row}({call})", given.last, shared)
    check = f"  %right = icmp eq i64 %nargs, {signature.operands + 1}"
    return entry.text([check, "  br i1 %right, label %read, label %wrong"])


def _strided(signature: Signature) -> str:
    entry = EntryWriter("strided", "strided pointwise kernel")
    first, many = signature.operands + 1, signature.memory
    given = _Arguments(entry, signature)
    ndim = given.last
    sizes = entry.register(f"alloca [{MAX_DIMS} x i64]")
    strides = entry.register(f"alloca [{MAX_DIMS * many} x i64]")
    needed = entry.register(f"mul i64 {ndim}, {1 + many}")
    total = entry.register(f"add i64 {needed}, {first}")
    fits = entry.register(f"icmp eq i64 {total}, %nargs")
    small = entry.register(f"icmp ule i64 {ndim}, {MAX_DIMS}")
    entry.require(entry.register(f"and i1 {fits}, {small}"))
    volume = entry.array(first, ndim, sizes)
    start = entry.register(f"add i64 {ndim}, {first}")
    amount = entry.register(f"mul i64 {ndim}, {many}")
    entry.array(start, amount, strides)
    entry.check(always=True)
    some, work = entry.register(f"icmp sgt i64 {volume}, 0"), entry.label()
    entry.lines += [f"  br i1 {some}, label %{work}, label %return", f"{work}:"]
    call = f"ptr {given.row}, ptr {given.pointers}, ptr {given.numbers}, i64 {ndim}, ptr {sizes}, ptr {strides}"
    call += f", ptr {given.itemsizes}"
    shared = f"call i1 @{SHARE_GRID}(ptr @drive, {call}, i64 {many})"
    entry.run(f"call i1 @drive({call})", volume, shared)
    return entry.text([f"  %right = icmp sge i64 %nargs, {first}", "  br i1 %right, label %read, label %wrong"])


def _drive(signature: Signature) -> str:
    """@drive: the driver that the descriptor names, else @grid."""
    many = signature.memory
    given = "ptr %row, ptr %cursors, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides"
    return f"""define internal i1 @drive({given}, ptr %itemsizes) {{
  %place = getelementptr i64, ptr %itemsizes, i64 {many}
  %driver = load ptr, ptr %place
  %plain = icmp eq ptr %driver, null
  br i1 %plain, label %rows, label %tiles
rows:
  %a = call i1 @grid({given})
  ret i1 %a
tiles:
  %transfers = getelementptr i64, ptr %itemsizes, i64 {many + 2}
  %b = call i1 %driver({given}, ptr %itemsizes, ptr %transfers, i64 {signature.outputs}, i64 {many})
  ret i1 %b
}}"""


def _grid(signature: Signature) -> str:
    """@grid: rows over the first dimension, an odometer over the others."""
    many = range(signature.memory)
    lines = [
        "define internal i1 @grid(ptr %row, ptr %cursors, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides) {",
        "entry:",
        f"  %counters = alloca [{MAX_DIMS} x i64]",
        f"  %steps = alloca [{signature.memory} x i64]",
        "  %flat = icmp eq i64 %ndim, 0",
        "  %first_size = load i64, ptr %sizes",
        "  %n = select i1 %flat, i64 1, i64 %first_size",
    ]
    for k in many:
        lines += [
            f"  %at_{k} = getelementptr ptr, ptr %cursors, i64 {k}",
            f"  %base_{k} = mul i64 %ndim, {k}",
            f"  %row_{k} = getelementptr i64, ptr %strides, i64 %base_{k}",
            f"  %step_{k} = load i64, ptr %row_{k}",
            f"  %step_place_{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  store i64 %step_{k}, ptr %step_place_{k}",
        ]
    lines += [
        "  br label %clear",
        "clear:",
        "  %c = phi i64 [0, %entry], [%c_next, %clear]",
        "  %c_place = getelementptr i64, ptr %counters, i64 %c",
        "  store i64 0, ptr %c_place",
        "  %c_next = add i64 %c, 1",
        "  %c_more = icmp slt i64 %c_next, %ndim",
        "  br i1 %c_more, label %clear, label %rows",
        "rows:",
        "  %fault = phi i1 [false, %clear], [%fault_next, %step]",
        "  %failed = call i1 %row(ptr %cursors, ptr %numbers, i64 %n, ptr %steps)",
        "  %fault_next = or i1 %fault, %failed",
        "  br label %advance",
        "advance:",
        "  %d = phi i64 [1, %rows], [%d_next, %wrap]",
        "  %inside = icmp slt i64 %d, %ndim",
        "  br i1 %inside, label %move, label %done",
        "move:",
        "  %d_counter = getelementptr i64, ptr %counters, i64 %d",
        "  %d_size = getelementptr i64, ptr %sizes, i64 %d",
        "  %count = load i64, ptr %d_counter",
        "  %size = load i64, ptr %d_size",
        "  %next = add i64 %count, 1",
        "  %room = icmp slt i64 %next, %size",
    ]
    for k in many:
        lines += [
            f"  %d_place_{k} = getelementptr i64, ptr %row_{k}, i64 %d",
            f"  %d_stride_{k} = load i64, ptr %d_place_{k}",
            f"  %d_now_{k} = load ptr, ptr %at_{k}",
        ]
    lines += ["  br i1 %room, label %step, label %wrap", "step:", "  store i64 %next, ptr %d_counter"]
    for k in many:
        lines += [
            f"  %ahead_{k} = getelementptr i8, ptr %d_now_{k}, i64 %d_stride_{k}",
            f"  store ptr %ahead_{k}, ptr %at_{k}",
        ]
    lines += ["  br label %rows", "wrap:", "  store i64 0, ptr %d_counter"]
    for k in many:
        lines += [
            f"  %span_{k} = mul i64 %count, %d_stride_{k}",
            f"  %undo_{k} = sub i64 0, %span_{k}",
            f"  %back_{k} = getelementptr i8, ptr %d_now_{k}, i64 %undo_{k}",
            f"  store ptr %back_{k}, ptr %at_{k}",
        ]
    lines += ["  %d_next = add i64 %d, 1", "  br label %advance", "done:", "  ret i1 %fault_next", "}"]
    return "\n".join(lines)
