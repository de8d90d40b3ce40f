"""Threads of a PTX kernel, one after the other, over memory of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from .arithmetic import operation
from .syntax import Function, Statement, parsed

Step = Callable[["_Frame"], "int | None"]
Sizes = tuple[int, int, int]
_END = -1


class _Frame:
    """One call of a function: registers, its block of parameters, blocks for calls, what it returns."""

    __slots__ = ("blocks", "parameters", "place", "registers", "result")

    def __init__(self, parameters: bytes, registers: dict[str, int]) -> None:
        self.parameters = parameters
        self.registers = registers
        self.blocks: dict[str, dict[int, bytes]] = {}
        self.result: dict[int, bytes] = {}
        self.place = 0


class Machine:
    """A PTX image, ready to run. Raises ValueError for instructions that are not known."""

    def __init__(self, image: bytes) -> None:
        module = parsed(image.rstrip(b"\0").decode())
        self._functions = module.functions
        self._tables = {name: ctypes.create_string_buffer(data, len(data)) for name, data in module.tables.items()}
        self._steps = {name: self._compiled(function) for name, function in module.functions.items()}

    def run(self, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Any]) -> None:
        """Run the kernel for every thread of a one-dimensional grid; `arguments` are ctypes values."""
        function = self._functions[name]
        if len(arguments) != len(function.order):
            raise TypeError(f"ptx emulation: {name} takes {len(function.order)} arguments, got {len(arguments)}")
        given = bytearray(function.size)
        for start, argument in zip(function.order, arguments, strict=True):
            data = bytes(argument)
            given[start : start + len(data)] = data
        if len(given) != function.size:
            raise TypeError(f"ptx emulation: the arguments of {name} do not fit its {function.size} bytes")
        for number in range(grid[0] * block[0]):
            special = {"%tid.x": number % block[0], "%ctaid.x": number // block[0]}
            self._call(name, _Frame(bytes(given), {**special, "%ntid.x": block[0], "%nctaid.x": grid[0]}))

    def _call(self, name: str, frame: _Frame) -> None:
        steps = self._steps[name]
        while frame.place != _END:
            moved = steps[frame.place](frame)
            frame.place = frame.place + 1 if moved is None else moved

    def _compiled(self, function: Function) -> list[Step]:
        return [self._step(function, statement) for statement in function.statements]

    def _step(self, function: Function, statement: Statement) -> Step:
        step = self._unguarded(function, statement)
        if not statement.guard:
            return step
        negated, predicate = statement.guard[0] == "!", statement.guard.lstrip("!")
        return lambda frame: step(frame) if bool(frame.registers[predicate]) is not negated else None

    def _unguarded(self, function: Function, statement: Statement) -> Step:
        name, operands = statement.opcode[0], statement.operands
        if name == "bra":
            target = function.labels[operands[0]]
            return lambda frame: target
        if name in ("ret", "exit"):
            return lambda frame: _END
        if name == "call":
            return self._calling(operands)
        if name in ("ld", "st"):
            return self._access(function, statement)
        if name == "mov" and any("{" in operand for operand in operands):
            return _packing(statement, self._value)
        return self._computation(function, statement)

    def _computation(self, function: Function, statement: Statement) -> Step:
        target, *sources = statement.operands
        compute = operation(statement.opcode)
        values = [self._value(source, function) for source in sources]

        def step(frame: _Frame) -> None:
            frame.registers[target] = compute(*[value(frame) for value in values])

        return step

    def _value(self, text: str, function: Function | None = None) -> Callable[[_Frame], int]:
        """The reader of an operand: a register, a constant, or the address of a parameter or table."""
        if text[0] == "%":
            return lambda frame: frame.registers[text]
        if text in self._tables:
            address = ctypes.addressof(self._tables[text])
        elif function is not None and text in function.parameters:
            address = function.parameters[text]
        elif text[:2] in ("0d", "0f"):
            address = int(text[2:], 16)
        else:
            address = int(text.rstrip("U"), 0)
        return lambda frame: address

    def _access(self, function: Function, statement: Statement) -> Step:
        """A load or store of one register or several, in global memory or among parameters."""
        stores, space = statement.opcode[0] == "st", statement.opcode[1]
        nbytes, signed = int(statement.opcode[-1][1:]) // 8, statement.opcode[-1][0] == "s"
        held, place = statement.operands[::-1] if stores else statement.operands
        base, _, moved = place.strip("[]").partition("+")
        offset = int(moved or 0)
        registers = [one.strip() for one in held.strip("{}").split(",")]
        values = [self._value(one) for one in registers] if stores else []
        if space == "param" and base[0] != "%" and base not in function.parameters:
            return _block_access(base, offset, nbytes, registers, values)
        address = self._value(base, function)

        def step(frame: _Frame) -> None:
            start = address(frame) + offset
            if space != "param" and start % (nbytes * len(registers)):
                raise ValueError(f"ptx emulation: misaligned address {start:#x} in {'.'.join(statement.opcode)}")
            for index, register in enumerate(registers):
                at = start + index * nbytes
                if stores:
                    value = values[index](frame) & ((1 << 8 * nbytes) - 1)
                    ctypes.memmove(at, value.to_bytes(nbytes, "little"), nbytes)
                else:
                    data = frame.parameters[at : at + nbytes] if space == "param" else ctypes.string_at(at, nbytes)
                    frame.registers[register] = int.from_bytes(data, "little", signed=signed)

        return step

    def _calling(self, operands: tuple[str, ...]) -> Step:
        """A call: results come back in a block, arguments are handed over in blocks."""
        result, name, given = operands[0].strip("()"), operands[1], operands[2].strip("()")
        places = self._functions[name].order
        blocks = [one.strip() for one in given.split(",")]

        def step(frame: _Frame) -> None:
            parameters = bytearray(self._functions[name].size)
            for start, block in zip(places, blocks, strict=True):
                for offset, data in frame.blocks[block].items():
                    parameters[start + offset : start + offset + len(data)] = data
            called = _Frame(bytes(parameters), {})
            self._call(name, called)
            frame.blocks[result] = called.blocks["func_retval0"]

        return step


def _block_access(
    block: str, offset: int, nbytes: int, registers: list[str], values: list[Callable[[_Frame], int]]
) -> Step:
    """A load or store in a block that a call hands over or gives back."""

    def step(frame: _Frame) -> None:
        for index, register in enumerate(registers):
            at = offset + index * nbytes
            if values:
                value = values[index](frame) & ((1 << 8 * nbytes) - 1)
                frame.blocks.setdefault(block, {})[at] = value.to_bytes(nbytes, "little")
            else:
                frame.registers[register] = int.from_bytes(frame.blocks[block][at], "little")

    return step


def _written(register: str) -> Callable[[_Frame], int]:
    return lambda frame: frame.registers.get(register, 0)


def _packing(statement: Statement, value: Callable[[str], Callable[[_Frame], int]]) -> Step:
    """mov between one register and several that are its parts.

    A part that nothing has written, as LLVM leaves one that nobody will read, is 0.
    """
    bits = int(statement.opcode[-1][1:])
    target, source = statement.operands
    parts = [one.strip() for one in (target if "{" in target else source).strip("{}").split(",")]
    share = bits // len(parts)
    mask = (1 << share) - 1
    if "{" in target:
        whole = value(source)

        def split(frame: _Frame) -> None:
            pattern = whole(frame)
            for index, part in enumerate(parts):
                frame.registers[part] = pattern >> share * index & mask

        return split
    values = [_written(part) if part[0] == "%" else value(part) for part in parts]

    def join(frame: _Frame) -> None:
        frame.registers[target] = sum((one(frame) & mask) << share * index for index, one in enumerate(values))

    return join
