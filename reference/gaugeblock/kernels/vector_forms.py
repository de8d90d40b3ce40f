"""Lanes whose IR depends on the width of the vectors: instructions, tables in registers, calls for single lanes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from .code import NAME
from .declarations import Declarations
from .expression import Lane, literal

if TYPE_CHECKING:
    from .lower import Emitter

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
