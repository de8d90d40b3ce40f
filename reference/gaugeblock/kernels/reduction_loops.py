"""IR text of a fold's loops over one run of elements.

    @along_P(state, in, n, stride, index, parameters)   elements of one output; vector lanes are partial results
    @across_P(state, in, n, stride, index, parameters)  each vector lane belongs to another of W adjacent outputs

P is the phase. Both have one signature, so that one odometer walks the other reduced dims for either.
"""

from __future__ import annotations

from .code import NAME, Declarations
from .common import PIECES_RUN, SPLIT_RUN, declaration
from .isa import Level
from .loops import deinterleave, interleave
from .lower import Emitter, reachable
from .reduction_phases import (
    BLOCK_BYTES,
    RecordedPhase,
    RecordedReduction,
    load_slot,
    load_slots,
    store_slot,
    store_slots,
)

LONG_STEP = 40
"""Exprs of a step from which two at a time gain nothing."""
SIGNATURE = "ptr %state, ptr %in, i64 %n, i64 %stride, i64 %index, ptr %parameters"


class LoopWriter:
    """Writes the run loops of a recorded fold."""

    def __init__(self, body: RecordedReduction, declarations: Declarations) -> None:
        self.body = body
        self.declarations = declarations

    def parameters(self, emitter: Emitter, *, shared: bool) -> None:
        """Bind count, numbers and earlier results; `shared` ones are scalars repeated over the lanes."""
        context = self.body.context
        fixed = (context.count, *context.numbers)
        single = (*fixed, *context.earlier) if shared else fixed
        for slot, expr in enumerate(single):
            scalar = Emitter(1, f"{emitter.prefix}p{slot}", self.declarations)
            value = load_slot(scalar, "%parameters", slot, expr.type)
            emitter.lines += scalar.lines
            emitter.bind(expr, emitter.splat(value, expr.type))
        if not shared:
            load_slots(emitter, "%parameters", context.earlier, len(fixed))

    def along(self, number: int) -> str:
        """@along_P."""
        phase, width, itemsize = self.body.phases[number], self.body.width, self.body.input.itemsize
        shared, scalar = Emitter(width, "w", self.declarations), Emitter(1, "s", self.declarations)
        lines = [f"define internal void @along_{number}({SIGNATURE}) #0 {{", "entry:"]
        lines += [
            f"  %packed = icmp eq i64 %stride, {itemsize}",
            f"  %long = icmp sge i64 %n, {width}",
            "  %fast = and i1 %packed, %long",
            "  br i1 %fast, label %prepare, label %rest",
            "prepare:",
            f"  %stop = and i64 %n, {-width}",
        ]
        self.parameters(shared, shared=True)
        lanes = ", ".join(f"i64 {k}" for k in range(width))
        start = shared.splat("%index", phase.index.type)
        origin = shared.register(f"add {shared.type('i64')} {start}, <{lanes}>")
        pairs = self._pairs(shared, phase, origin)
        lines += [*shared.lines, *pairs]
        vector = Emitter(width, "v", self.declarations)
        vector.names = dict(shared.names)
        lines += self._loop(vector, phase, "vector", "enter", "rest", ("%first", "%from"), "%stop", width, origin)
        lines += [
            "rest:",
            f"  %done = phi i64 [0, %entry], [%stop, %v_out]{', [%stop, %pairs_out]' if 'pairs_out:' in pairs else ''}",
            "  %jump = mul i64 %done, %stride",
            "  %rest_in = getelementptr i8, ptr %in, i64 %jump",
            "  %left = icmp slt i64 %done, %n",
            "  br i1 %left, label %tail, label %end",
            "tail:",
        ]
        self.parameters(scalar, shared=True)
        lines += self._loop(scalar, phase, "scalar", "tail", "end", ("%done", "%rest_in"), "%n", 1, "%index")
        return "\n".join([*lines, "end:", "  ret void", "}"])

    def _pairs(self, emitter: Emitter, phase: RecordedPhase, origin: str) -> list[str]:
        """Two vectors at a time into two states, so that one need not wait for the other; then block %enter."""
        width, itemsize = emitter.width, self.body.input.itemsize
        if len(reachable(phase.stepped)) > LONG_STEP:
            entered = ["  %first = phi i64 [0, %prepare]", "  %from = phi ptr [%in, %prepare]"]
            return ["  br label %enter", "enter:", *entered]
        before = Emitter(width, "vp", self.declarations)
        before.names = dict(emitter.names)
        own = [load_slot(before, "%state", slot, expr.type) for slot, expr in enumerate(phase.state)]
        fresh = before.emit(phase.init)
        body = Emitter(width, "vq", self.declarations)
        following: list[list[str]] = []
        for half in range(2):
            step = Emitter(width, f"vq{half}", self.declarations)
            step.names = dict(before.names)
            for slot, expr in enumerate(phase.state):
                step.bind(expr, f"%q{half}_s{slot}")
            at = step.register(f"getelementptr i8, ptr %q_at, i64 {half * width * itemsize}")
            self._element(step, phase, at)
            i = step.register(f"add i64 %q_i, {half * width}")
            self._index(step, phase, i, origin)
            following.append(step.emit(phase.stepped))
            body.lines += step.lines
        lines = [
            f"  %pairs = and i64 %n, {-2 * width}",
            f"  %several = icmp sge i64 %n, {4 * width}",
            "  br i1 %several, label %pairs_enter, label %enter",
            "pairs_enter:",
            *before.lines,
            "  br label %pair",
            "pair:",
            "  %q_i = phi i64 [0, %pairs_enter], [%q_next, %pair_last]",
            "  %q_at = phi ptr [%in, %pairs_enter], [%q_ahead, %pair_last]",
        ]
        for half, initial in enumerate((own, fresh)):
            for slot, expr in enumerate(phase.state):
                type = emitter.type(expr.type)
                start, then = initial[slot], following[half][slot]
                lines.append(f"  %q{half}_s{slot} = phi {type} [{start}, %pairs_enter], [{then}, %pair_last]")
        joined = Emitter(width, "vj", self.declarations)
        joined.names = dict(before.names)
        for exprs, values in ((phase.state, following[0]), (phase.other, following[1])):
            for expr, value in zip(exprs, values, strict=True):
                joined.bind(expr, value)
        for slot, (expr, value) in enumerate(zip(phase.state, joined.emit(phase.combined), strict=True)):
            store_slot(joined, "%state", slot, expr.type, value)
        return [
            *lines,
            *body.lines,
            "  br label %pair_last",
            "pair_last:",
            f"  %q_next = add i64 %q_i, {2 * width}",
            f"  %q_ahead = getelementptr i8, ptr %q_at, i64 {2 * width * itemsize}",
            "  %q_more = icmp slt i64 %q_next, %pairs",
            "  br i1 %q_more, label %pair, label %pairs_out",
            "pairs_out:",
            *joined.lines,
            f"  %pairs_bytes = mul i64 %pairs, {itemsize}",
            "  %pairs_end = getelementptr i8, ptr %in, i64 %pairs_bytes",
            "  %one_left = icmp slt i64 %pairs, %stop",
            "  br i1 %one_left, label %enter, label %rest",
            "enter:",
            "  %first = phi i64 [0, %prepare], [%pairs, %pairs_out]",
            "  %from = phi ptr [%in, %prepare], [%pairs_end, %pairs_out]",
        ]

    def across(self, number: int) -> str:
        """@across_P."""
        phase, width = self.body.phases[number], self.body.width
        vector = Emitter(width, "v", self.declarations)
        lines = [f"define internal void @across_{number}({SIGNATURE}) #0 {{", "entry:"]
        self.parameters(vector, shared=False)
        lines += self._loop(vector, phase, "vector", "entry", "end", ("0", "%in"), "%n", 1, "")
        return "\n".join([*lines, "end:", "  ret void", "}"])

    def _loop(
        self, emitter: Emitter, phase: RecordedPhase, label: str, before: str, after: str,
        begin: tuple[str, str], stop: str, step: int, origin: str,
    ) -> list[str]:  # fmt: skip
        """Elements from `begin`, an index and a pointer, up to `stop`."""
        first, source = begin
        initial = [load_slot(emitter, "%state", slot, expr.type) for slot, expr in enumerate(phase.state)]
        prefix = emitter.prefix
        inner = Emitter(emitter.width, f"{prefix}l", self.declarations)
        inner.names = emitter.names
        for slot, expr in enumerate(phase.state):
            inner.bind(expr, f"%{prefix}_s{slot}")
        self._element(inner, phase, f"%{prefix}_at")
        self._index(inner, phase, f"%{prefix}_i", origin)
        stepped = inner.emit(phase.stepped)
        lines = [
            *emitter.lines,
            f"  br label %{label}",
            f"{label}:",
            f"  %{prefix}_i = phi i64 [{first}, %{before}], [%{prefix}_next, %{label}_last]",
            f"  %{prefix}_at = phi ptr [{source}, %{before}], [%{prefix}_ahead, %{label}_last]",
        ]
        for slot, (expr, old, new) in enumerate(zip(phase.state, initial, stepped, strict=True)):
            type = inner.type(expr.type)
            lines.append(f"  %{prefix}_s{slot} = phi {type} [{old}, %{before}], [{new}, %{label}_last]")
        lines += inner.lines
        lines += [
            f"  br label %{label}_last",
            f"{label}_last:",
            f"  %{prefix}_next = add i64 %{prefix}_i, {step}",
            f"  %{prefix}_move = mul i64 %stride, {step}",
            f"  %{prefix}_ahead = getelementptr i8, ptr %{prefix}_at, i64 %{prefix}_move",
            f"  %{prefix}_more = icmp slt i64 %{prefix}_next, {stop}",
            f"  br i1 %{prefix}_more, label %{label}, label %{prefix}_out",
            f"{prefix}_out:",
        ]
        closing = Emitter(inner.width, f"{prefix}c", self.declarations)
        for slot, expr in enumerate(phase.state):
            store_slot(closing, "%state", slot, expr.type, stepped[slot])
        return [*lines, *closing.lines, f"  br label %{after}"]

    def _element(self, emitter: Emitter, phase: RecordedPhase, at: str) -> None:
        operand, width = self.body.input, emitter.width
        align = operand.itemsize // operand.components
        count = operand.components * width
        type = operand.storage.ir if count == 1 else f"<{count} x {operand.storage.ir}>"
        loaded = emitter.register(f"load {type}, ptr {at}, align {align}")
        if operand.components == 1:
            emitter.bind(phase.element[0], loaded)
            return
        for part, expr in enumerate(phase.element):
            emitter.bind(expr, deinterleave(emitter, loaded, type, part))

    def _index(self, emitter: Emitter, phase: RecordedPhase, i: str, origin: str) -> None:
        if not any(expr is phase.index for expr in reachable(phase.stepped)):
            return
        if not origin:
            base = emitter.register(f"add i64 %index, {i}")
            emitter.bind(phase.index, emitter.splat(base, phase.index.type))
        elif emitter.width == 1:
            emitter.bind(phase.index, emitter.register(f"add i64 {origin}, {i}"))
        else:
            moved = emitter.splat(i, phase.index.type)
            emitter.bind(phase.index, emitter.register(f"add {emitter.type('i64')} {origin}, {moved}"))


RUN_TAIL = "ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"


class OutputWriter:
    """Writes a module of a fold: the one for single outputs, or the one for W adjacent outputs, which goes with it."""

    def __init__(self, body: RecordedReduction, level: Level) -> None:
        self.body = body
        self.level = level
        self.declarations = Declarations(level.vector_bytes)
        self.loops = LoopWriter(body, self.declarations)

    def single(self) -> str:
        """The module whose @NAME folds outputs one by one."""
        phases = range(len(self.body.phases))
        parts = [declaration(SPLIT_RUN), *(f"declare void @{NAME}_join_{number}(ptr, ptr)" for number in phases)]
        for number in phases:
            parts += [self.loops.along(number), self._merge(number), self._project(number, 1)]
        own = Declarations()
        plain = [*(self._join(number, own) for number in phases), self._row(NAME, wide=False), *own.values()]
        return "\n".join([*parts, self._output(1), self.declarations.text(self.level.attributes, plain)])

    def several(self, single: str) -> str:
        """The module whose @NAME folds W adjacent outputs at once; `single` is the other module's name."""
        parts = [declaration(PIECES_RUN)]
        for number in range(len(self.body.phases)):
            parts += [self.loops.across(number), self._project(number, self.body.width)]
        rest = self.declarations.text(self.level.attributes, [self._row(single, wide=True)])
        return "\n".join([*parts, self._output(self.body.width), rest])

    def _merge(self, number: int) -> str:
        """@merge_P(state): combine the vector lanes, halving them, into the scalar state."""
        phase, width = self.body.phases[number], self.body.width
        whole = Emitter(width, "w", self.declarations)
        values = [load_slot(whole, "%state", slot, expr.type) for slot, expr in enumerate(phase.state)]
        lines = whole.lines
        while width > 1:
            half = Emitter(width // 2, f"h{width}", self.declarations)
            for exprs, first in ((phase.state, 0), (phase.other, width // 2)):
                for expr, value in zip(exprs, values, strict=True):
                    half.bind(expr, _half(half, expr.type.ir, value, first))
            values = half.emit(phase.combined)
            lines += half.lines
            width //= 2
        single = Emitter(1, "m", self.declarations)
        load_slots(single, "%state", phase.state)
        for expr, value in zip(phase.other, values, strict=True):
            single.bind(expr, value)
        store_slots(single, "%state", phase.combined)
        lines += single.lines
        return "\n".join([f"define internal void @merge_{number}(ptr %state) #0 {{", *lines, "  ret void", "}"])

    def _join(self, number: int, declarations: Declarations) -> str:
        """@NAME_join_P(state, other): combine two scalar states into the first."""
        phase = self.body.phases[number]
        emitter = Emitter(1, "j", declarations)
        load_slots(emitter, "%state", phase.state)
        load_slots(emitter, "%other", phase.other)
        store_slots(emitter, "%state", phase.combined)
        head = f"define void @{NAME}_join_{number}(ptr %state, ptr %other) #0 {{"
        return "\n".join([head, *emitter.lines, "  ret void", "}"])

    def _project(self, number: int, width: int) -> str:
        """@finish_P_W(state, parameters, outs, out_strides): parameters of the next phase, or the results."""
        body, phase = self.body, self.body.phases[number]
        emitter = Emitter(width, "f", self.declarations)
        self.loops.parameters(emitter, shared=width == 1)
        load_slots(emitter, "%state", phase.state)
        if number < len(body.phases) - 1:
            store_slots(emitter, "%parameters", phase.projected, 1 + len(body.context.numbers))
        else:
            self._store_results(emitter, emitter.emit(phase.projected))
        signature = "ptr %state, ptr %parameters, ptr %outs, ptr %out_strides"
        return "\n".join(
            [f"define internal void @finish_{number}_{width}({signature}) #0 {{", *emitter.lines, "  ret void", "}"]
        )

    def _store_results(self, emitter: Emitter, values: list[str]) -> None:
        """Store each result at its place: one vector where outputs are contiguous, else element by element."""
        position = 0
        for number, operand in enumerate(self.body.outputs):
            count = operand.components
            parts = values[position : position + count]
            position += count
            place = emitter.register(f"getelementptr ptr, ptr %outs, i64 {number}")
            base = emitter.register(f"load ptr, ptr {place}")
            scalar, width = operand.storage.ir, emitter.width
            align = operand.itemsize // count
            whole = parts[0] if count == 1 else interleave(emitter, scalar, parts)
            type = scalar if width * count == 1 else f"<{width * count} x {scalar}>"
            if width == 1:
                emitter.lines.append(f"  store {type} {whole}, ptr {base}, align {align}")
                continue
            stride_place = emitter.register(f"getelementptr i64, ptr %out_strides, i64 {number}")
            stride = emitter.register(f"load i64, ptr {stride_place}")
            packed = emitter.register(f"icmp eq i64 {stride}, {operand.itemsize}")
            element = scalar if count == 1 else f"<2 x {scalar}>"
            emitter.lines += [
                f"  %buffer_{number} = alloca {type}, align 64",
                f"  %target_{number} = select i1 {packed}, ptr {base}, ptr %buffer_{number}",
                f"  store {type} {whole}, ptr %target_{number}, align {align}",
                f"  br i1 {packed}, label %done_{number}, label %before_{number}",
                f"before_{number}:",
                f"  br label %spread_{number}",
                f"spread_{number}:",
                f"  %k_{number} = phi i64 [0, %before_{number}], [%k_next_{number}, %spread_{number}]",
                f"  %from_{number} = getelementptr {element}, ptr %buffer_{number}, i64 %k_{number}",
                f"  %one_{number} = load {element}, ptr %from_{number}, align {align}",
                f"  %move_{number} = mul i64 {stride}, %k_{number}",
                f"  %to_{number} = getelementptr i8, ptr {base}, i64 %move_{number}",
                f"  store {element} %one_{number}, ptr %to_{number}, align {align}",
                f"  %k_next_{number} = add i64 %k_{number}, 1",
                f"  %more_{number} = icmp slt i64 %k_next_{number}, {width}",
                f"  br i1 %more_{number}, label %spread_{number}, label %done_{number}",
                f"done_{number}:",
            ]

    def _output(self, width: int) -> str:
        """@NAME_output_W: all phases for one output (W = 1, elements along it) or W adjacent ones."""
        body = self.body
        emitter = Emitter(width, "o", self.declarations)
        lines = emitter.lines
        lines.append(f"  %state = alloca [{BLOCK_BYTES} x i8], align 64")
        for number, phase in enumerate(body.phases):
            for size in dict.fromkeys((width, body.width)):
                writer = Emitter(size, f"i{number}x{size}", self.declarations)
                for slot, (expr, value) in enumerate(zip(phase.init, writer.emit(phase.init), strict=True)):
                    store_slot(writer, "%state", slot, expr.type, value)
                lines += writer.lines
            if width == 1:
                functions = f"ptr @along_{number}, ptr @merge_{number}, ptr @{NAME}_join_{number}"
                lines.append(f"  call void @{SPLIT_RUN}({functions}, ptr %state, {RUN_TAIL})")
            else:
                lines.append(f"  call void @{PIECES_RUN}(ptr @across_{number}, ptr %state, {RUN_TAIL})")
            project = f"@finish_{number}_{width}"
            lines.append(f"  call void {project}(ptr %state, ptr %parameters, ptr %outs, ptr %out_strides)")
        signature = f"{RUN_TAIL}, ptr %outs, ptr %out_strides"
        return "\n".join([f"define void @{NAME}_output_{width}({signature}) #0 {{", *lines, "  ret void", "}"])

    def _row(self, single: str, *, wide: bool) -> str:
        """@NAME: a row of outputs; `single` is the name of the module with the function for one of them."""
        width, itemsize, many = self.body.width, self.body.input.itemsize, len(self.body.outputs)
        call = f"{RUN_TAIL}, ptr %cursors, ptr %out_strides".replace("%in,", "%at,")
        taken = "(ptr, i64, ptr, ptr, ptr, ptr, ptr)"
        lines = [f"declare void @{single}_output_1{taken}"]
        if wide:
            lines.append(f"declare void @{NAME}_output_{width}{taken}")
        lines += [
            f"define void @{NAME}(ptr %in, ptr %outs, i64 %n, i64 %in_stride, ptr %out_strides, i64 %ndim, ptr %sizes, "
            "ptr %strides, ptr %parameters) #0 {",
            "entry:",
            f"  %cursors = alloca [{many} x ptr]",
        ]
        for k in range(many):
            lines += [
                f"  %place_{k} = getelementptr ptr, ptr %outs, i64 {k}",
                f"  %out_{k} = load ptr, ptr %place_{k}",
                f"  %cursor_{k} = getelementptr ptr, ptr %cursors, i64 {k}",
                f"  store ptr %out_{k}, ptr %cursor_{k}",
                f"  %stride_place_{k} = getelementptr i64, ptr %out_strides, i64 {k}",
                f"  %stride_{k} = load i64, ptr %stride_place_{k}",
            ]
        if wide:
            lines += [
                "  %flat = icmp eq i64 %ndim, 0",
                "  %first = load i64, ptr %strides",
                f"  %packed = icmp eq i64 %first, {itemsize}",
                "  %unpacked = xor i1 %packed, true",
                "  %reduces = xor i1 %flat, true",
                f"  %kept_packed = icmp eq i64 %in_stride, {itemsize}",
                "  %apart = and i1 %unpacked, %reduces",
                "  %wide = and i1 %apart, %kept_packed",
            ]
        lines += [
            "  br label %test",
            "test:",
            "  %i = phi i64 [0, %entry], [%i_next, %advance]",
            "  %at = phi ptr [%in, %entry], [%ahead, %advance]",
            "  %left = sub i64 %n, %i",
            "  %some = icmp sgt i64 %left, 0",
            f"  br i1 %some, label %{'choose' if wide else 'one'}, label %end",
        ]
        if wide:
            lines += [
                "choose:",
                f"  %enough = icmp sge i64 %left, {width}",
                "  %use_wide = and i1 %wide, %enough",
                "  br i1 %use_wide, label %many, label %one",
                "many:",
                f"  call void @{NAME}_output_{width}({call})",
                "  br label %advance",
            ]
        lines += [
            "one:",
            f"  call void @{single}_output_1({call})",
            "  br label %advance",
            "advance:",
            f"  %by = phi i64 [1, %one]{f', [{width}, %many]' if wide else ''}",
        ]
        for k in range(many):
            lines += [
                f"  %now_{k} = load ptr, ptr %cursor_{k}",
                f"  %move_{k} = mul i64 %stride_{k}, %by",
                f"  %next_{k} = getelementptr i8, ptr %now_{k}, i64 %move_{k}",
                f"  store ptr %next_{k}, ptr %cursor_{k}",
            ]
        lines += [
            "  %i_next = add i64 %i, %by",
            "  %in_move = mul i64 %in_stride, %by",
            "  %ahead = getelementptr i8, ptr %at, i64 %in_move",
            "  br label %test",
            "end:",
            "  ret void",
            "}",
        ]
        return "\n".join(lines)


def _half(emitter: Emitter, type: str, value: str, first: int) -> str:
    """Exprs first .. first + W - 1 of a vector of 2 W lanes."""
    whole = f"<{2 * emitter.width} x {type}>"
    if emitter.width == 1:
        return emitter.register(f"extractelement {whole} {value}, i32 {first}")
    mask = ", ".join(f"i32 {first + k}" for k in range(emitter.width))
    return emitter.register(f"shufflevector {whole} {value}, {whole} poison, <{emitter.width} x i32> <{mask}>")
