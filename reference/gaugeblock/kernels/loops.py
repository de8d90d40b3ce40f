"""IR text of one strided row: a vector body for unit and zero strides, a scalar body for the rest.

    define i1 @NAME(ptr pointers, ptr numbers, i64 n, ptr strides)

`pointers` and `strides` (bytes) hold the memory operands, outputs first; `numbers` the raw values of parameters in
8-byte slots. The vector body runs when every output is contiguous and every input is contiguous or has stride 0 (such
an input is repeated into a small buffer that is read again at each step). It returns whether a guard failed.

Compiling takes as long as the text is, so a long body is written once only, and the row is strip-mined: vectors that
are not contiguous in memory, and the last elements, are packed into buffers first, the last element repeated to fill
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .body import Body
from .code import Declarations
from .conversion import Memory
from .expression import BOOL, Expr
from .lower import Emitter
from .tiles import element_type


def raw_parameters(body: Body) -> list[Expr]:
    """The raw C values of all parameters, in order."""
    return [expr for parameter in body.parameters for expr in parameter.raw]


class Vector(NamedTuple):
    """The computation of one vector: where each operand's first vector is and the bytes to the next, what comes before
    the loop, and loading from the pointers %w_, computing and storing to them."""

    begin: dict[str, tuple[str, str]]
    prepare: Emitter
    emitter: Emitter


class RowWriter:
    """Writes the text of the row function of a body."""

    def __init__(self, body: Body, declarations: Declarations) -> None:
        self.body = body
        self.declarations = declarations
        self.prologue = Emitter(1, "c", declarations)
        for index, operand in enumerate(body.memory):
            for source, type, prefix in (("pointers", "ptr", ""), ("strides", "i64", "s_")):
                place = self.prologue.register(f"getelementptr i64, ptr %{source}, i64 {index}")
                self.prologue.lines.append(f"  %{prefix}{operand.name} = load {type}, ptr {place}")
        for index, expr in enumerate(raw_parameters(body)):
            place = self.prologue.register(f"getelementptr i64, ptr %numbers, i64 {index}")
            type = "i64" if expr.type is BOOL else expr.type.ir
            value = self.prologue.register(f"load {type}, ptr {place}")
            if expr.type is BOOL:
                value = self.prologue.register(f"icmp ne i64 {value}, 0")
            self.prologue.bind(expr, value)
        self.parameters = [self.prologue.emit(parameter.computed) for parameter in body.parameters]
        if body.width > 1:
            self.vector = self._vector_computation()

    def function(self, name: str, lines: list[str]) -> str:
        """The whole function, with `lines` behind what reads its arguments."""
        head = f"define i1 @{name}(ptr %pointers, ptr %numbers, i64 %n, ptr %strides) #0 {{"
        return "\n".join([head, "entry:", *self.prologue.lines, *lines, "}"])

    def text(self, name: str) -> str:
        """The function with a vector body, if there is one, and a scalar body."""
        lines: list[str] = []
        start = [("0", "false", "entry", {operand.name: f"%{operand.name}" for operand in self.body.memory})]
        if self.body.width > 1:
            lines += self._vector(start)
        else:
            lines.append("  br label %rest")
        lines += self._scalar(start)
        return self.function(name, lines)

    def _vector_computation(self) -> Vector:
        body, width = self.body, self.body.width
        prepare, emitter = Emitter(width, "q", self.declarations), Emitter(width, "v", self.declarations)
        begin = {operand.name: self._repeat(prepare, operand) for operand in body.inputs}
        begin |= {operand.name: (f"%{operand.name}", str(width * operand.itemsize)) for operand in body.outputs}
        for parameter, scalars in zip(body.parameters, self.parameters, strict=True):
            for expr, scalar in zip(parameter.exprs, scalars, strict=True):
                emitter.bind(expr, prepare.splat(scalar, expr.type))
        self._load(emitter)
        self._store(emitter)
        if body.guarded:
            emitter.lines.append(f"  %fault_next = or i1 %fault, {emitter.any_fault()}")
        return Vector(begin, prepare, emitter)

    def contiguous(self, check: Emitter, so_far: str) -> str:
        """The register that tells whether all operands are contiguous, inputs or of stride 0, and `so_far` holds."""
        for operand in self.body.memory:
            fits = check.register(f"icmp eq i64 %s_{operand.name}, {operand.itemsize}")
            if operand in self.body.inputs:
                zero = check.register(f"icmp eq i64 %s_{operand.name}, 0")
                fits = check.register(f"or i1 {fits}, {zero}")
            so_far = check.register(f"and i1 {so_far}, {fits}")
        return so_far

    def buffers(self, operands: Iterable[Memory]) -> list[str]:
        """A buffer of one vector for each of the operands."""
        width = self.body.width
        types = {operand.name: f"[{width * operand.components} x {operand.storage.ir}]" for operand in operands}
        return [f"  %buffer_{name} = alloca {type}, align 64" for name, type in types.items()]

    def _vector(self, start: list[tuple[str, str, str, dict[str, str]]]) -> list[str]:
        body, width = self.body, self.body.width
        check = Emitter(1, "k", self.declarations)
        usable = self.contiguous(check, check.register(f"icmp sge i64 %n, {width}"))
        pointers, prepare, emitter = self.vector
        stop = prepare.register(f"and i64 %n, {-width}")
        lines = [*self.buffers(body.inputs), *check.lines, f"  br i1 {usable}, label %prepare, label %rest"]
        lines += ["prepare:", *prepare.lines]
        lines += ["  br label %vector", "vector:", "  %i = phi i64 [0, %prepare], [%i_next, %vector_last]"]
        if body.guarded:
            lines.append("  %fault = phi i1 [false, %prepare], [%fault_next, %vector_last]")
        for operand in body.memory:
            name = operand.name
            lines.append(f"  %w_{name} = phi ptr [{pointers[name][0]}, %prepare], [%w_{name}_next, %vector_last]")
        lines += [*emitter.lines, "  br label %vector_last", "vector_last:"]
        for operand in body.memory:
            name = operand.name
            lines.append(f"  %w_{name}_next = getelementptr i8, ptr %w_{name}, i64 {pointers[name][1]}")
        lines += [
            f"  %i_next = add i64 %i, {width}",
            f"  %more = icmp slt i64 %i_next, {stop}",
            "  br i1 %more, label %vector, label %after",
            "after:",
        ]
        moved: dict[str, str] = {}
        for operand in body.memory:
            name = operand.name
            lines.append(f"  %jump_{name} = mul i64 {stop}, %s_{name}")
            lines.append(f"  %after_{name} = getelementptr i8, ptr %{name}, i64 %jump_{name}")
            moved[name] = f"%after_{name}"
        lines.append("  br label %rest")
        start.append((stop, "%fault_next" if body.guarded else "false", "after", moved))
        return lines

    def _repeat(self, prepare: Emitter, operand: Memory) -> tuple[str, str]:
        """Where an input's vectors begin, and the bytes to the next: a buffer of its one element if it has stride 0."""
        name, width, count = operand.name, self.body.width, operand.components
        type = operand.storage.ir
        zero = prepare.register(f"icmp eq i64 %s_{name}, 0")
        if count == 1:
            first = prepare.register(f"load {type}, ptr %{name}, align {operand.itemsize}")
            many = prepare.splat(first, operand.storage)
        else:
            first = prepare.register(f"load <2 x {type}>, ptr %{name}, align {operand.itemsize // 2}")
            mask = ", ".join(f"i32 {k % 2}" for k in range(2 * width))
            many = prepare.register(
                f"shufflevector <2 x {type}> {first}, <2 x {type}> poison, <{2 * width} x i32> <{mask}>"
            )
        prepare.lines.append(f"  store <{width * count} x {type}> {many}, ptr %buffer_{name}, align 64")
        base = prepare.register(f"select i1 {zero}, ptr %buffer_{name}, ptr %{name}")
        step = prepare.register(f"select i1 {zero}, i64 0, i64 {width * operand.itemsize}")
        return base, step

    def _load(self, emitter: Emitter) -> None:
        """One element or vector of each input, from the pointers %w_."""
        for operand, exprs in zip(self.body.inputs, self.body.arguments, strict=True):
            load_operand(emitter, operand, f"%w_{operand.name}", exprs)

    def _store(self, emitter: Emitter) -> None:
        """What the body computes, to the pointers %w_ of the outputs."""
        values = iter(emitter.emit([expr for stored in self.body.stored for expr in stored]))
        for operand in self.body.outputs:
            parts = [next(values) for _ in range(operand.components)]
            store_operand(emitter, operand, f"%w_{operand.name}", parts)

    def _scalar(self, start: list[tuple[str, str, str, dict[str, str]]]) -> list[str]:
        body = self.body
        emitter = Emitter(1, "r", self.declarations)
        for parameter, scalars in zip(body.parameters, self.parameters, strict=True):
            for expr, scalar in zip(parameter.exprs, scalars, strict=True):
                emitter.bind(expr, scalar)
        renamed = {operand.name: f"r_{operand.name}" for operand in body.memory}
        lines = ["rest:"]
        lines.append(f"  %k0 = phi i64 {', '.join(f'[{first}, %{block}]' for first, _, block, _ in start)}")
        lines.append(f"  %f0 = phi i1 {', '.join(f'[{fault}, %{block}]' for _, fault, block, _ in start)}")
        for name in renamed:
            incoming = ", ".join(f"[{at[name]}, %{block}]" for _, _, block, at in start)
            lines.append(f"  %rest_{name} = phi ptr {incoming}")
        lines += ["  %left = icmp slt i64 %k0, %n", "  br i1 %left, label %scalar, label %done", "scalar:"]
        lines.append("  %k = phi i64 [%k0, %rest], [%k_next, %scalar_last]")
        if body.guarded:
            lines.append("  %g = phi i1 [%f0, %rest], [%g_next, %scalar_last]")
        for name in renamed:
            lines.append(f"  %r_{name} = phi ptr [%rest_{name}, %rest], [%r_{name}_next, %scalar_last]")
        self._load(emitter)
        self._store(emitter)
        lines += [line.replace("%w_", "%r_") for line in emitter.lines]
        lines += ["  br label %scalar_last", "scalar_last:"]
        if body.guarded:
            fault = Emitter(1, "g", self.declarations)
            fault.faults = emitter.faults
            combined = fault.any_fault()
            lines += [*fault.lines, f"  %g_next = or i1 %g, {combined}"]
        for name in renamed:
            lines.append(f"  %r_{name}_next = getelementptr i8, ptr %r_{name}, i64 %s_{name}")
        lines += [
            "  %k_next = add i64 %k, 1",
            "  %again = icmp slt i64 %k_next, %n",
            "  br i1 %again, label %scalar, label %done",
            "done:",
            f"  %result = phi i1 [%f0, %rest], [{'%g_next' if body.guarded else 'false'}, %scalar_last]",
            "  ret i1 %result",
        ]
        return lines


def load_operand(code: Emitter, operand: Memory, place: str, exprs: Sequence[Expr]) -> None:
    """Bind the expressions to the components of an element, or of as many elements in a row as a vector has."""
    width, whole = code.width, operand.ir_type(code.width)
    loaded = code.load(whole, place, operand.align)
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
    code.store(operand.ir_type(code.width), value, place, operand.align)


def _interleaved(emitter: Emitter, type: str, values: Sequence[str]) -> str:
    """Real and imaginary components as one vector of elements."""
    width = emitter.width
    if width == 1:
        one = emitter.register(f"insertelement <2 x {type}> poison, {type} {values[0]}, i32 0")
        return emitter.register(f"insertelement <2 x {type}> {one}, {type} {values[1]}, i32 1")
    half = f"<{width} x {type}>"
    mask = ", ".join(f"i32 {k // 2 + (width if k % 2 else 0)}" for k in range(2 * width))
    return emitter.register(
        f"shufflevector {half} {values[0]}, {half} {values[1]}, <{2 * width} x i32> <{mask}>"
    )


LONG = 100
"""Instructions of a vector's computation from which on it is written once only."""


def row_text(row: RowWriter, name: str) -> str:
    """The row function of a body, in the form that its length asks for."""
    if row.body.width > 1 and len(row.vector.emitter.lines) > LONG:
        return row.function(name, _strip_mined(row))
    return row.text(name)


def _strip_mined(row: RowWriter) -> list[str]:
    """One loop over vectors, each computed in place or in buffers."""
    body, width = row.body, row.body.width
    begin, prepare, emitter = row.vector
    check = Emitter(1, "k", row.declarations)
    contiguous = row.contiguous(check, "true")
    lines = row.buffers(body.memory)
    lines += ["  %some = icmp sgt i64 %n, 0", "  br i1 %some, label %prepare, label %done", "prepare:"]
    lines += [*check.lines, *prepare.lines, "  br label %strip", "strip:"]
    lines.append("  %i = phi i64 [0, %prepare], [%i_next, %next]")
    if body.guarded:
        lines.append("  %fault = phi i1 [false, %prepare], [%fault_next, %next]")
    for name, (first, _) in begin.items():
        lines.append(f"  %at_{name} = phi ptr [{first}, %prepare], [%at_{name}_next, %next]")
    lines += [
        "  %left = sub i64 %n, %i",
        f"  %whole = icmp sge i64 %left, {width}",
        f"  %count = select i1 %whole, i64 {width}, i64 %left",
        "  %last = sub i64 %count, 1",
        f"  %direct = and i1 %whole, {contiguous}",
        "  br i1 %direct, label %compute, label %gather",
        "gather:",
    ]
    block = "gather"
    for operand in body.inputs:
        lines += _moved(operand, block, str(width), gathering=True)
        block = f"in_{operand.name}_done"
    lines += ["  br label %compute", "compute:"]
    for name in begin:
        lines.append(f"  %w_{name} = phi ptr [%at_{name}, %strip], [%buffer_{name}, %{block}]")
    lines += [*emitter.lines, "  br i1 %direct, label %next, label %scatter", "scatter:"]
    block = "scatter"
    for operand in body.outputs:
        lines += _moved(operand, block, "%count", gathering=False)
        block = f"out_{operand.name}_done"
    lines += ["  br label %next", "next:"]
    for name, (_, step) in begin.items():
        lines.append(f"  %at_{name}_next = getelementptr i8, ptr %at_{name}, i64 {step}")
    fault = "%fault_next" if body.guarded else "false"
    return [
        *lines,
        f"  %i_next = add i64 %i, {width}",
        "  %more = icmp slt i64 %i_next, %n",
        "  br i1 %more, label %strip, label %done",
        "done:",
        f"  %result = phi i1 [false, %entry], [{fault}, %next]",
        "  ret i1 %result",
    ]


def _moved(operand: Memory, before: str, count: str, *, gathering: bool) -> list[str]:
    """A loop that brings %i's vector of an operand into its buffer, its last element repeated, or back from there."""
    name, way = operand.name, "in" if gathering else "out"
    label, type = f"{way}_{name}", element_type(operand.itemsize)
    align = operand.itemsize // operand.components
    index = f"%{label}_k"
    lines = [
        f"  br label %{label}",
        f"{label}:",
        f"  {index} = phi i64 [0, %{before}], [{index}_next, %{label}]",
        f"  {index}_less = icmp slt i64 {index}, %last",
        f"  {index}_here = select i1 {index}_less, i64 {index}, i64 %last",
        f"  {index}_far = add i64 %i, {index}_here",
        f"  {index}_bytes = mul i64 {index}_far, %s_{name}",
        f"  {index}_place = getelementptr i8, ptr %{name}, i64 {index}_bytes",
        f"  {index}_slot = getelementptr {type}, ptr %buffer_{name}, i64 {index}",
    ]
    source, target = (f"{index}_place", f"{index}_slot") if gathering else (f"{index}_slot", f"{index}_place")
    return [
        *lines,
        f"  {index}_value = load {type}, ptr {source}, align {align}",
        f"  store {type} {index}_value, ptr {target}, align {align}",
        f"  {index}_next = add i64 {index}, 1",
        f"  {index}_more = icmp slt i64 {index}_next, {count}",
        f"  br i1 {index}_more, label %{label}, label %{label}_done",
        f"{label}_done:",
    ]
