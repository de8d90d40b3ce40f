"""IR text around a fold's run loops: the odometer over reduced dims, merging, finishing, and rows of outputs.

    @fold(ptr in, ptr outs, i64 n, i64 in_stride, ptr out_strides, i64 ndim, ptr sizes, ptr strides, ptr parameters)

writes n outputs: along the reduced elements of each, or across W adjacent outputs where the input is contiguous in the
kept dimension and not in the reduced one. `parameters` starts with the count and the numbers.
"""

from __future__ import annotations

from .code import NAME
from .common import PIECES_RUN, SPLIT_RUN, declaration
from .declarations import Declarations
from .fold import BLOCK_BYTES, FoldBody, load_lanes, load_slot, store_lanes, store_slot
from .fold_loops import LoopWriter
from .isa import Level
from .loops import interleave
from .lower import Emitter

RUN_TAIL = "ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"


class OutputWriter:
    """Writes a module of a fold: the one for single outputs, or the one for W adjacent outputs, which goes with it."""

    def __init__(self, body: FoldBody, level: Level) -> None:
        self.body = body
        self.level = level
        self.declarations = Declarations(level.vector_bytes)
        self.loops = LoopWriter(body, self.declarations)

    def single(self) -> str:
        """The module whose @NAME folds outputs one by one."""
        phases = range(len(self.body.phases))
        parts = [declaration(SPLIT_RUN), *(f"declare void @{NAME}_join_{number}(ptr, ptr)" for number in phases)]
        for number in phases:
            parts += [self.loops.along(number), self._merge(number), self._finish(number, 1)]
        own = Declarations()
        plain = [*(self._join(number, own) for number in phases), self._row(NAME, wide=False), *own.values()]
        return "\n".join([*parts, self._output(1), self.declarations.text(self.level.attributes, plain)])

    def several(self, single: str) -> str:
        """The module whose @NAME folds W adjacent outputs at once; `single` is the other module's name."""
        parts = [declaration(PIECES_RUN)]
        for number in range(len(self.body.phases)):
            parts += [self.loops.across(number), self._finish(number, self.body.width)]
        rest = self.declarations.text(self.level.attributes, [self._row(single, wide=True)])
        return "\n".join([*parts, self._output(self.body.width), rest])

    def _merge(self, number: int) -> str:
        """@merge_P(state): combine the vector lanes, halving them, into the scalar state."""
        phase, width = self.body.phases[number], self.body.width
        whole = Emitter(width, "w", self.declarations)
        values = [load_slot(whole, "%state", slot, lane.type) for slot, lane in enumerate(phase.state)]
        lines = whole.lines
        while width > 1:
            half = Emitter(width // 2, f"h{width}", self.declarations)
            for lanes, first in ((phase.state, 0), (phase.other, width // 2)):
                for lane, value in zip(lanes, values, strict=True):
                    half.bind(lane, _half(half, lane.type.ir, value, first))
            values = half.emit(phase.combined)
            lines += half.lines
            width //= 2
        single = Emitter(1, "m", self.declarations)
        load_lanes(single, "%state", phase.state)
        for lane, value in zip(phase.other, values, strict=True):
            single.bind(lane, value)
        store_lanes(single, "%state", phase.combined)
        lines += single.lines
        return "\n".join([f"define internal void @merge_{number}(ptr %state) #0 {{", *lines, "  ret void", "}"])

    def _join(self, number: int, declarations: Declarations) -> str:
        """@NAME_join_P(state, other): combine two scalar states into the first."""
        phase = self.body.phases[number]
        emitter = Emitter(1, "j", declarations)
        load_lanes(emitter, "%state", phase.state)
        load_lanes(emitter, "%other", phase.other)
        store_lanes(emitter, "%state", phase.combined)
        head = f"define void @{NAME}_join_{number}(ptr %state, ptr %other) #0 {{"
        return "\n".join([head, *emitter.lines, "  ret void", "}"])

    def _finish(self, number: int, width: int) -> str:
        """@finish_P_W(state, parameters, outs, out_strides): parameters of the next phase, or the results."""
        body, phase = self.body, self.body.phases[number]
        emitter = Emitter(width, "f", self.declarations)
        self.loops.parameters(emitter, shared=width == 1)
        load_lanes(emitter, "%state", phase.state)
        if number < len(body.phases) - 1:
            store_lanes(emitter, "%parameters", phase.finished, 1 + len(body.context.numbers))
        else:
            self._store_results(emitter, emitter.emit(phase.finished))
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
                for slot, (lane, value) in enumerate(zip(phase.identity, writer.emit(phase.identity), strict=True)):
                    store_slot(writer, "%state", slot, lane.type, value)
                lines += writer.lines
            if width == 1:
                functions = f"ptr @along_{number}, ptr @merge_{number}, ptr @{NAME}_join_{number}"
                lines.append(f"  call void @{SPLIT_RUN}({functions}, ptr %state, {RUN_TAIL})")
            else:
                lines.append(f"  call void @{PIECES_RUN}(ptr @across_{number}, ptr %state, {RUN_TAIL})")
            finish = f"@finish_{number}_{width}"
            lines.append(f"  call void {finish}(ptr %state, ptr %parameters, ptr %outs, ptr %out_strides)")
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
    """Lanes first .. first + W - 1 of a vector of 2 W lanes."""
    whole = f"<{2 * emitter.width} x {type}>"
    if emitter.width == 1:
        return emitter.register(f"extractelement {whole} {value}, i32 {first}")
    mask = ", ".join(f"i32 {first + k}" for k in range(emitter.width))
    return emitter.register(f"shufflevector {whole} {value}, {whole} poison, <{emitter.width} x i32> <{mask}>")
