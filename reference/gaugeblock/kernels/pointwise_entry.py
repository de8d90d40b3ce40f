"""Entry points of pointwise kernels, shared by all kernels with the same signature.

    contiguous(out_ptr..., in_ptr_or_number..., n)
    strided(out_ptr..., in_ptr_or_number..., ndim, sizes..., byte strides operand by operand...)

The function's `self` is a bytes object, the descriptor: the row function's address, the item sizes, and for strided
the address of the driver, over rows or over tiles, the first dim that may be split among threads, and the transfer
routines for tiles.
"""

from __future__ import annotations

from typing import NamedTuple

from .code import NAME, PLAIN, Code
from .common import SHARE_FLAT, SHARE_GRID, declaration
from .entry import EntryWriter
from .isa import Level
from .sharing import DRIVE, MAX_DIMS, along_first, each_row
from .strip_mining import VECTOR_BYTES, repeat

REPEATED_FROM = 8
"""Elements of a row from which repeating those of stride 0 pays."""


def rows_text(operands: int, vectors: Level | None) -> str:
    """Return the IR of the driver for a number of operands in memory: rows over the first dimension, an odometer over
    the others. For rows with vectors of a level, elements of stride 0 are repeated where all else is contiguous."""
    code = Code()
    fault = code.variable("i1", "false", 1)
    steps, cursors, n = along_first(code, operands)
    count, zeros = (n, []) if vectors is None else _repeated(code, operands, n, steps)
    places = code.register(f"alloca [{operands} x ptr]") if zeros else "%pointers"
    buffers = code.register(f"alloca [{len(zeros) * VECTOR_BYTES} x i8], align 64")
    with each_row(code, "%ndim", "%sizes", cursors):
        for k, (zero, size) in enumerate(zeros):
            place, buffer = code.load("ptr", code.slot("%pointers", k)), code.move(buffers, k * VECTOR_BYTES)
            code.store("ptr", code.register(f"select i1 {zero}, ptr {buffer}, ptr {place}"), code.slot(places, k))
            with code.when(zero):
                code.line(f"call void @repeat(ptr {buffer}, ptr {place}, i64 {size})")
        given = f"ptr {places}, ptr %numbers, i64 {count}, ptr {steps}"
        failed = code.register(f"call i1 %row({given})")
        code.store("i1", code.register(f"or i1 {failed}, {code.load('i1', fault, 1)}"), fault, 1)
    text = code.function(f"define i1 @{NAME}({DRIVE})", f"  ret i1 {code.load('i1', fault, 1)}")
    return f"{text}\n{repeat('#0')}\nattributes #0 = {{ {vectors.attributes} }}\n" if vectors else text


def _repeated(code: Code, operands: int, n: str, steps: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the length that the row function gets; for each operand, an i1 that is true to repeat it, and its size."""
    fits, zeros = code.register(f"icmp sge i64 {n}, {REPEATED_FROM}"), []
    for k in range(operands):
        stride, size = (code.load("i64", code.slot(array, k)) for array in (steps, "%itemsizes"))
        zero, adjacent = code.register(f"icmp eq i64 {stride}, 0"), code.register(f"icmp eq i64 {stride}, {size}")
        zero = code.register(f"and i1 {zero}, {code.register(f'icmp sge i64 {k}, %outputs')}")
        fits = code.register(f"and i1 {fits}, {code.register(f'or i1 {zero}, {adjacent}')}")
        zeros.append((zero, size))
    found = [(code.register(f"and i1 {zero}, {fits}"), size) for zero, size in zeros]
    return code.register(f"select i1 {fits}, i64 {code.register(f'sub i64 0, {n}')}, i64 {n}"), found


class Signature(NamedTuple):
    """Number of outputs and the kinds of the other operands: "m" memory, else a number read as "n" int64, "i" and
    "u" int64 or uint64 modulo 2**64, "d" double, "c" two doubles, "b" truth value."""

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
                entry.put("i64", entry.integer(index), self.pointers, places)
                places += 1
                continue
            for type, value in entry.number(index, kind):
                entry.put(type, value, self.numbers, slots)
                slots += 1
        self.last = entry.integer(signature.operands)
        entry.check()
        base = entry.descriptor()
        self.row = entry.register(f"load ptr, ptr {base}")
        self.itemsizes = entry.register(f"getelementptr i64, ptr {base}, i64 1")


def contiguous_entry(signature: Signature) -> str:
    """IR text of the module."""
    entry = EntryWriter(NAME, "contiguous pointwise kernel")
    given = _Arguments(entry, signature)
    call = f"ptr {given.pointers}, ptr {given.numbers}, i64 {given.last}, ptr {given.itemsizes}"
    shared = f"call i1 @{SHARE_FLAT}(ptr {given.row}, {call}, i64 {signature.memory})"
    entry.run(f"call i1 {given.row}({call})", given.last, shared)
    text = entry.text("eq", signature.operands + 1)
    return "\n".join([PLAIN, declaration(SHARE_FLAT), text, ""])


def strided_entry(signature: Signature, weighted: bool = False) -> str:
    """IR text of the module. With `weighted` the last number says how much work an element of the box is."""
    entry = EntryWriter(NAME, "strided pointwise kernel")
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
    entry.proceed(volume)
    driver, transfers = entry.load("ptr", entry.slot(given.itemsizes, many)), entry.slot(given.itemsizes, many + 2)
    call = f"ptr {given.row}, ptr {given.pointers}, ptr {given.numbers}, i64 {ndim}, ptr {sizes}, ptr {strides}"
    call += f", ptr {given.itemsizes}, ptr {transfers}, i64 {signature.outputs}, i64 {many}"
    along = entry.load("i64", entry.slot(given.itemsizes, many + 1))
    each = entry.load("i64", entry.slot(given.numbers, signature.slots - 1)) if weighted else "1"
    shared = f"call i1 @{SHARE_GRID}(ptr {driver}, {call}, i64 {along}, i64 {each})"
    entry.run(f"call i1 {driver}({call})", entry.register(f"mul i64 {volume}, {each}"), shared)
    text = entry.text("sge", first)
    return "\n".join([PLAIN, declaration(SHARE_GRID), text, ""])
