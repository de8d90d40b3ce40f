"""IR text of a grid kernel: every thread takes steps of the whole grid's size through the elements.

    kernel(pointer..., number..., n, [meta], [fault])

Pointers are those of the memory operands, outputs first; numbers the raw values of Python numbers, truth values as i64;
n counts elements, or the steps of a strided kernel. That has its meta by value: the sizes of all dims but the last,
with 32-bit indices their multipliers and shifts, and the byte strides operand by operand. A kernel whose formula has a
guard stores 1 (i32) at the address `fault`, unless that is null, when a guard failed.
"""

from __future__ import annotations

from typing import NamedTuple

from ...kernels.body import Body
from ...kernels.code import NAME, Declarations
from ...kernels.conversion import Memory
from ...kernels.expression import BOOL
from ...kernels.loops import raw_parameters
from ...kernels.lower import Emitter
from .layout import ONCE, WIDE, Layout, Places, layout_length, strided_places
from .target import BLOCK, Target

THREAD_NUMBERS = ("tid", "ctaid", "ntid", "nctaid")
"""Thread in its block, block in the grid, threads per block, blocks."""


class Parameter(NamedTuple):
    """A kernel parameter: its type in memory, as it is declared, and its register."""

    type: str
    declared: str
    register: str


def parameters(body: Body, layout: Layout, target: Target) -> list[Parameter]:
    """The kernel's parameters, in order."""
    pointer = f"ptr{target.space}"
    found = [Parameter("ptr", pointer, f"%{operand.name}") for operand in body.memory]
    for index, expr in enumerate(raw_parameters(body)):
        type = "i64" if expr.type is BOOL else expr.type.ir
        found.append(Parameter(type, type, f"%number{index}"))
    found.append(Parameter(f"i{layout.bits}", f"i{layout.bits}", "%n"))
    if layout.ndim:
        type = f"[{layout_length(layout, len(body.memory))} x i{layout.bits}]"
        declared = f"ptr byval({type}) align {layout.bits // 8}" if target.is_device else "ptr"
        found.append(Parameter(type, declared, "%meta"))
    if body.guarded:
        found.append(Parameter("ptr", pointer, "%fault"))
    return found


class Read(NamedTuple):
    """Values read of an input for a step, one for all its elements or one for each, each of `many` elements."""

    values: list[str]
    many: int


class GridWriter:
    """Writes the kernel of a body in one layout for one target."""

    def __init__(self, body: Body, layout: Layout, target: Target, declarations: Declarations) -> None:
        self.body = body
        self.layout = layout
        self.target = target
        self.space = target.space
        self.declarations = declarations
        self.index = f"i{layout.bits}"
        self.code = Emitter(1, "x", declarations)
        self.taken: dict[str, str] = {}
        raw = raw_parameters(body)
        for place, expr in enumerate(raw):
            value = f"%number{place}"
            self.code.bind(expr, self.code.register(f"icmp ne i64 {value}, 0") if expr.type is BOOL else value)
        self.numbers = [self.code.emit(parameter.computed) for parameter in body.parameters]

    def text(self) -> str:
        """The function @NAME."""
        given = parameters(self.body, self.layout, self.target)
        head = ", ".join(f"{one.declared} {one.register}" for one in given)
        first, step = self._start()
        for operand, single in zip(self.body.memory, self.layout.single, strict=True):
            if single:
                self.taken[operand.name] = self._read(operand, f"%{operand.name}", 1)
        if self.layout.ndim:
            self._loop(first, "%n", step, self.layout.width)
        else:
            self._flat(first, step)
        if not self.target.is_device:
            numbers = ", ".join(f"i32 %{name}" for name in THREAD_NUMBERS)
            return self.code.function(f"define internal void @{NAME}_thread({head}, {numbers}) #0", "  ret void")
        kernel = self.code.function(f"define ptx_kernel void @{NAME}({head})", "  ret void")
        return f'{kernel}\n!nvvm.annotations = !{{!0}}\n!0 = !{{ptr @{NAME}, !"maxntidx", i32 {BLOCK}}}'

    def _thread_number(self, name: str) -> str:
        if not self.target.is_device:
            return f"%{name}"
        intrinsic = f"@llvm.nvvm.read.ptx.sreg.{name}.x"
        self.declarations[intrinsic] = f"declare i32 {intrinsic}()"
        return self.code.register(f"call i32 {intrinsic}()")

    def _start(self) -> tuple[str, str]:
        """The index of the thread's first step, and the number of threads."""
        numbers = [self._thread_number(name) for name in THREAD_NUMBERS]
        if self.layout.bits == 64:
            numbers = [self.code.register(f"zext i32 {number} to i64") for number in numbers]
        thread, block, threads, blocks = numbers
        before = self.code.register(f"mul {self.index} {block}, {threads}")
        return (
            self.code.register(f"add {self.index} {before}, {thread}"),
            self.code.register(f"mul {self.index} {threads}, {blocks}"),
        )

    def _flat(self, first: str, step: str) -> None:
        width = self.layout.width
        full = "%n" if width == 1 else self.code.register(f"lshr {self.index} %n, {width.bit_length() - 1}")
        self._loop(first, full, step, width)
        if width > 1:
            done = self.code.register(f"shl {self.index} {full}, {width.bit_length() - 1}")
            self._loop(self.code.register(f"add {self.index} {done}, {first}"), "%n", step, 1)

    def _loop(self, first: str, stop: str, step: str, width: int) -> None:
        """A loop over the thread's steps of `width` elements each."""
        with self.code.carry(first, stop, step, [], self.index, "ult") as loop:
            self._elements(self._places(loop.index, width), width)

    def _places(self, index: str, width: int) -> Places:
        """Return where each operand's elements are at a step."""
        if self.layout.ndim:
            names = [operand.name for operand in self.body.memory]
            return strided_places(self.code, self.layout, names, index, self.space)
        places = {}
        for operand in self.body.memory:
            if operand.name not in self.taken:
                whole = f"[{operand.itemsize * width} x i8]"
                at = f"ptr{self.space} %{operand.name}, {self.index} {index}"
                places[operand.name] = self.code.register(f"getelementptr {whole}, {at}")
        return Places(places, {})

    def _inputs(self, places: Places, width: int) -> dict[str, Read]:
        """Return what is read of each input for a step."""
        found = {}
        outputs = len(self.body.outputs)
        for position, operand in enumerate(self.body.inputs, outputs):
            how = self.layout.inner[position] if self.layout.inner else WIDE
            if operand.name in self.taken:
                found[operand.name] = Read([self.taken[operand.name]], 1)
                continue
            place = places.addresses[operand.name]
            if how == WIDE:
                found[operand.name] = Read([self._read(operand, place, width)], width)
            else:
                several = self._several(place, places.steps[operand.name], 1 if how == ONCE else width)
                found[operand.name] = Read([self._read(operand, one, 1) for one in several], 1)
        return found

    def _several(self, place: str, step: str, count: int) -> list[str]:
        """The addresses of `count` elements that lie apart."""
        found = [place]
        for _ in range(count - 1):
            found.append(self.code.register(f"getelementptr i8, ptr{self.space} {found[-1]}, {self.index} {step}"))
        return found

    def _elements(self, places: Places, width: int) -> None:
        """Read the inputs of `width` elements, compute each, write the outputs."""
        read = self._inputs(places, width)
        stored: list[list[str]] = []
        faults: list[str] = []
        code = self.code
        for element in range(width):
            with code.scope():
                for parameter, scalars in zip(self.body.parameters, self.numbers, strict=True):
                    for expr, scalar in zip(parameter.exprs, scalars, strict=True):
                        code.bind(expr, scalar)
                for operand, exprs in zip(self.body.inputs, self.body.arguments, strict=True):
                    values, many = read[operand.name]
                    value = values[element] if len(values) > 1 else values[0]
                    for part, expr in enumerate(exprs):
                        place = (element if many > 1 else 0) * operand.components + part
                        code.bind(expr, self._component(operand, value, many, place))
                code.faults = []
                stored.append(code.emit([expr for exprs in self.body.stored for expr in exprs]))
                fault = code.any_fault()
                faults += [] if fault is None else [fault]
        first = 0
        for operand in self.body.outputs:
            parts = [value for one in stored for value in one[first : first + operand.components]]
            first += operand.components
            self._write(operand, places.addresses[operand.name], parts, width)
        if faults:
            self._report(faults)

    def _read(self, operand: Memory, place: str, width: int) -> str:
        type = operand.ir_type(width)
        return self.code.register(f"load {type}, ptr{self.space} {place}, align {_alignment(operand, width)}")

    def _component(self, operand: Memory, read: str, width: int, place: int) -> str:
        if width * operand.components == 1:
            return read
        return self.code.register(f"extractelement {operand.ir_type(width)} {read}, i32 {place}")

    def _write(self, operand: Memory, place: str, values: list[str], width: int) -> None:
        type = operand.ir_type(width)
        whole = values[0]
        if len(values) > 1:
            whole = "poison"
            for index, value in enumerate(values):
                given = f"{operand.storage.ir} {value}, i32 {index}"
                whole = self.code.register(f"insertelement {type} {whole}, {given}")
        address = f"ptr{self.space} {place}, align {_alignment(operand, width)}"
        self.code.lines.append(f"  store {type} {whole}, {address}")

    def _report(self, faults: list[str]) -> None:
        """Store 1 at the address of faults when there is one and a guard failed."""
        failed, pointer = faults[0], f"ptr{self.space} %fault"
        for fault in faults[1:]:
            failed = self.code.register(f"or i1 {failed}, {fault}")
        wanted = self.code.register(f"icmp ne {pointer}, null")
        with self.code.when(self.code.register(f"and i1 {failed}, {wanted}")):
            self.code.line(f"store i32 1, {pointer}, align 4")


def _alignment(operand: Memory, width: int) -> int:
    """Bytes at which the load of `width` elements is aligned: single complex elements as their components."""
    return operand.itemsize * width if width > 1 else operand.align
