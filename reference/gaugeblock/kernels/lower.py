"""Expressions to LLVM IR text, for scalars (width 1) or vectors `<W x T>`.

Where the IR depends on the width, there are instructions of 512-bit vectors and tables in registers.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from .code import NAME, Code, Declarations
from .expression import BOOL, Expr, Loop, ScalarType, literal

Form = Callable[["Emitter", Expr, list[str]], str]

# Instructions of 512-bit vectors: the intrinsic and its first arguments, "{}" standing for a lane.
INSTRUCTIONS_512 = {"scale": ("scalef", "{}, {}"), "exponent": ("getexp", "{}"), "mantissa": ("getmant", "{}, i32 15")}


def _halves(emitter: Emitter, expr: Expr, arguments: list[str], form: Form) -> str:
    """`form` for both halves of vectors longer than a register."""
    whole, half = emitter.width, emitter.width // 2
    results = []
    for first in (0, half):
        mask = f"<{half} x i32> <{', '.join(f'i32 {k}' for k in range(first, first + half))}>"
        given = []
        for value, argument in zip(arguments, expr.arguments, strict=True):
            type = emitter.type(argument.type)
            given.append(emitter.register(f"shufflevector {type} {value}, {type} poison, {mask}"))
        emitter.width = half
        results.append(form(emitter, expr, given))
        emitter.width = whole
    type = f"<{half} x {expr.type.ir}>"
    mask = f"<{whole} x i32> <{', '.join(f'i32 {k}' for k in range(whole))}>"
    return emitter.register(f"shufflevector {type} {results[0]}, {type} {results[1]}, {mask}")


def native(emitter: Emitter, expr: Expr, arguments: list[str]) -> str:
    """The instruction that vectors of this width have for it, else its first argument, the same in plain lanes."""
    bits = emitter.width * expr.type.bits
    if not emitter.wide or bits < 512:
        return arguments[0]
    if bits > 512:
        return _halves(emitter, expr, arguments, native)
    if expr.attribute == "same":
        return arguments[1]
    type = emitter.type(expr.type)
    word, pattern = INSTRUCTIONS_512[expr.attribute]
    kind, mask = ("ps", "i16") if expr.type.bits == 32 else ("pd", "i8")
    name = f"@llvm.x86.avx512.mask.{word}.{kind}.512"
    given = pattern.format(*(f"{type} {value}" for value in arguments[1:]))
    given += f", {type} zeroinitializer, {mask} -1, i32 4"
    types = ", ".join(value.rpartition(" ")[0] for value in given.split(", "))
    emitter.declarations[name] = f"declare {type} {name}({types})"
    return emitter.register(f"call {type} {name}({given})")


def looked_up(emitter: Emitter, expr: Expr, arguments: list[str]) -> str:
    """Entries of a table by the low bits of the index: a permutation of registers where it fits, else loads."""
    bits, register = emitter.width * expr.type.bits, 8 * emitter.declarations.vector_bytes
    if register >= 256 and bits > register:
        return _halves(emitter, expr, arguments, looked_up)
    (index,) = arguments
    entries: tuple[float, ...] = expr.attribute
    size, scalar, index_type = len(entries), expr.type.ir, expr.arguments[0].type
    values = [f"{scalar} {literal(entry, expr.type)}" for entry in entries]
    permuted = register == 512 or (register == 256 and scalar == "float")
    if permuted and size < emitter.width:
        values, size = values * (emitter.width // size), emitter.width
    if permuted and bits == register and size in (emitter.width, 2 * emitter.width):
        type, places = emitter.type(expr.type), f"{emitter.type(index_type)} {index}"
        parts = [f"{type} <{', '.join(values[k : k + emitter.width])}>" for k in range(0, size, emitter.width)]
        letter = "d" if scalar == "double" else "s"
        name = f"@llvm.x86.avx512.{f'permvar.{letter}f' if len(parts) == 1 else f'vpermi2var.p{letter}'}.512"
        given = [[parts[0], places, *parts[1:]]]
        if register == 256:
            name, given = "@llvm.x86.avx2.permps", [[part, places] for part in parts]
        types = [type, emitter.type(index_type), *([type] * (len(given[0]) - 2))]
        emitter.declarations[name] = f"declare {type} {name}({', '.join(types)})"
        found = [emitter.register(f"call {type} {name}({', '.join(one)})") for one in given]
        if len(found) == 1:
            return found[0]
        high = emitter.register(f"and {places}, {emitter.constant(Expr('constant', index_type, (), emitter.width))}")
        second = emitter.register(f"icmp ne {emitter.type(index_type)} {high}, zeroinitializer")
        return emitter.register(f"select {emitter.type(BOOL)} {second}, {type} {found[1]}, {type} {found[0]}")
    text = f"[{size} x {scalar}] [{', '.join(values)}]"
    name = f"@gb_table_{zlib.crc32(text.encode()):08x}"
    space = emitter.declarations.space
    emitter.declarations[name] = f"{name} = internal unnamed_addr{space} constant {text}, align 64"
    mask = emitter.constant(Expr("constant", index_type, (), size - 1))
    inside = emitter.register(f"and {emitter.type(index_type)} {index}, {mask}")
    if emitter.width == 1:
        place = emitter.register(f"getelementptr {scalar}, ptr{space} {name}, {index_type.ir} {inside}")
        return emitter.register(f"load {scalar}, ptr{space} {place}")
    type, pointers = emitter.type(expr.type), emitter.type("ptr")
    places = emitter.register(f"getelementptr {scalar}, ptr{space} {name}, {emitter.type(index_type)} {inside}")
    gather = f"@llvm.masked.gather.v{emitter.width}f{expr.type.bits}"
    masks = f"<{emitter.width} x i1>"
    emitter.declarations[gather] = f"declare {type} {gather}({pointers}, i32 immarg, {masks}, {type})"
    return emitter.register(
        f"call {type} {gather}({pointers} {places}, i32 {expr.type.bits // 8}, {masks} splat (i1 true), {type} poison)"
    )


def outlined(emitter: Emitter, expr: Expr, arguments: list[str]) -> str:
    """Return a call of a separate function for a formula, compiled without optimisation; scalars are splat."""
    declarations, formula = emitter.declarations, expr.attribute
    lanes = declarations.vector_bytes // 8 or 1
    if emitter.width > lanes:
        return _halves(emitter, expr, arguments, outlined)
    if emitter.width == 1 < lanes:
        emitter.width = lanes
        given = [emitter.splat(value, one.type) for value, one in zip(arguments, expr.arguments, strict=True)]
        result = outlined(emitter, expr, given)
        emitter.width = 1
        return emitter.register(f"extractelement <{lanes} x {expr.type.ir}> {result}, i32 0")
    type, types = emitter.type(expr.type), [emitter.type(one.type) for one in expr.arguments]
    name = f"@{NAME}_{formula.__name__}_{emitter.width}_{expr.arguments[0].type.bits}"
    if name not in declarations:
        code = Emitter(emitter.width, "y", declarations.plain)
        inputs = [Expr("argument", one.type) for one in expr.arguments]
        code.bind_all(inputs, (f"%a{place}" for place in range(len(inputs))))
        (result,) = code.emit([formula(*inputs)])
        head = ", ".join(f"{one} %a{place}" for place, one in enumerate(types))
        apart = declarations.plain is not declarations
        if apart:
            declarations[name] = f"declare {type} {name}({', '.join(types)})"
        head = f"define {'' if apart else 'internal '}{type} {name}({head}) #0"
        declarations.plain[name] = code.function(head, f"  ret {type} {result}")
    given = [f"{one} {value}" for one, value in zip(types, arguments, strict=True)]
    return emitter.register(f"call {type} {name}({', '.join(given)})")


SCALAR_ONLY = frozenset({"sdiv", "udiv", "srem", "urem"})
SCALAR_VISIT, VECTOR_VISIT = 1, 16
"""What the opcode "path" stands for in scalar lanes and in vector lanes: it tells which form of a loop ran."""

_BINARY = frozenset("add sub mul fadd fsub fmul fdiv and or xor shl ashr lshr sdiv udiv srem urem".split())
_CASTS = frozenset("trunc sext zext sitofp uitofp fpext fptrunc bitcast".split())


@functools.lru_cache(maxsize=8)
def reachable(results: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Every lane used by `results`, arguments before users. The vector form and the scalar form of a loop ask for it
    one after the other."""
    order: list[Expr] = []
    done: set[int] = set()
    stack = list(reversed(results))
    while stack:
        expr = stack[-1]
        waiting = [argument for argument in reversed(expr.arguments) if id(argument) not in done]
        if waiting:
            stack += waiting
            continue
        stack.pop()
        if id(expr) not in done:
            done.add(id(expr))
            order.append(expr)
    return tuple(order)


class Emitter(Code):
    """Writes the instructions of lanes at one vector width.

    `names` maps a lane's id to its register or literal, `faults` are the i1 registers of guards, `declarations` the
    external functions that the module must declare, `wide` says whether there are vectors of 512 bits and their
    instructions, among them loads and stores of some lanes. `lanes` is the register (i8) that says how many elements of
    a vector are in memory; all of them if it is empty. Rare cases add blocks, so a loop must close in a block of its
    own.
    """

    def __init__(self, width: int, prefix: str, declarations: Declarations) -> None:
        super().__init__(prefix=prefix)
        self.width = width
        self.declarations = declarations
        self.wide = declarations.vector_bytes == 64
        self.lanes = ""
        self.names: dict[int, str] = {}
        self.faults: list[str] = []
        self._kept: list[Expr] = []

    def type(self, type: ScalarType | str) -> str:
        """IR type of a lane at this width."""
        scalar = type if type.__class__ is str else type.ir  # type: ignore[union-attr]
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    @contextmanager
    def scope(self, width: int | None = None) -> Iterator[None]:
        """Instructions whose expressions' registers are forgotten afterwards, if wanted at another width."""
        kept = self.width, self.names
        self.names = dict(self.names) if width is None or width == self.width else {}
        self.width = self.width if width is None else width
        yield
        self.width, self.names = kept

    @contextmanager
    def partial(self, count: str) -> Iterator[None]:
        """Vectors that have no more than `count` elements in memory."""
        before = self.lanes
        self.lanes = self.register(f"trunc i64 {self.minimum(count, self.width)} to i8")
        yield
        self.lanes = before

    def known_lanes(self, components: int = 1) -> str:
        """Return a mask of the lanes in memory, for elements of some components each."""
        count = self.width * components
        order = ", ".join(f"i8 {k // components}" for k in range(count))
        one = self.register(f"insertelement <{count} x i8> poison, i8 {self.lanes}, i32 0")
        same = f"<{count} x i8> poison, <{count} x i32> zeroinitializer"
        many = self.register(f"shufflevector <{count} x i8> {one}, {same}")
        return self.register(f"icmp ugt <{count} x i8> {many}, <{order}>")

    def bind(self, expr: Expr, name: str) -> None:
        """Let `name` stand for an argument lane."""
        self._kept.append(expr)
        self.names[id(expr)] = name

    def bind_all(self, exprs: Iterable[Expr], names: Iterable[str]) -> None:
        """Let the names stand for the arguments, one for each."""
        for expr, name in zip(exprs, names, strict=True):
            self.bind(expr, name)

    def emit(self, results: Sequence[Expr]) -> list[str]:
        """Instructions for `results`; returns their registers or literals."""
        names, kept, lines, prefix = self.names, self._kept, self.lines, self.prefix
        before, after = ("", "") if self.width == 1 else (f"<{self.width} x ", ">")
        for expr in reachable(tuple(results)):
            if id(expr) in names:
                continue
            kept.append(expr)
            if expr.opcode in _BINARY:
                a, b = expr.arguments
                name = names[id(expr)] = f"%{prefix}.{len(lines)}"
                lines.append(f"  {name} = {expr.opcode} {before}{expr.type.ir}{after} {names[id(a)]}, {names[id(b)]}")
            else:
                names[id(expr)] = self._instruction(expr)
        return [names[id(expr)] for expr in results]

    def _instruction(self, expr: Expr) -> str:
        opcode, arguments = expr.opcode, [self.names[id(argument)] for argument in expr.arguments]
        if opcode == "constant":
            return self.constant(expr)
        if opcode == "path":
            return self.constant(Expr("constant", expr.type, (), SCALAR_VISIT if self.width == 1 else VECTOR_VISIT))
        type = self.type(expr.type)
        if opcode == "retype":
            return arguments[0]
        if opcode == "guard":
            self.faults.append(arguments[1])
            return arguments[0]
        if opcode == "intrinsic":
            return self._intrinsic(expr, arguments)
        if opcode == "lrint":
            return self._rounded(expr, arguments)
        if opcode == "rare":
            return self._rare(expr, arguments)
        if opcode == "while":
            return self._while(expr.attribute, arguments)
        if opcode == "carried":
            return self.names[id(expr.attribute)]
        if opcode == "instruction":
            return native(self, expr, arguments)
        if opcode == "lookup":
            return looked_up(self, expr, arguments)
        source = self.type(expr.arguments[0].type)
        if opcode in ("fcmp", "icmp"):
            return self.register(f"{opcode} {expr.attribute} {source} {arguments[0]}, {arguments[1]}")
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
        raise ValueError(f"lower: unknown opcode {opcode!r} in {expr!r}")

    def constant(self, expr: Expr) -> str:
        """A constant lane in IR syntax."""
        text = literal(expr.attribute, expr.type)
        return text if self.width == 1 else f"splat ({expr.type.ir} {text})"

    def _intrinsic(self, expr: Expr, arguments: list[str]) -> str:
        scalar = f"{'f' if expr.type.is_float else 'i'}{expr.type.bits}"
        suffix = scalar if self.width == 1 else f"v{self.width}{scalar}"
        type = self.type(expr.type)
        name = f"@llvm.{expr.attribute}.{suffix}"
        self.declarations[name] = f"declare {type} {name}({', '.join([type] * len(arguments))})"
        return self.register(f"call {type} {name}({', '.join(f'{type} {value}' for value in arguments)})")

    def _rounded(self, expr: Expr, arguments: list[str]) -> str:
        """The integer nearest to a float, halves to even."""
        types = [self.type(one) for one in (expr.type, expr.arguments[0].type)]
        lanes = "" if self.width == 1 else f"v{self.width}"
        name = f"@llvm.lrint.{lanes}i{expr.type.bits}.{lanes}f{expr.arguments[0].type.bits}"
        self.declarations[name] = f"declare {types[0]} {name}({types[1]})"
        found = self.register(f"call {types[0]} {name}({types[1]} {arguments[0]})")
        return self.register(f"freeze {types[0]} {found}")

    def _rare(self, expr: Expr, arguments: list[str]) -> str:
        """The fast value or, where the condition holds, that of a formula, which is branched around."""
        fast, condition, *given = arguments
        type = self.type(expr.type)
        number = len(self.lines)
        slow, join, before = (f"{self.prefix}.{word}{number}" for word in ("slow", "join", "before"))
        some = self.any_lane(condition)
        branch = f"  br i1 {some}, label %{slow}, label %{join}"
        self.lines += [f"  br label %{before}", f"{before}:", branch, f"{slow}:"]
        called = outlined(self, Expr("outlined", expr.type, expr.arguments[2:], expr.attribute), given)
        mixed = self.register(f"select {self.type(BOOL)} {condition}, {type} {called}, {type} {fast}")
        self.jump(join)
        self.begin(join)
        return self.register(f"phi {type} [{fast}, %{before}], [{mixed}, %{slow}]")

    def _while(self, loop: Loop, arguments: list[str]) -> str:
        """The blocks of a loop; the registers of its state are bound to the lanes that stand for it."""
        number = len(self.lines)
        before, test, body, last, done = (
            f"{self.prefix}.{word}{number}" for word in ("before", "test", "body", "last", "done")
        )
        for place, expr in enumerate(loop.state):
            self.bind(expr, f"%{test}.{place}")
        self.lines += [f"  br label %{before}", f"{before}:", f"  br label %{test}", f"{test}:"]
        heads = len(self.lines)
        (going,) = self.emit([loop.condition])
        self.lines += [f"  br i1 {self.any_lane(going)}, label %{body}, label %{done}", f"{body}:"]
        after = self.emit(loop.following)
        for place, expr in enumerate(loop.state):
            type, state = self.type(expr.type), self.names[id(expr)]
            if self.width > 1:
                choice = f"select {self.type(BOOL)} {going}, {type} {after[place]}, {type} {state}"
                after[place] = self.register(choice)
        self.lines += [f"  br label %{last}", f"{last}:", f"  br label %{test}"]
        self.begin(done)
        self.lines[heads:heads] = [
            f"  {self.names[id(expr)]} = phi {self.type(expr.type)} [{first}, %{before}], [{following}, %{last}]"
            for expr, first, following in zip(loop.state, arguments, after, strict=False)
        ]
        return ""

    def any_lane(self, condition: str) -> str:
        """One i1 that is true when a bool lane is true in any place."""
        if self.width == 1:
            return condition
        type, name = self.type(BOOL), f"@llvm.vector.reduce.or.v{self.width}i1"
        self.declarations[name] = f"declare i1 {name}({type})"
        return self.register(f"call i1 {name}({type} {condition})")

    def splat(self, value: str, type: ScalarType) -> str:
        """A scalar register repeated over all lanes."""
        if self.width == 1:
            return value
        vector = self.type(type)
        one = self.register(f"insertelement {vector} poison, {type.ir} {value}, i32 0")
        return self.register(f"shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer")

    def any_fault(self) -> str | None:
        """One i1 that is true when any guard of any lane failed; None without guards."""
        if not self.faults:
            return None
        type = self.type(BOOL)
        combined = self.faults[0]
        for fault in self.faults[1:]:
            combined = self.register(f"or {type} {combined}, {fault}")
        if self.lanes:
            combined = self.register(f"and {type} {combined}, {self.known_lanes()}")
        return self.any_lane(combined)
