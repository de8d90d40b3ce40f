"""IR text of one strided row: a vector body for unit and zero strides, and for the rest a scalar body or buffers.

    define i1 @NAME(ptr pointers, ptr numbers, i64 n, ptr strides)

`pointers` and `strides` (bytes) hold the memory operands, outputs first; `numbers` the raw values of parameters in
8-byte slots. The vector body runs when every operand is contiguous. It also does when `n` is negative, for -n elements:
then inputs of stride 0 point to a vector that repeats their element. The function returns whether a guard failed.

Where loads and stores can leave out lanes, a vector takes the last elements too. Compiling takes as long as the text
is, so a long body is written once only, and the row is strip-mined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..core.dtype import DType
from .body import Body
from .code import NAME, Carried, Declarations, row_module
from .common import STRIP_MINED, declaration
from .conversion import Memory, from_storage, memory, storage_type, to_storage
from .expression import BOOL, INT, Expr, Value
from .isa import Level
from .lower import Emitter


def raw_parameters(body: Body) -> list[Expr]:
    """The raw C values of all parameters, in order."""
    return [expr for parameter in body.parameters for expr in parameter.raw]


LONG = 28
"""Instructions of a vector's computation from which on it is written once only."""


def row_text(row: RowWriter, attributes: str) -> str:
    """The module of the row function of a body, in the form that its length asks for."""
    vector = row.computation(row.body.width) if row.body.width > 1 else None
    if vector is None or len(vector.lines) <= LONG:
        row.two_loops(vector)
    else:
        row.strip_mined(vector)
    code, result = row.code, "false"
    if row.fault:
        result = code.load("i1", row.fault, 1)
    return row_module(code, code.declarations, attributes, result)


class RowWriter:
    """Writes the row function of a body into `code`; `fault` is where it notes that a guard failed, if there is one."""

    def __init__(self, body: Body, declarations: Declarations) -> None:
        self.body = body
        self.code = code = Emitter(1, "x", declarations)
        self.pointers = [code.load("ptr", code.slot("%pointers", k)) for k in range(len(body.memory))]
        self.strides = [code.load("i64", code.slot("%strides", k)) for k in range(len(body.memory))]
        for slot, expr in enumerate(raw_parameters(body)):
            value = code.load("i64" if expr.type is BOOL else expr.type.ir, code.slot("%numbers", slot))
            code.bind(expr, code.register(f"icmp ne i64 {value}, 0") if expr.type is BOOL else value)
        self.parameters = [code.emit(parameter.computed) for parameter in body.parameters]
        self.fault = code.variable("i1", "false", 1) if body.guarded else ""

    def computation(self, width: int, *, partial: bool = False) -> Emitter:
        """Loading an element or a vector from the pointers %vW_, computing, and storing to them. A `partial` vector has
        %pW_lanes elements in memory."""
        body = self.body
        emitter = Emitter(width, f"{'p' if partial else 'v'}{width}", self.code.declarations)
        emitter.lanes = f"%{emitter.prefix}_lanes" if partial else ""
        with self.code.scope(width):
            for parameter, scalars in zip(body.parameters, self.parameters, strict=True):
                for expr, scalar in zip(parameter.exprs, scalars, strict=True):
                    emitter.bind(expr, self.code.splat(scalar, expr.type))
        for operand, exprs in zip(body.inputs, body.arguments, strict=True):
            load_operand(emitter, operand, f"%{emitter.prefix}_{operand.name}", exprs)
        values = iter(emitter.emit([expr for stored in body.stored for expr in stored]))
        for operand in body.outputs:
            parts = [next(values) for _ in range(operand.components)]
            store_operand(emitter, operand, f"%{emitter.prefix}_{operand.name}", parts)
        fault = emitter.any_fault()
        emitter.faults = [] if fault is None else [fault]
        return emitter

    def _run(self, computation: Emitter, places: Sequence[str], left: str) -> None:
        """Append a computation, at the places of the operands, of which there are `left` elements."""
        for operand, place in zip(self.body.memory, places, strict=True):
            name = f"%{computation.prefix}_{operand.name}"
            self.code.line(f"{name} = getelementptr i8, ptr {place}, i64 0")
        if computation.lanes:
            lanes = self.code.minimum(self.code.register(left), computation.width)
            self.code.line(f"{computation.lanes} = trunc i64 {lanes} to i8")
        self.code.lines += computation.lines
        if computation.block != "entry":
            self.code.block = computation.block

    def _counts(self) -> tuple[str, str]:
        """Return how many elements there are, and how many of them vectors can take: all or none."""
        code, apart = self.code, "0"
        given = code.register("icmp slt i64 %n, 0")
        count = code.register(f"select i1 {given}, i64 {code.register('sub i64 0, %n')}, i64 %n")
        for stride, operand in zip(self.strides, self.body.memory, strict=True):
            apart = code.register(f"or i64 {apart}, {code.register(f'xor i64 {stride}, {operand.itemsize}')}")
        usable = code.register(f"or i1 {given}, {code.register(f'icmp eq i64 {apart}, 0')}")
        return count, code.register(f"select i1 {usable}, i64 {count}, i64 0")

    def two_loops(self, vector: Emitter | None) -> None:
        """Write a loop over whole vectors, if there are vectors, and one over the elements that remain."""
        count, done, starts = "%n", "0", self.pointers
        if vector is not None:
            count, taken = self._counts()
            done = self.code.register(f"and i64 {taken}, {-vector.width}")
            starts = self._over_vectors(vector, "0", done, starts)
            if vector.wide:
                starts = self._over_vectors(self.computation(vector.width, partial=True), done, taken, starts)
                done = taken
        self._loop(self.computation(1), done, count, list(zip(starts, self.strides, strict=True)))

    def _over_vectors(self, vector: Emitter, start: str, stop: str, places: Sequence[str]) -> list[str]:
        """A loop over vectors; return where it ends."""
        steps = [self.code.register(f"mul i64 {stride}, {vector.width}") for stride in self.strides]
        return self._loop(vector, start, stop, list(zip(places, steps, strict=True)))

    def _loop(self, computation: Emitter, start: str, stop: str, begin: Sequence[tuple[str, str]]) -> list[str]:
        """A loop that begins at these places, with the bytes to the next; return where it ends."""
        with self._carried(start, stop, computation, begin, computation.width) as loop:
            self._run(computation, loop.values[: len(begin)], f"sub i64 {stop}, {loop.index}")
        return loop.results[: len(begin)]

    @contextmanager
    def _carried(
        self, start: str, stop: str, computation: Emitter, begin: Sequence[tuple[str, str]], step: int
    ) -> Iterator[Carried]:
        """A loop that moves pointers on by their steps, and notes whether a guard failed."""
        code, failed = self.code, [("i1", "false")] * len(computation.faults)
        state = [("ptr", pointer) for pointer, _ in begin]
        with code.carry(start, stop, step, [*state, *failed]) as loop:
            yield loop
            loop.following = [code.move(at, step) for at, (_, step) in zip(loop.values, begin, strict=False)]
            for before, fault in zip(loop.values[len(begin) :], computation.faults, strict=True):
                loop.following.append(code.register(f"or i1 {before}, {fault}"))
        for fault in loop.results[len(begin) :]:
            self._note(fault)

    def _note(self, fault: str) -> None:
        """Remember that a guard failed, if there is one."""
        if self.fault:
            before = self.code.load("i1", self.fault, 1)
            self.code.store("i1", self.code.register(f"or i1 {before}, {fault}"), self.fault, 1)

    def strip_mined(self, vector: Emitter) -> None:
        """A loop over vectors; what is not contiguous, and the rest, is left to a function that all modules share."""
        code, operands, shift = self.code, self.body.memory, vector.width.bit_length() - 1
        sizes = ", ".join(f"i64 {operand.itemsize}" for operand in operands)
        layout = f"@{NAME}_layout"
        code.declarations[layout] = (
            f"{layout} = internal constant [{3 + len(operands)} x i64] "
            f"[i64 {shift}, i64 {len(operands)}, i64 {len(self.body.outputs)}, {sizes}]"
        )
        code.declarations[STRIP_MINED] = declaration(STRIP_MINED)
        count, done = self._counts()
        done = code.register(f"and i64 {done}, {-vector.width}")
        self._over_vectors(vector, "0", done, self.pointers)
        with code.when(code.register(f"icmp slt i64 {done}, {count}")):
            given = f"ptr %pointers, ptr %numbers, i64 {done}, i64 {count}, ptr %strides, ptr @{NAME}, ptr {layout}"
            self._note(code.register(f"call i1 @{STRIP_MINED}({given})"))


def load_operand(code: Emitter, operand: Memory, place: str, exprs: Sequence[Expr]) -> None:
    """Bind the expressions to the components of an element, or of as many elements in a row as a vector has."""
    width, whole = code.width, operand.ir_type(code.width)
    loaded = _loaded_lanes(code, operand, place) if code.lanes else code.load(whole, place, operand.align)
    if operand.components == 1:
        code.bind(exprs[0], loaded)
        return
    for part, expr in enumerate(exprs):
        if width == 1:
            code.bind(expr, code.register(f"extractelement {whole} {loaded}, i32 {part}"))
            continue
        mask = ", ".join(f"i32 {2 * k + part}" for k in range(width))
        code.bind(expr, code.register(f"shufflevector {whole} {loaded}, {whole} poison, <{width} x i32> <{mask}>"))


def store_operand(code: Emitter, operand: Memory, place: str, values: Sequence[str]) -> None:
    """Store the components of an element, or of as many elements in a row as a vector has."""
    value = values[0] if operand.components == 1 else _interleaved(code, operand.storage.ir, values)
    if not code.lanes:
        code.store(operand.ir_type(code.width), value, place, operand.align)
        return
    name, type, mask = _masked(code, operand, "store")
    code.declarations[name] = f"declare void {name}({type}, ptr, i32 immarg, {mask})"
    known = code.known_lanes(operand.components)
    code.line(f"call void {name}({type} {value}, ptr {place}, i32 {operand.align}, {mask} {known})")


def _loaded_lanes(code: Emitter, operand: Memory, place: str) -> str:
    """Load the elements of a vector that are in memory; the others are 0."""
    name, type, mask = _masked(code, operand, "load")
    code.declarations[name] = f"declare {type} {name}(ptr, i32 immarg, {mask}, {type})"
    known = code.known_lanes(operand.components)
    given = f"ptr {place}, i32 {operand.align}, {mask} {known}, {type} zeroinitializer"
    return code.register(f"call {type} {name}({given})")


def _masked(code: Emitter, operand: Memory, action: str) -> tuple[str, str, str]:
    """Return the intrinsic that loads or stores some lanes of an operand, and the types of a vector and of its mask."""
    count, scalar = code.width * operand.components, operand.storage
    name = f"@llvm.masked.{action}.v{count}{'f' if scalar.is_float else 'i'}{scalar.bits}.p0"
    return name, operand.ir_type(code.width), f"<{count} x i1>"


def _interleaved(emitter: Emitter, type: str, values: Sequence[str]) -> str:
    """Real and imaginary components as one vector of elements."""
    width = emitter.width
    if width == 1:
        one = emitter.register(f"insertelement <2 x {type}> poison, {type} {values[0]}, i32 0")
        return emitter.register(f"insertelement <2 x {type}> {one}, {type} {values[1]}, i32 1")
    half = f"<{width} x {type}>"
    mask = ", ".join(f"i32 {k // 2 + (width if k % 2 else 0)}" for k in range(2 * width))
    return emitter.register(f"shufflevector {half} {values[0]}, {half} {values[1]}, <{2 * width} x i32> <{mask}>")


def load_value(code: Emitter, dtype: DType, place: str, level: Level) -> Value:
    """Return the expression of an element of a dtype, or of as many elements in a row as a vector has."""
    operand = memory("x", dtype)
    stored = operand.symbols()
    load_operand(code, operand, place, stored)
    return from_storage(stored, dtype, level.half_hardware)


def store_value(code: Emitter, dtype: DType, place: str, value: Value, level: Level) -> None:
    """Store an expression as an element of a dtype, or as many elements in a row as a vector has."""
    store_operand(code, memory("x", dtype), place, code.emit(to_storage(value, dtype, level.half_hardware)))


def lanes_apart(code: Emitter, step: str) -> str:
    """Return how many bytes each lane of a vector lies behind the first one."""
    if code.width == 1:
        return "0"
    lanes = ", ".join(f"i64 {lane}" for lane in range(code.width))
    return code.register(f"mul {code.type(INT[64])} {code.splat(step, INT[64])}, <{lanes}>")


def gather_value(code: Emitter, dtype: DType, pointer: str, offsets: str, level: Level, known: str = "") -> Expr:
    """Return the expression of elements of a real dtype at offsets in bytes, 0 in the lanes that are not `known`."""
    stored = storage_type(dtype)
    places = code.register(f"getelementptr i8, ptr {pointer}, {code.type(INT[64])} {offsets}")
    align, type = dtype.itemsize, code.type(stored)
    if code.width == 1:
        found = code.load(type, places, align)
        if known:
            found = code.register(f"select i1 {known}, {type} {found}, {type} {'0.0' if stored.is_float else '0'}")
    else:
        name = f"@llvm.masked.gather.v{code.width}{'f' if stored.is_float else 'i'}{stored.bits}"
        truth, pointers = f"<{code.width} x i1>", f"<{code.width} x ptr>"
        code.declarations[name] = f"declare {type} {name}({pointers}, i32 immarg, {truth}, {type})"
        given = f"{pointers} {places}, i32 {align}, {truth} {known or 'splat (i1 true)'}, {type} zeroinitializer"
        found = code.register(f"call {type} {name}({given})")
    expr = Expr("argument", stored)
    code.bind(expr, found)
    value = from_storage((expr,), dtype, level.half_hardware)
    assert isinstance(value, Expr)
    return value


def scatter_value(code: Emitter, dtype: DType, place: str, step: str, value: Expr, level: Level) -> None:
    """Store an expression as elements of a real dtype that lie `step` bytes apart."""
    (stored,) = code.emit(to_storage(value, dtype, level.half_hardware))
    type, size = storage_type(dtype), dtype.itemsize
    vector = code.type(type)
    if code.width == 1:
        code.store(vector, stored, place, size)
        return
    adjacent, apart, done = code.label(), code.label(), code.label()
    code.branch(code.register(f"icmp eq i64 {step}, {size}"), adjacent, apart)
    code.begin(adjacent)
    code.store(vector, stored, place, size)
    code.jump(done)
    code.begin(apart)
    for lane in range(code.width):
        one = code.register(f"extractelement {vector} {stored}, i32 {lane}")
        code.store(type.ir, one, code.at(place, lane, step), size)
    code.jump(done)
    code.begin(done)
