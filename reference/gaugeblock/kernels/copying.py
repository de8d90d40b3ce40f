"""IR text of one strided row that is copied as it is: elements of any dtype of one size, or blocks of a few bytes.

    define i1 @NAME(ptr pointers, ptr numbers, i64 n, ptr strides)

It is called as the row functions of `loops` are, and returns false. Adjacent elements are moved in vectors, the last of
which overlaps the one before, and in shorter vectors where there is not one whole; so are elements that come to lie in
reverse order. The output is the input itself, or shares no memory with it.

A block is moved by a few loads and stores of one size, of which the last overlaps the one before, so that rows of few
elements take about as long as elements do.

Memory is read in order, for then the processor loads ahead what is needed next. Stores need not wait.
"""

from __future__ import annotations

from collections.abc import Callable

from .body import Body
from .code import Code, Declarations, row_module
from .isa import Level

MOST_BLOCK = 256
"""Bytes of the largest block."""
WIDEST = 64
"""Bytes that are moved at once, at most."""


def is_copied(body: Body) -> bool:
    """Return whether the body stores what it loads, in one operand of memory for another."""
    if body.parameters or len(body.outputs) != 1 or len(body.inputs) != 1:
        return False
    return [*map(id, body.stored[0])] == [*map(id, body.arguments[0])]


def copied_row(itemsize: int, level: Level) -> str:
    """Return the module of the row function for elements of a size."""
    code, types = Code(), _Types(itemsize)
    (to, source), (to_step, step) = (
        [code.load(type, code.slot(array, k)) for k in range(2)]
        for type, array in (("ptr", "%pointers"), ("i64", "%strides"))
    )
    given = code.register("icmp slt i64 %n, 0")
    beside, packed, backward = (
        code.register(f"icmp eq i64 {stride}, {size}")
        for stride, size in ((step, itemsize), (to_step, itemsize), (to_step, -itemsize))
    )
    forward = code.register(f"or i1 {given}, {code.register(f'and i1 {beside}, {packed}')}")
    lanes = level.vector_bytes // itemsize

    def moved(lanes: int, to: str, first: str) -> None:
        types.store(code, lanes, types.load(code, lanes, first), to)

    def turned(lanes: int, to: str, first: str) -> None:
        last = code.move(to, (1 - lanes) * itemsize)
        types.store(code, lanes, types.reversed(code, lanes, types.load(code, lanes, first)), last)

    with code.ending(forward):
        count = code.register(f"select i1 {given}, i64 {code.register('sub i64 0, %n')}, i64 %n")
        _in_vectors(code, lanes, count, (to, source), (f"{itemsize}", step), moved)
    with code.ending(code.register(f"and i1 {beside}, {backward}")):
        _in_vectors(code, lanes, "%n", (to, source), (f"{-itemsize}", f"{itemsize}"), turned)
    with code.carry(0, "%n", 1, [("ptr", to), ("ptr", source)]) as loop:
        moved(1, *loop.values)
        loop.following = [code.move(loop.values[0], to_step), code.move(loop.values[1], step)]
    return row_module(code, Declarations(level.vector_bytes), level.attributes)


def copied_blocks(nbytes: int, level: Level) -> str:
    """Return the module of the row function for blocks of so many bytes."""
    code = Code()
    pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(2)]
    strides = [code.load("i64", code.slot("%strides", k)) for k in range(2)]
    piece = min(1 << nbytes.bit_length() - 1, WIDEST)
    type = f"i{8 * piece}" if piece <= 8 else f"<{piece // 8} x i64>"
    with code.carry(0, "%n", 1, [("ptr", pointer) for pointer in pointers]) as loop:
        to, source = loop.values
        offsets = [*range(0, nbytes - piece, piece), nbytes - piece]
        moved = [code.load(type, code.move(source, offset), 1) for offset in offsets]
        for offset, value in zip(offsets, moved, strict=True):
            code.store(type, value, code.move(to, offset), 1)
        loop.following = [code.move(place, stride) for place, stride in zip(loop.values, strides, strict=True)]
    return row_module(code, Declarations(level.vector_bytes), level.attributes)


def _in_vectors(
    code: Code, lanes: int, count: str, places: tuple[str, str], steps: tuple[str, str],
    move: Callable[[int, str, str], None],
) -> None:  # fmt: skip
    """Move so many elements by vectors of `lanes`, or of fewer if there are not so many, and return."""
    while lanes:
        with code.ending(code.register(f"icmp sge i64 {count}, {lanes}")):
            last = code.register(f"sub i64 {count}, {lanes}")
            whole = [code.register(f"mul i64 {step}, {lanes}") for step in steps]
            with code.carry(0, last, lanes, [("ptr", place) for place in places]) as loop:
                move(lanes, *loop.values)
                loop.following = [code.move(place, step) for place, step in zip(loop.values, whole, strict=True)]
            move(lanes, *(code.at(place, last, step) for place, step in zip(places, steps, strict=True)))
            code.line("ret i1 false")
        lanes //= 2
    code.line("ret i1 false")


class _Types:
    """Loads and stores vectors of elements; those of 16 bytes are two parts each."""

    def __init__(self, itemsize: int) -> None:
        self.parts = max(1, itemsize // 8)
        self.type, self.align = f"i{8 * itemsize // self.parts}", min(itemsize, 4)

    def vector(self, lanes: int) -> str:
        """Return the type of some elements."""
        return f"<{lanes * self.parts} x {self.type}>"

    def load(self, code: Code, lanes: int, place: str) -> str:
        """Load adjacent elements."""
        return code.load(self.vector(lanes), place, self.align)

    def store(self, code: Code, lanes: int, value: str, place: str) -> None:
        """Store adjacent elements."""
        code.store(self.vector(lanes), value, place, self.align)

    def reversed(self, code: Code, lanes: int, value: str) -> str:
        """Return the elements in reverse order."""
        order = [self.parts * lane + part for lane in reversed(range(lanes)) for part in range(self.parts)]
        type, mask = self.vector(lanes), ", ".join([f"i32 {place}" for place in order])
        return code.register(f"shufflevector {type} {value}, {type} poison, <{len(order)} x i32> <{mask}>")
