"""Writing LLVM IR: registers, nested loops and branches as Python blocks; what a module declares beside its code.

    code = Code()
    with code.loop("0", "%n", 4) as i:
        value = code.register(f"load i32, ptr {code.at('%in', i, 4)}")

Loops of `loop` carry nothing but their index: running values live in memory. Those of `carry` keep them in registers.
Declarations hold intrinsics, tables and functions for rare cases, which stand in the part without optimisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

NAME = "GAUGEBLOCK_NAME"
"""Stands in a module's text for the name that its content gives it."""
PLAIN = "; without optimisation from here on"
"""The line between the two parts of a module (see compiler)."""
MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"


class Module(NamedTuple):
    """The IR text of a module, and what has to be known of it beside its code."""

    text: str
    facts: str = ""


@dataclass(slots=True)
class Carried:
    """A loop that carries values: their registers in a round, those of the next round, and those after the loop."""

    index: str
    values: list[str]
    following: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)


class Code:
    """The instructions of one function body, or of a part of one with a prefix of its own for registers. `lines` is the
    text so far; registers are numbered by them. `block` is the label of the block that is written."""

    def __init__(self, block: str = "entry", prefix: str = "x") -> None:
        self.lines: list[str] = []
        self.block = block
        self.prefix = prefix
        self._labels = 0

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def register(self, instruction: str) -> str:
        """Append an instruction; the register of its result."""
        name = f"%{self.prefix}.{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def label(self) -> str:
        """A fresh name for a block."""
        self._labels += 1
        return f"b{self._labels}"

    def begin(self, label: str) -> None:
        """Begin a block; the one before must have ended in a branch."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """Branch to a block."""
        self.line(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """Branch to one of two blocks."""
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def move(self, pointer: str, nbytes: str | int) -> str:
        """A pointer some bytes further on."""
        return self.register(f"getelementptr i8, ptr {pointer}, i64 {nbytes}")

    def at(self, pointer: str, index: str | int, stride: str | int) -> str:
        """A pointer `index` strides (bytes) further on."""
        return self.move(pointer, self.register(f"mul i64 {index}, {stride}"))

    def load(self, type: str, pointer: str, align: int = 8) -> str:
        """Load a value."""
        return self.register(f"load {type}, ptr {pointer}, align {align}")

    def store(self, type: str, value: str | int, pointer: str, align: int = 8) -> None:
        """Store a value."""
        self.line(f"store {type} {value}, ptr {pointer}, align {align}")

    def variable(self, type: str, value: str | int, align: int = 8) -> str:
        """The place of a variable that holds `value` at first."""
        place = self.register(f"alloca {type}")
        self.store(type, value, place, align)
        return place

    def slot(self, array: str, index: str | int) -> str:
        """The place of an 8-byte slot in an array."""
        return self.register(f"getelementptr i64, ptr {array}, i64 {index}")

    def minimum(self, a: str, b: str | int) -> str:
        """The smaller of two i64."""
        less = self.register(f"icmp slt i64 {a}, {b}")
        return self.register(f"select i1 {less}, i64 {a}, i64 {b}")

    @contextmanager
    def loop(self, start: str | int, stop: str | int, step: str | int = 1) -> Iterator[str]:
        """A loop while index < stop; gives the register of the index."""
        with self.carry(start, stop, step, []) as loop:
            yield loop.index

    @contextmanager
    def carry(
        self, start: str | int, stop: str | int, step: str | int, state: Sequence[tuple[str, str]],
        index: str = "i64", less: str = "slt",
    ) -> Iterator[Carried]:  # fmt: skip
        """A loop while index < stop that carries values, given by type and register, in registers. `index` is the type
        of the index, and `less` says how it is compared."""
        body, done, before = self.label(), self.label(), self.block
        loop = Carried(f"%i_{body}", [f"%{body}.{k}" for k in range(len(state))])
        self.branch(self.register(f"icmp {less} {index} {start}, {stop}"), body, done)
        self.begin(body)
        heads = len(self.lines)
        yield loop
        last = self.block
        self.line(f"{loop.index}.next = add {index} {loop.index}, {step}")
        self.branch(self.register(f"icmp {less} {index} {loop.index}.next, {stop}"), body, done)
        carried = [(type, first, then) for (type, first), then in zip(state, loop.following, strict=True)]
        self.lines[heads:heads] = [
            f"  {name} = phi {type} [{first}, %{before}], [{then}, %{last}]"
            for name, (type, first, then) in zip(
                (loop.index, *loop.values), [(index, start, f"{loop.index}.next"), *carried], strict=True
            )
        ]
        self.begin(done)
        loop.results = [
            self.register(f"phi {type} [{first}, %{before}], [{then}, %{last}]") for type, first, then in carried
        ]

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """A block that runs only when the i1 is true."""
        with self.ending(condition) as after:
            yield
            self.jump(after)

    @contextmanager
    def ending(self, condition: str) -> Iterator[str]:
        """A block that runs only when the i1 is true, and returns or jumps elsewhere; yields the label behind it."""
        inside, after = self.label(), self.label()
        self.branch(condition, inside, after)
        self.begin(inside)
        yield after
        self.begin(after)

    def leave(self, condition: str, result: str) -> None:
        """Return `result`, a type and a value, if the i1 is true."""
        with self.ending(condition):
            self.line(f"ret {result}")

    def function(self, head: str, tail: str = "") -> str:
        """The text of the function: `head` is everything up to the opening brace."""
        return "\n".join([f"{head} {{", "entry:", *self.lines, tail, "}"])


class Declarations(dict[str, str]):
    """Declarations and definitions that a module needs, by name; `plain` has those of its part without optimisation.

    `vector_bytes` are those of the widest vectors that it is compiled for; `space` follows `ptr` for tables. A module
    that is one part, not `parted`, has everything here.
    """

    def __init__(self, vector_bytes: int = 0, space: str = "", *, parted: bool = True) -> None:
        super().__init__()
        self.vector_bytes = vector_bytes
        self.space = space
        self.plain = Declarations(vector_bytes, space, parted=False) if parted else self

    def text(self, attributes: str, plain: Sequence[str] = ()) -> str:
        """The rest of a module: declarations, the attributes of its functions, and the second part, with `plain`."""
        closing = f"attributes #0 = {{ {attributes} }}"
        second = [*plain, *(() if self.plain is self else self.plain.values())]
        return "\n".join([*self.values(), closing, *([PLAIN, *second, closing] if second else []), ""])


def row_module(code: Code, declarations: Declarations, attributes: str, result: str = "false") -> str:
    """The module of a row function, called @NAME, which returns an i1."""
    head = f"define i1 @{NAME}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0"
    return f"{code.function(head, f'  ret i1 {result}')}\n{declarations.text(attributes)}"
