"""IR text of a reduction: loops over runs of elements, merging, projection, and rows of outputs.

    @along_P(state, in, n, stride, index, parameters)   elements of one output
    @across_P_W(state, in, n, stride, index, parameters)  each vector lane belongs to another of W adjacent outputs
    @NAME(in, outs, n, in_stride, out_strides, ndim, sizes, strides, parameters)

P is the phase. `along` and `across` have one signature, so that one odometer walks the other reduced dims for either.
The last writes n outputs: along the reduced elements of each, or across W adjacent outputs where the input is
contiguous in the kept dimension and not in the reduced one. `parameters` starts with the count and the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from .code import NAME, Code, Declarations
from .common import SPLIT_RUN, STRIPS_RUN, declaration
from .isa import Level
from .loops import load_operand, store_operand
from .lower import Emitter, reachable
from .reduction_phases import (
    BLOCK_BYTES,
    RecordedPhase,
    RecordedReduction,
    load_slot,
    load_slots,
    over_vectors,
    store_slot,
    store_slots,
)
from .sharing import PART

_RUN = "ptr %state, ptr %in, i64 %n, i64 %stride, i64 %index, ptr %parameters"
_WALK = "ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"


class ReductionWriter:
    """Writes a module of a reduction: the one for single outputs, or that for W adjacent ones, which goes with it."""

    def __init__(self, body: RecordedReduction, level: Level) -> None:
        self.body = body
        self.level = level
        self.declarations = Declarations(level.vector_bytes)

    def single(self) -> str:
        """The module whose @NAME reduces outputs one by one."""
        phases = range(len(self.body.phases))
        parts = [declaration(SPLIT_RUN), *(f"declare void @{NAME}_join_{number}(ptr, ptr)" for number in phases)]
        for number in phases:
            parts += [self._along(number), self._project(number, 1)]
        own = Declarations()
        plain = [*(self._join(number, own) for number in phases), self._row(NAME, wide=False), *own.values()]
        return "\n".join([*parts, self._output(1), self.declarations.text(self.level.attributes, plain)])

    def several(self, single: str) -> str:
        """The module whose @NAME reduces W adjacent outputs at once; `single` is the other module's name."""
        parts = [declaration(STRIPS_RUN)]
        for width in self.body.strips:
            for number in range(len(self.body.phases)):
                code = self._code(width)
                self._bind_parameters(code, shared=False)
                self._run(code, self.body.phases[number], ("0", "%n"), "%stride")
                across = code.function(f"define internal void @across_{number}_{width}({_RUN}) #0", "  ret void")
                parts += [across, self._project(number, width)]
            parts.append(self._output(width))
        rest = self.declarations.text(self.level.attributes, [self._row(single, wide=True)])
        return "\n".join([*parts, rest])

    def _code(self, width: int) -> Emitter:
        return Emitter(width, "x", self.declarations)

    def _along(self, number: int) -> str:
        phase, width, itemsize = self.body.phases[number], self.body.width, self.body.input.itemsize
        code = self._code(1)
        contiguous = code.register(f"icmp eq i64 %stride, {itemsize}")
        stop = code.register(f"select i1 {contiguous}, i64 %n, i64 0")
        if not code.wide:
            stop = code.register(f"and i64 {stop}, {-width}")
        with code.when(code.register(f"icmp sgt i64 {stop}, 0")):
            with code.scope(width):
                self._bind_parameters(code, shared=True)
                found = over_vectors(code, phase, stop, partial(self._stepped, code, phase, itemsize))
            with code.scope():
                load_slots(code, "%state", phase.state)
                code.bind_all(phase.other, found)
                store_slots(code, "%state", phase.combined)
        with code.when(code.register(f"icmp slt i64 {stop}, %n")):
            self._bind_parameters(code, shared=True)
            self._run(code, phase, (stop, "%n"), "%stride")
        return code.function(f"define internal void @along_{number}({_RUN}) #0", "  ret void")

    def _bind_parameters(self, code: Emitter, *, shared: bool) -> None:
        """Bind count, numbers and earlier results; `shared` ones are scalars repeated over the lanes."""
        context = self.body.context
        fixed = (context.count, *context.numbers)
        for slot, expr in enumerate((*fixed, *context.earlier) if shared else fixed):
            with code.scope(1):
                value = load_slot(code, "%parameters", slot, expr.type)
            code.bind(expr, code.splat(value, expr.type))
        if not shared:
            load_slots(code, "%parameters", context.earlier, len(fixed))

    def _run(self, code: Emitter, phase: RecordedPhase, span: tuple[str, str], stride: str, step: int = 1) -> None:
        """Take the elements of a span, some bytes apart, into the state in memory."""
        initial = [
            (code.type(expr.type), load_slot(code, "%state", slot, expr.type)) for slot, expr in enumerate(phase.state)
        ]
        with code.carry(*span, step, initial) as loop:
            loop.following = self._stepped(code, phase, stride, loop.index, loop.values, adjacent=False)
        for slot, (expr, value) in enumerate(zip(phase.state, loop.results, strict=True)):
            store_slot(code, "%state", slot, expr.type, value)

    def _stepped(
        self, code: Emitter, phase: RecordedPhase, stride: str | int, i: str, state: Sequence[str], *,
        adjacent: bool = True,
    ) -> list[str]:  # fmt: skip
        """The state after the elements from the i-th on, which follow one another where they are `adjacent`."""
        with code.scope():
            code.bind_all(phase.state, state)
            load_operand(code, self.body.input, code.at("%in", i, stride), phase.element)
            if any(expr is phase.index for expr in reachable(phase.stepped)):
                index = code.splat(code.register(f"add i64 %index, {i}"), phase.index.type)
                if adjacent and code.width > 1:
                    lanes = ", ".join(f"i64 {k}" for k in range(code.width))
                    index = code.register(f"add {code.type('i64')} {index}, <{lanes}>")
                code.bind(phase.index, index)
            return code.emit(phase.stepped)

    def _join(self, number: int, declarations: Declarations) -> str:
        """@NAME_join_P(state, other): combine two scalar states into the first."""
        phase, code = self.body.phases[number], Emitter(1, "x", declarations)
        load_slots(code, "%state", phase.state)
        load_slots(code, "%other", phase.other)
        store_slots(code, "%state", phase.combined)
        return code.function(f"define void @{NAME}_join_{number}(ptr %state, ptr %other) #0", "  ret void")

    def _project(self, number: int, width: int) -> str:
        """@project_P_W(state, parameters, outs, out_strides): parameters of the next phase, or the results."""
        body, projected, code = self.body, self.body.projected[number], self._code(width)
        self._bind_parameters(code, shared=width == 1)
        load_slots(code, "%state", body.phases[number].state)
        if number < len(body.phases) - 1:
            store_slots(code, "%parameters", projected, 1 + len(body.context.numbers))
        else:
            values = iter(code.emit(projected))
            for position, operand in enumerate(body.outputs):
                parts = [next(values) for _ in range(operand.components)]
                self._store_result(code, position, parts)
        arguments = "ptr %state, ptr %parameters, ptr %outs, ptr %out_strides"
        return code.function(f"define internal void @project_{number}_{width}({arguments}) #0", "  ret void")

    def _store_result(self, code: Emitter, position: int, parts: list[str]) -> None:
        """Store a result at its place: one vector where outputs are contiguous, else element by element."""
        operand = self.body.outputs[position]
        base = code.load("ptr", code.slot("%outs", position))
        if code.width == 1:
            store_operand(code, operand, base, parts)
            return
        stride = code.load("i64", code.slot("%out_strides", position))
        contiguous = code.register(f"icmp eq i64 {stride}, {operand.itemsize}")
        buffer = code.register(f"alloca [{code.width * operand.itemsize} x i8], align 64")
        store_operand(code, operand, code.register(f"select i1 {contiguous}, ptr {base}, ptr {buffer}"), parts)
        apart = code.register(f"select i1 {contiguous}, i64 0, i64 {code.width}")
        with code.loop(0, apart) as k, code.scope(1):
            exprs = operand.symbols()
            load_operand(code, operand, code.at(buffer, k, operand.itemsize), exprs)
            store_operand(code, operand, code.at(base, k, stride), code.emit(exprs))

    def _output(self, width: int) -> str:
        """@NAME_output_W: all phases for one output (W = 1, elements along it) or W adjacent ones. A few elements in a
        row are taken at once."""
        code = self._code(width)
        code.line(f"%state = alloca [{BLOCK_BYTES} x i8], align 64")
        if width == 1:
            itemsize = self.body.input.itemsize
            flat, low = code.register("icmp eq i64 %ndim, 0"), code.register("icmp ule i64 %ndim, 1")
            amount, stride = (
                code.register(f"select i1 {flat}, i64 {single}, i64 {code.load('i64', array)}")
                for single, array in ((1, "%sizes"), (itemsize, "%strides"))
            )
            few, adjacent = (code.register(f"icmp {one}") for one in (
                f"ule i64 {amount}, {2 * PART}", f"eq i64 {stride}, {itemsize}"))
            short = code.register(f"and i1 {low}, {code.register(f'and i1 {few}, {adjacent}')}")
        for number, phase in enumerate(self.body.phases):
            store_slots(code, "%state", phase.init)
            if width == 1:
                given = f"ptr %state, ptr %in, i64 {amount}, i64 {stride}, i64 0, ptr %parameters"
                with code.when(short):
                    code.line(f"call void @along_{number}({given})")
                with code.when(code.register(f"xor i1 {short}, true")):
                    functions = f"ptr @along_{number}, ptr @{NAME}_join_{number}"
                    code.line(f"call void @{SPLIT_RUN}({functions}, ptr %state, {_WALK})")
            else:
                code.line(f"call void @{STRIPS_RUN}(ptr @across_{number}_{width}, ptr %state, {_WALK})")
            given = "ptr %state, ptr %parameters, ptr %outs, ptr %out_strides"
            code.line(f"call void @project_{number}_{width}({given})")
        head = f"define void @{NAME}_output_{width}({_WALK}, ptr %outs, ptr %out_strides) #0"
        return code.function(head, "  ret void")

    def _row(self, single: str, *, wide: bool) -> str:
        """@NAME: a row of outputs; `single` is the name of the module with the function for one of them. The last ones
        of many adjacent outputs are reduced together with some of those before."""
        width, itemsize, many = self.body.width, self.body.input.itemsize, len(self.body.outputs)
        code = Code()
        cursors = code.register(f"alloca [{many} x ptr]")
        places = [code.slot(cursors, k) for k in range(many)]
        steps = [code.load("i64", code.slot("%out_strides", k)) for k in range(many)]
        outs = [code.load("ptr", code.slot("%outs", k)) for k in range(many)]
        spans = [(1, "0", "%n")]
        if wide:
            reduced, inner = code.register("icmp sgt i64 %ndim, 0"), code.load("i64", "%strides")
            strided = code.register(f"icmp ne i64 {inner}, {itemsize}")
            kept = code.register(f"icmp eq i64 %in_stride, {itemsize}")
            both = code.register(f"and i1 {reduced}, {code.register(f'and i1 {strided}, {kept}')}")
            many_enough = code.register(f"and i1 {both}, {code.register(f'icmp sge i64 %n, {width}')}")
            stop = code.register(f"select i1 {many_enough}, i64 %n, i64 0")
            last = code.register(f"sub i64 %n, {width}")
            spans, start = [], "0"
            for broad in self.body.strips[:-1]:
                whole = code.register(f"and i64 {stop}, {-broad}")
                spans.append((broad, start, whole))
                start = whole
            spans += [(width, start, stop), (1, stop, "%n")]
        for size, start, end in spans:
            module = NAME if size > 1 else single
            with code.loop(start, end, size) as i:
                i = code.minimum(i, last) if size == width else i
                for k in range(many):
                    code.store("ptr", code.at(outs[k], i, steps[k]), places[k])
                given = _WALK.replace("%in,", f"{code.at('%in', i, '%in_stride')},")
                code.line(f"call void @{module}_output_{size}({given}, ptr {cursors}, ptr %out_strides)")
        taken = "(ptr, i64, ptr, ptr, ptr, ptr, ptr)"
        declared = [f"declare void @{NAME if size > 1 else single}_output_{size}{taken}" for size, *_ in spans]
        head = (
            f"define void @{NAME}(ptr %in, ptr %outs, i64 %n, i64 %in_stride, ptr %out_strides, i64 %ndim, ptr %sizes, "
            "ptr %strides, ptr %parameters) #0"
        )
        return "\n".join([*declared, code.function(head, "  ret void")])
