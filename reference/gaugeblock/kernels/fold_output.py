"""IR text around a fold's run loops: the odometer over reduced dims, merging, finishing, and rows of outputs.

    @fold(ptr in, ptr outs, i64 n, i64 in_stride, ptr out_strides, i64 ndim, ptr sizes, ptr strides, ptr parameters)

writes n outputs: along the reduced elements of each, or across W adjacent outputs where the input is contiguous in the
kept dimension and not in the reduced one. `parameters` starts with the count and the numbers.
"""

from __future__ import annotations

from .common import EACH_RUN, SPLIT_RUN, declaration
from .fold import FoldBody
from .fold_loops import LoopWriter
from .fold_memory import BLOCK_BYTES, load_lanes, load_slot, store_lanes, store_slot
from .lower import Declarations, Emitter

RUN_TAIL = "ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"


class OutputWriter:
    """Writes all functions of a fold's module."""

    def __init__(self, body: FoldBody, vector_bytes: int) -> None:
        self.body = body
        self.declarations = Declarations(vector_bytes)
        self.loops = LoopWriter(body, self.declarations)

    def text(self, name: str, attributes: str) -> str:
        """The module; the function for rows of outputs is called `name`."""
        parts = [declaration(SPLIT_RUN), declaration(EACH_RUN)]
        for number in range(len(self.body.phases)):
            parts += [self.loops.along(number), self.loops.across(number), self._merge(number), self._join(number)]
            parts += [self._finish(number, 1), self._finish(number, self.body.width)]
        parts += [self._output(1), self._output(self.body.width), self._row(name)]
        return "\n".join([*parts, *self.declarations.values(), f"attributes #0 = {{ {attributes} }}", ""])

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

    def _join(self, number: int) -> str:
        """@join_P(state, other): combine two scalar states into the first."""
        phase = self.body.phases[number]
        emitter = Emitter(1, "j", self.declarations)
        load_lanes(emitter, "%state", phase.state)
        load_lanes(emitter, "%other", phase.other)
        store_lanes(emitter, "%state", phase.combined)
        head = f"define internal void @join_{number}(ptr %state, ptr %other) #0 {{"
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
        position = 0
        for number, operand in enumerate(self.body.outputs):
            parts = values[position : position + operand.components]
            position += operand.components
            place = emitter.register(f"getelementptr ptr, ptr %outs, i64 {number}")
            base = emitter.register(f"load ptr, ptr {place}")
            stride_place = emitter.register(f"getelementptr i64, ptr %out_strides, i64 {number}")
            stride = emitter.register(f"load i64, ptr {stride_place}")
            scalar = operand.storage.ir
            size = operand.itemsize // operand.components
            for lane in range(emitter.width):
                at = base
                if lane:
                    move = emitter.register(f"mul i64 {stride}, {lane}")
                    at = emitter.register(f"getelementptr i8, ptr {base}, i64 {move}")
                for part, value in enumerate(parts):
                    single = value
                    if emitter.width > 1:
                        single = emitter.register(f"extractelement {emitter.type(scalar)} {value}, i32 {lane}")
                    here = emitter.register(f"getelementptr i8, ptr {at}, i64 {part * size}") if part else at
                    emitter.lines.append(f"  store {scalar} {single}, ptr {here}, align {size}")

    def _output(self, width: int) -> str:
        """@output_W: all phases for one output (W = 1, elements along it) or W adjacent ones."""
        body = self.body
        emitter = Emitter(width, "o", self.declarations)
        lines = emitter.lines
        lines.append(f"  %state = alloca [{BLOCK_BYTES} x i8], align 64")
        for number, phase in enumerate(body.phases):
            for size in {width, body.width}:
                writer = Emitter(size, f"i{number}x{size}", self.declarations)
                for slot, (lane, value) in enumerate(zip(phase.identity, writer.emit(phase.identity), strict=True)):
                    store_slot(writer, "%state", slot, lane.type, value)
                lines += writer.lines
            if width == 1:
                functions = f"ptr @along_{number}, ptr @merge_{number}, ptr @join_{number}"
                lines.append(f"  call void @{SPLIT_RUN}({functions}, ptr %state, {RUN_TAIL})")
            else:
                lines.append(f"  call void @{EACH_RUN}(ptr @across_{number}, ptr %state, {RUN_TAIL}, i64 0)")
            finish = f"@finish_{number}_{width}"
            lines.append(f"  call void {finish}(ptr %state, ptr %parameters, ptr %outs, ptr %out_strides)")
        signature = f"{RUN_TAIL}, ptr %outs, ptr %out_strides"
        return "\n".join([f"define internal void @output_{width}({signature}) #0 {{", *lines, "  ret void", "}"])

    def _row(self, name: str) -> str:
        width, itemsize, many = self.body.width, self.body.input.itemsize, len(self.body.outputs)
        call = f"{RUN_TAIL}, ptr %cursors, ptr %out_strides".replace("%in,", "%at,")
        lines = [
            f"define void @{name}(ptr %in, ptr %outs, i64 %n, i64 %in_stride, ptr %out_strides, i64 %ndim, ptr %sizes, "
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
        lines += [
            "  %flat = icmp eq i64 %ndim, 0",
            "  %first = load i64, ptr %strides",
            f"  %packed = icmp eq i64 %first, {itemsize}",
            "  %unpacked = xor i1 %packed, true",
            "  %reduces = xor i1 %flat, true",
            f"  %kept_packed = icmp eq i64 %in_stride, {itemsize}",
            "  %apart = and i1 %unpacked, %reduces",
            "  %wide = and i1 %apart, %kept_packed",
            "  br label %test",
            "test:",
            "  %i = phi i64 [0, %entry], [%i_next, %advance]",
            "  %at = phi ptr [%in, %entry], [%ahead, %advance]",
            "  %left = sub i64 %n, %i",
            "  %some = icmp sgt i64 %left, 0",
            "  br i1 %some, label %choose, label %end",
            "choose:",
            f"  %enough = icmp sge i64 %left, {width}",
            "  %use_wide = and i1 %wide, %enough",
            "  br i1 %use_wide, label %many, label %one",
            "many:",
            f"  call void @output_{width}({call})",
            "  br label %advance",
            "one:",
            f"  call void @output_1({call})",
            "  br label %advance",
            "advance:",
            f"  %by = phi i64 [{width}, %many], [1, %one]",
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
