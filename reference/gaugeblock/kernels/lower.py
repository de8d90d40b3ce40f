"""Lanes whose IR depends on the width of the vectors: instructions, tables in registers, calls for single lanes."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Sequence

from .code import NAME, Code, Declarations
from .expression import BOOL, Lane, LaneType, Loop, literal

Form = Callable[["Emitter", Lane, list[str]], str]

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


def _halves(emitter: Emitter, lane: Lane, arguments: list[str], form: Form) -> str:
    """`form` for both halves of vectors longer than a register."""
    whole, half = emitter.width, emitter.width // 2
    results = []
    for first in (0, half):
        mask = f"<{half} x i32> <{', '.join(f'i32 {k}' for k in range(first, first + half))}>"
        given = []
        for value, argument in zip(arguments, lane.arguments, strict=True):
            type = emitter.type(argument.type)
            given.append(emitter.register(f"shufflevector {type} {value}, {type} poison, {mask}"))
        emitter.width = half
        results.append(form(emitter, lane, given))
        emitter.width = whole
    type = f"<{half} x {lane.type.ir}>"
    mask = f"<{whole} x i32> <{', '.join(f'i32 {k}' for k in range(whole))}>"
    return emitter.register(f"shufflevector {type} {results[0]}, {type} {results[1]}, {mask}")


def native(emitter: Emitter, lane: Lane, arguments: list[str]) -> str:
    """The instruction that vectors of this width have for it, else its first argument, the same in plain lanes."""
    bits = emitter.width * lane.type.bits
    if not emitter.wide or bits < 512:
        return arguments[0]
    if bits > 512:
        return _halves(emitter, lane, arguments, native)
    instruction = INSTRUCTIONS_512[lane.attribute, lane.type.bits]
    if instruction is None:
        return arguments[1]
    type = emitter.type(lane.type)
    name, pattern = instruction
    given = pattern.format(*(f"{type} {value}" for value in arguments[1:]), type=type)
    types = ", ".join(value.rpartition(" ")[0] for value in given.split(", "))
    emitter.declarations[name] = f"declare {type} {name}({types})"
    return emitter.register(f"call {type} {name}({given})")


def looked_up(emitter: Emitter, lane: Lane, arguments: list[str]) -> str:
    """Entries of a table by the low bits of the index: a permutation of registers where it fits, else loads."""
    bits = emitter.width * lane.type.bits
    if emitter.wide and bits > 512:
        return _halves(emitter, lane, arguments, looked_up)
    (index,) = arguments
    entries: tuple[float, ...] = lane.attribute
    size, scalar, index_type = len(entries), lane.type.ir, lane.arguments[0].type
    values = [f"{scalar} {literal(entry, lane.type)}" for entry in entries]
    if emitter.wide and bits == 512 and size in (emitter.width, 2 * emitter.width):
        type, places = emitter.type(lane.type), f"{emitter.type(index_type)} {index}"
        parts = [f"{type} <{', '.join(values[k : k + emitter.width])}>" for k in range(0, size, emitter.width)]
        name = f"@llvm.x86.avx512.{PERMUTATIONS_512[lane.type.bits, len(parts)]}.512"
        given = [parts[0], places, *parts[1:]]
        types = [type, emitter.type(index_type), *([type] * (len(parts) - 1))]
        emitter.declarations[name] = f"declare {type} {name}({', '.join(types)})"
        return emitter.register(f"call {type} {name}({', '.join(given)})")
    text = f"[{size} x {scalar}] [{', '.join(values)}]"
    name = f"@gb_table_{zlib.crc32(text.encode()):08x}"
    space = emitter.declarations.space
    emitter.declarations[name] = f"{name} = internal unnamed_addr{space} constant {text}, align 64"
    mask = emitter.constant(Lane("constant", index_type, (), size - 1))
    inside = emitter.register(f"and {emitter.type(index_type)} {index}, {mask}")
    if emitter.width == 1:
        place = emitter.register(f"getelementptr {scalar}, ptr{space} {name}, {index_type.ir} {inside}")
        return emitter.register(f"load {scalar}, ptr{space} {place}")
    vector = "poison"
    for k in range(emitter.width):
        at = emitter.register(f"extractelement {emitter.type(index_type)} {inside}, i32 {k}")
        place = emitter.register(f"getelementptr {scalar}, ptr {name}, {index_type.ir} {at}")
        entry = emitter.register(f"load {scalar}, ptr {place}")
        vector = emitter.register(f"insertelement {emitter.type(lane.type)} {vector}, {scalar} {entry}, i32 {k}")
    return vector



def one_by_one(emitter: Emitter, lane: Lane) -> str:
    """The function of (condition, fast value, arguments) that calls a routine for single lanes of vectors."""
    type, scalar, width = emitter.type(lane.type), lane.type.ir, emitter.width
    count = len(lane.arguments) - 2
    name = f"@{NAME}_rare_{lane.attribute}_{width}"
    plain = Declarations()
    routine = plain.routine(lane.attribute, scalar, [scalar] * count)
    emitter.declarations.plain |= plain.plain or plain
    places = ["result", *(f"a{k}" for k in range(count))]
    taken = ", ".join(f"{type} %{place}" for place in places)
    lines = [
        f"define {type} {name}(<{width} x i1> %where, {taken}) #0 {{",
        "entry:",
        f"  %flags = zext <{width} x i1> %where to <{width} x i8>",
        f"  %flag_place = alloca <{width} x i8>, align 64",
        f"  store <{width} x i8> %flags, ptr %flag_place",
    ]
    for place in places:
        lines += [f"  %{place}_place = alloca {type}, align 64", f"  store {type} %{place}, ptr %{place}_place"]
    lines += [
        "  br label %lane",
        "lane:",
        "  %k = phi i64 [0, %entry], [%next_k, %next]",
        "  %flag_at = getelementptr i8, ptr %flag_place, i64 %k",
        "  %flag = load i8, ptr %flag_at",
        "  %wanted = icmp ne i8 %flag, 0",
        "  br i1 %wanted, label %slow, label %next",
        "slow:",
    ]
    for place in places:
        lines.append(f"  %{place}_at = getelementptr {scalar}, ptr %{place}_place, i64 %k")
    lines += [f"  %{place}_k = load {scalar}, ptr %{place}_at" for place in places[1:]]
    given = ", ".join(f"{scalar} %{place}_k" for place in places[1:])
    lines += [
        f"  %value = call {scalar} {routine}({given})",
        f"  store {scalar} %value, ptr %result_at",
        "  br label %next",
        "next:",
        "  %next_k = add i64 %k, 1",
        f"  %more = icmp ult i64 %next_k, {width}",
        "  br i1 %more, label %lane, label %done",
        "done:",
        f"  %all = load {type}, ptr %result_place",
        f"  ret {type} %all",
        "}",
    ]
    emitter.declarations[name] = f"declare {type} {name}(<{width} x i1>, {', '.join([type] * len(places))})"
    emitter.declarations.plain[name] = "\n".join(lines)
    return name


SCALAR_ONLY = frozenset({"call", "sdiv", "udiv", "srem", "urem"})
SCALAR_VISIT, VECTOR_VISIT = 1, 16
"""What the opcode "path" stands for in scalar lanes and in vector lanes: it tells which form of a loop ran."""

_BINARY = frozenset("add sub mul fadd fsub fmul fdiv and or xor shl ashr lshr sdiv udiv srem urem".split())
_CASTS = frozenset("trunc sext zext sitofp uitofp fpext fptrunc bitcast".split())


def reachable(results: Iterable[Lane]) -> tuple[Lane, ...]:
    """Every lane used by `results`, arguments before users."""
    return _ordered(tuple(results))


@functools.lru_cache(maxsize=8)
def _ordered(results: tuple[Lane, ...]) -> tuple[Lane, ...]:
    """The same; the vector form and the scalar form of a loop ask for it one after the other."""
    order: list[Lane] = []
    done: set[int] = set()
    stack = list(reversed(results))
    while stack:
        lane = stack[-1]
        waiting = [argument for argument in reversed(lane.arguments) if id(argument) not in done]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        if id(lane) not in done:
            done.add(id(lane))
            order.append(lane)
    return tuple(order)


class Emitter(Code):
    """Writes the instructions of lanes at one vector width.

    `names` maps a lane's id to its register or literal, `faults` are the i1 registers of guards, `declarations` the
    external functions that the module must declare, `wide` says whether there are vectors of 512 bits and their
    instructions. Rare cases add blocks, so a loop must close in a block of its own.
    """

    def __init__(self, width: int, prefix: str, declarations: Declarations) -> None:
        super().__init__(prefix=prefix)
        self.width = width
        self.declarations = declarations
        self.wide = declarations.vector_bytes == 64
        self.names: dict[int, str] = {}
        self.faults: list[str] = []
        self._kept: list[Lane] = []

    def type(self, type: LaneType | str) -> str:
        """IR type of a lane at this width."""
        scalar = type if type.__class__ is str else type.ir  # type: ignore[union-attr]
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def bind(self, lane: Lane, name: str) -> None:
        """Let `name` stand for an argument lane."""
        self._kept.append(lane)
        self.names[id(lane)] = name

    def emit(self, results: Sequence[Lane]) -> list[str]:
        """Instructions for `results`; returns their registers or literals."""
        names, kept, lines, prefix = self.names, self._kept, self.lines, self.prefix
        before, after = ("", "") if self.width == 1 else (f"<{self.width} x ", ">")
        for lane in reachable(results):
            if id(lane) in names:
                continue
            kept.append(lane)
            if lane.opcode in _BINARY:
                a, b = lane.arguments
                name = names[id(lane)] = f"%{prefix}.{len(lines)}"
                lines.append(f"  {name} = {lane.opcode} {before}{lane.type.ir}{after} {names[id(a)]}, {names[id(b)]}")
            else:
                names[id(lane)] = self._instruction(lane)
        return [names[id(lane)] for lane in results]

    def _instruction(self, lane: Lane) -> str:
        opcode, arguments = lane.opcode, [self.names[id(argument)] for argument in lane.arguments]
        if opcode == "constant":
            return self.constant(lane)
        if opcode == "path":
            return self.constant(Lane("constant", lane.type, (), SCALAR_VISIT if self.width == 1 else VECTOR_VISIT))
        type = self.type(lane.type)
        if opcode == "retype":
            return arguments[0]
        if opcode == "guard":
            self.faults.append(arguments[1])
            return arguments[0]
        if opcode == "intrinsic":
            return self._intrinsic(lane, arguments)
        if opcode == "rare":
            return self._rare(lane, arguments)
        if opcode == "while":
            return self._while(lane.attribute, arguments)
        if opcode == "carried":
            return self.names[id(lane.attribute)]
        if opcode == "instruction":
            return native(self, lane, arguments)
        if opcode == "lookup":
            return looked_up(self, lane, arguments)
        if opcode == "call":
            return self._call(lane, arguments)
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

    def constant(self, lane: Lane) -> str:
        """A constant lane in IR syntax."""
        text = literal(lane.attribute, lane.type)
        if self.width == 1:
            return text
        return f"splat ({lane.type.ir} {text})"

    def _intrinsic(self, lane: Lane, arguments: list[str]) -> str:
        scalar = f"{'f' if lane.type.is_float else 'i'}{lane.type.bits}"
        suffix = scalar if self.width == 1 else f"v{self.width}{scalar}"
        type = self.type(lane.type)
        name = f"@llvm.{lane.attribute}.{suffix}"
        self.declarations[name] = f"declare {type} {name}({', '.join([type] * len(arguments))})"
        return self.register(f"call {type} {name}({', '.join(f'{type} {value}' for value in arguments)})")

    def _call(self, lane: Lane, arguments: list[str]) -> str:
        result = lane.type.ir
        types = [argument.type.ir for argument in lane.arguments]
        name = self.declarations.routine(lane.attribute, result, types)
        if self.width == 1:
            given = ", ".join(f"{type} {value}" for type, value in zip(types, arguments, strict=True))
            return self.register(f"call {result} {name}({given})")
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
        some = self._any(condition)
        branch = f"  br i1 {some}, label %{slow}, label %{join}"
        self.lines += [f"  br label %{before}", f"{before}:", branch, f"{slow}:"]
        if self.width == 1:
            called = self._call(Lane("call", lane.type, lane.arguments[2:], lane.attribute), given)
            mixed = self.register(f"select {truth} {condition}, {type} {called}, {type} {fast}")
        else:
            named = [f"{self.type(lane.type)} {value}" for value in (fast, *given)]
            name = one_by_one(self, lane)
            mixed = self.register(f"call {type} {name}({truth} {condition}, {', '.join(named)})")
        self.lines += [f"  br label %{join}", f"{join}:"]
        return self.register(f"phi {type} [{fast}, %{before}], [{mixed}, %{slow}]")

    def _while(self, loop: Loop, arguments: list[str]) -> str:
        """The blocks of a loop; the registers of its state are bound to the lanes that stand for it."""
        number = len(self.lines)
        before, test, body, last, done = (
            f"{self.prefix}.{word}{number}" for word in ("before", "test", "body", "last", "done")
        )
        for place, lane in enumerate(loop.state):
            self.bind(lane, f"%{test}.{place}")
        self.lines += [f"  br label %{before}", f"{before}:", f"  br label %{test}", f"{test}:"]
        heads = len(self.lines)
        (going,) = self.emit([loop.condition])
        self.lines += [f"  br i1 {self._any(going)}, label %{body}, label %{done}", f"{body}:"]
        after = self.emit(loop.following)
        for place, lane in enumerate(loop.state):
            type, state = self.type(lane.type), self.names[id(lane)]
            if self.width > 1:
                choice = f"select {self.type(BOOL)} {going}, {type} {after[place]}, {type} {state}"
                after[place] = self.register(choice)
        self.lines += [f"  br label %{last}", f"{last}:", f"  br label %{test}", f"{done}:"]
        self.lines[heads:heads] = [
            f"  {self.names[id(lane)]} = phi {self.type(lane.type)} [{first}, %{before}], [{following}, %{last}]"
            for lane, first, following in zip(loop.state, arguments, after, strict=False)
        ]
        return ""

    def _any(self, condition: str) -> str:
        """One i1 that is true when a bool lane is true in any place."""
        if self.width == 1:
            return condition
        type, name = self.type(BOOL), f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declarations[name] = f"declare i1 {name}({type})"
        return self.register(f"call i1 {name}({type} {condition})")

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
        return self._any(combined)
