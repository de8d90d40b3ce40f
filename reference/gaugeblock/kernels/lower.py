"""Expression lanes to LLVM IR text, for scalar lanes (width 1) or vector lanes `<W x T>`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence

from .expression import BOOL, F32, Lane, LaneType
from .runtime import ROUTINES

SCALAR_ONLY = frozenset({"call", "pair_call", "sdiv", "udiv", "srem", "urem"})
SCALAR_VISIT, VECTOR_VISIT = 1, 16
"""What the opcode "path" stands for in scalar lanes and in vector lanes: it tells which form of a loop ran."""

# Instructions of 512-bit vectors: the intrinsic and its arguments, "{}" standing for a lane; None keeps the lane.
INSTRUCTIONS_512: dict[tuple[str, int], tuple[str, str] | None] = {
    ("scale", 32): ("@llvm.x86.avx512.mask.scalef.ps.512", "{}, {}, {type} zeroinitializer, i16 -1, i32 4"),
    ("scale", 64): ("@llvm.x86.avx512.mask.scalef.pd.512", "{}, {}, {type} zeroinitializer, i8 -1, i32 4"),
    ("exponent", 32): ("@llvm.x86.avx512.mask.getexp.ps.512", "{}, {type} zeroinitializer, i16 -1, i32 4"),
    ("exponent", 64): ("@llvm.x86.avx512.mask.getexp.pd.512", "{}, {type} zeroinitializer, i8 -1, i32 4"),
    ("mantissa", 32): ("@llvm.x86.avx512.mask.getmant.ps.512", "{}, i32 15, {type} zeroinitializer, i16 -1, i32 4"),
    ("mantissa", 64): ("@llvm.x86.avx512.mask.getmant.pd.512", "{}, i32 15, {type} zeroinitializer, i8 -1, i32 4"),
    ("same", 32): None,
    ("same", 64): None,
}
# Permutations of 512-bit registers by bits and number of registers.
PERMUTATIONS_512 = {
    (32, 1): "permvar.sf", (32, 2): "vpermi2var.ps", (64, 1): "permvar.df", (64, 2): "vpermi2var.pd",
}  # fmt: skip

_BINARY = frozenset("add sub mul fadd fsub fmul fdiv and or xor shl ashr lshr sdiv udiv srem urem".split())
_CASTS = frozenset("trunc sext zext sitofp uitofp fpext fptrunc bitcast".split())


def literal(value: bool | int | float, type: LaneType) -> str:
    """A scalar constant in IR syntax."""
    if type is BOOL:
        return "true" if value else "false"
    if type.is_float:
        if type is F32:
            value = round_to_float32(float(value))
        return "0x" + struct.pack(">d", value).hex().upper()
    return str(value)


def round_to_float32(value: float) -> float:
    """The float32 nearest to a Python float, as a Python float."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def reachable(results: Iterable[Lane]) -> list[Lane]:
    """Every lane used by `results`, arguments before users."""
    order: list[Lane] = []
    seen: set[int] = set()
    stack: list[tuple[Lane, bool]] = [(lane, False) for lane in reversed(list(results))]
    while stack:
        lane, expanded = stack.pop()
        if expanded:
            order.append(lane)
        elif id(lane) not in seen:
            seen.add(id(lane))
            stack.append((lane, True))
            stack.extend((argument, False) for argument in reversed(lane.arguments))
    return order


class Emitter:
    """Writes the instructions of lanes at one vector width.

    `names` maps a lane's id to its register or literal, `lines` is the text so far, `faults` the i1 registers of
    guards, `declarations` the external functions that the module must declare. Rare cases add
    blocks, so a loop must close in a block of its own.
    """

    def __init__(self, width: int, prefix: str, declarations: dict[str, str]) -> None:
        self.width = width
        self.prefix = prefix
        self.declarations = declarations
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.faults: list[str] = []
        self._kept: list[Lane] = []

    def type(self, type: LaneType | str) -> str:
        """IR type of a lane at this width."""
        scalar = type if isinstance(type, str) else type.ir
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def register(self, instruction: str) -> str:
        """Append an instruction, returning the new register that holds its value."""
        name = f"%{self.prefix}.{len(self.lines)}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def bind(self, lane: Lane, name: str) -> None:
        """Let `name` stand for an argument lane."""
        self._kept.append(lane)
        self.names[id(lane)] = name

    def emit(self, results: Sequence[Lane]) -> list[str]:
        """Instructions for `results`; returns their registers or literals."""
        for lane in reachable(results):
            if id(lane) not in self.names:
                self.bind(lane, self._instruction(lane))
        return [self.names[id(lane)] for lane in results]

    def _instruction(self, lane: Lane) -> str:
        opcode, arguments = lane.opcode, [self.names[id(argument)] for argument in lane.arguments]
        if opcode == "constant":
            return self._constant(lane)
        if opcode == "path":
            return self._constant(Lane("constant", lane.type, (), SCALAR_VISIT if self.width == 1 else VECTOR_VISIT))
        type = self.type(lane.type)
        if opcode in _BINARY:
            return self.register(f"{opcode} {type} {arguments[0]}, {arguments[1]}")
        if opcode == "retype":
            return arguments[0]
        if opcode == "guard":
            self.faults.append(arguments[1])
            return arguments[0]
        if opcode == "intrinsic":
            return self._intrinsic(lane, arguments)
        if opcode == "rare":
            return self._rare(lane, arguments)
        if opcode == "instruction":
            return self._native(lane, arguments)
        if opcode == "lookup":
            return self._lookup(lane, arguments)
        if opcode in ("call", "pair_call"):
            return self._call(lane, arguments, "{double, double}" if opcode == "pair_call" else lane.type.ir)
        if opcode == "part":
            return self.register(f"extractvalue {{double, double}} {arguments[0]}, {lane.attribute}")
        source = self.type(lane.arguments[0].type)
        if opcode in ("fcmp", "icmp"):
            return self.register(f"{opcode} {lane.attribute} {source} {arguments[0]}, {arguments[1]}")
        if opcode == "select":
            return self.register(f"select {source} {arguments[0]}, {type} {arguments[1]}, {type} {arguments[2]}")
        if opcode in _CASTS:
            return self.register(f"{opcode} {source} {arguments[0]} to {type}")
        if opcode == "fneg":
            return self.register(f"fneg {type} {arguments[0]}")
        if opcode == "fptosi":
            unfrozen = self.register(f"fptosi {source} {arguments[0]} to {type}")
            return self.register(f"freeze {type} {unfrozen}")
        half = self.type("half")
        if opcode == "half_extend":
            bits = self.register(f"bitcast {source} {arguments[0]} to {half}")
            return self.register(f"fpext {half} {bits} to {type}")
        if opcode == "half_truncate":
            narrow = self.register(f"fptrunc {source} {arguments[0]} to {half}")
            return self.register(f"bitcast {half} {narrow} to {type}")
        raise ValueError(f"lower: unknown opcode {opcode!r} in {lane!r}")

    def _constant(self, lane: Lane) -> str:
        text = literal(lane.attribute, lane.type)
        if self.width == 1:
            return text
        return "<" + ", ".join([f"{lane.type.ir} {text}"] * self.width) + ">"

    def _intrinsic(self, lane: Lane, arguments: list[str]) -> str:
        scalar = f"{'f' if lane.type.is_float else 'i'}{lane.type.bits}"
        suffix = scalar if self.width == 1 else f"v{self.width}{scalar}"
        type = self.type(lane.type)
        name = f"@llvm.{lane.attribute}.{suffix}"
        self.declarations[name] = f"declare {type} {name}({', '.join([type] * len(arguments))})"
        return self.register(f"call {type} {name}({', '.join(f'{type} {value}' for value in arguments)})")

    def _halves(self, lane: Lane, arguments: list[str], emit: Callable[[Lane, list[str]], str]) -> str:
        """`emit` for both halves of vectors of 1024 bits."""
        whole, half = self.width, self.width // 2
        results = []
        for first in (0, half):
            mask = f"<{half} x i32> <{', '.join(f'i32 {k}' for k in range(first, first + half))}>"
            given = []
            for value, argument in zip(arguments, lane.arguments, strict=True):
                type = self.type(argument.type)
                given.append(self.register(f"shufflevector {type} {value}, {type} poison, {mask}"))
            self.width = half
            results.append(emit(lane, given))
            self.width = whole
        type = f"<{half} x {lane.type.ir}>"
        mask = f"<{whole} x i32> <{', '.join(f'i32 {k}' for k in range(whole))}>"
        return self.register(f"shufflevector {type} {results[0]}, {type} {results[1]}, {mask}")

    def _native(self, lane: Lane, arguments: list[str]) -> str:
        """The instruction that vectors of this width have for it, else its first argument, the same in plain lanes."""
        if self.width * lane.type.bits == 1024:
            return self._halves(lane, arguments, self._native)
        if self.width * lane.type.bits != 512:
            return arguments[0]
        instruction = INSTRUCTIONS_512[lane.attribute, lane.type.bits]
        if instruction is None:
            return arguments[1]
        type = self.type(lane.type)
        name, pattern = instruction
        given = pattern.format(*(f"{type} {value}" for value in arguments[1:]), type=type)
        types = ", ".join(value.rpartition(" ")[0] for value in given.split(", "))
        self.declarations[name] = f"declare {type} {name}({types})"
        return self.register(f"call {type} {name}({given})")

    def _lookup(self, lane: Lane, arguments: list[str]) -> str:
        """Entries of a table by the low bits of the index: a permutation of registers where it fits, else loads."""
        if self.width * lane.type.bits == 1024:
            return self._halves(lane, arguments, self._lookup)
        (index,) = arguments
        entries: tuple[float, ...] = lane.attribute
        size, scalar, index_type = len(entries), lane.type.ir, lane.arguments[0].type
        values = [f"{scalar} {literal(entry, lane.type)}" for entry in entries]
        if self.width * lane.type.bits == 512 and size in (self.width, 2 * self.width):
            type, places = self.type(lane.type), f"{self.type(index_type)} {index}"
            parts = [f"{type} <{', '.join(values[k : k + self.width])}>" for k in range(0, size, self.width)]
            name = f"@llvm.x86.avx512.{PERMUTATIONS_512[lane.type.bits, len(parts)]}.512"
            given = [parts[0], places, *parts[1:]]
            types = [type, self.type(index_type), *([type] * (len(parts) - 1))]
            self.declarations[name] = f"declare {type} {name}({', '.join(types)})"
            return self.register(f"call {type} {name}({', '.join(given)})")
        text = f"[{size} x {scalar}] [{', '.join(values)}]"
        name = f"@gb_table_{zlib.crc32(text.encode()):08x}"
        self.declarations[name] = f"{name} = internal unnamed_addr constant {text}, align 64"
        mask = self._constant(Lane("constant", index_type, (), size - 1))
        inside = self.register(f"and {self.type(index_type)} {index}, {mask}")
        if self.width == 1:
            place = self.register(f"getelementptr {scalar}, ptr {name}, {index_type.ir} {inside}")
            return self.register(f"load {scalar}, ptr {place}")
        vector = "poison"
        for k in range(self.width):
            at = self.register(f"extractelement {self.type(index_type)} {inside}, i32 {k}")
            place = self.register(f"getelementptr {scalar}, ptr {name}, {index_type.ir} {at}")
            entry = self.register(f"load {scalar}, ptr {place}")
            vector = self.register(f"insertelement {self.type(lane.type)} {vector}, {scalar} {entry}, i32 {k}")
        return vector

    def _call(self, lane: Lane, arguments: list[str], result: str) -> str:
        types = [argument.type.ir for argument in lane.arguments]
        name = f"@{lane.attribute}"
        if lane.attribute in ROUTINES:
            self.declarations[name] = ROUTINES[lane.attribute]
        else:
            self.declarations[name] = f"declare {result} {name}({', '.join(types)})"
        if self.width == 1:
            given = ", ".join(f"{type} {value}" for type, value in zip(types, arguments, strict=True))
            return self.register(f"call {result} {name}({given})")
        if result != lane.type.ir:
            raise ValueError(f"lower: {lane.attribute} returns a pair and has no vector form")
        vector = "poison"
        for k in range(self.width):
            parts = [
                self.register(f"extractelement <{self.width} x {type}> {value}, i32 {k}")
                for type, value in zip(types, arguments, strict=True)
            ]
            given = ", ".join(f"{type} {value}" for type, value in zip(types, parts, strict=True))
            single = self.register(f"call {result} {name}({given})")
            vector = self.register(f"insertelement {self.type(lane.type)} {vector}, {result} {single}, i32 {k}")
        return vector

    def _rare(self, lane: Lane, arguments: list[str]) -> str:
        """The fast value, replaced by a call in the lanes where the condition holds; the call is branched around."""
        fast, condition, *given = arguments
        type, truth = self.type(lane.type), self.type(BOOL)
        number = len(self.lines)
        slow, join, before = (f"{self.prefix}.{word}{number}" for word in ("slow", "join", "before"))
        some = condition
        if self.width > 1:
            name = f"@llvm.vector.reduce.or.v{self.width}i1"
            self.declarations[name] = f"declare i1 {name}({truth})"
            some = self.register(f"call i1 {name}({truth} {condition})")
        branch = f"  br i1 {some}, label %{slow}, label %{join}"
        self.lines += [f"  br label %{before}", f"{before}:", branch, f"{slow}:"]
        called = self._call(Lane("call", lane.type, lane.arguments[2:], lane.attribute), given, lane.type.ir)
        mixed = self.register(f"select {truth} {condition}, {type} {called}, {type} {fast}")
        self.lines += [f"  br label %{join}", f"{join}:"]
        return self.register(f"phi {type} [{fast}, %{before}], [{mixed}, %{slow}]")

    def splat(self, value: str, type: LaneType) -> str:
        """A scalar register repeated over all lanes."""
        if self.width == 1:
            return value
        vector = self.type(type)
        one = self.register(f"insertelement {vector} poison, {type.ir} {value}, i32 0")
        return self.register(
            f"shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer"
        )

    def any_fault(self) -> str | None:
        """One i1 that is true when any guard of any lane failed; None without guards."""
        if not self.faults:
            return None
        type = self.type(BOOL)
        combined = self.faults[0]
        for fault in self.faults[1:]:
            combined = self.register(f"or {type} {combined}, {fault}")
        if self.width == 1:
            return combined
        name = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declarations[name] = f"declare i1 {name}({type})"
        return self.register(f"call i1 {name}({type} {combined})")
