"""IR text of a fold's loops over one run of elements.

    @along_P(state, in, n, stride, index, parameters)   elements of one output; vector lanes are partial results
    @across_P(state, in, n, stride, index, parameters)  each vector lane belongs to another of W adjacent outputs

P is the phase. Both have one signature, so that one odometer walks the other reduced dims for either.
"""

from __future__ import annotations

from .declarations import Declarations
from .fold import FoldBody, RecordedPhase, load_lanes, load_slot, store_slot
from .loops import deinterleave
from .lower import Emitter, reachable

LONG_STEP = 40
"""Lanes of a step from which two at a time gain nothing."""
SIGNATURE = "ptr %state, ptr %in, i64 %n, i64 %stride, i64 %index, ptr %parameters"


class LoopWriter:
    """Writes the run loops of a recorded fold."""

    def __init__(self, body: FoldBody, declarations: Declarations) -> None:
        self.body = body
        self.declarations = declarations

    def parameters(self, emitter: Emitter, *, shared: bool) -> None:
        """Bind count, numbers and earlier results; `shared` ones are scalars repeated over the lanes."""
        context = self.body.context
        fixed = (context.count, *context.numbers)
        single = (*fixed, *context.earlier) if shared else fixed
        for slot, lane in enumerate(single):
            scalar = Emitter(1, f"{emitter.prefix}p{slot}", self.declarations)
            value = load_slot(scalar, "%parameters", slot, lane.type)
            emitter.lines += scalar.lines
            emitter.bind(lane, emitter.splat(value, lane.type))
        if not shared:
            load_lanes(emitter, "%parameters", context.earlier, len(fixed))

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
        own = [load_slot(before, "%state", slot, lane.type) for slot, lane in enumerate(phase.state)]
        fresh = before.emit(phase.identity)
        body = Emitter(width, "vq", self.declarations)
        following: list[list[str]] = []
        for half in range(2):
            step = Emitter(width, f"vq{half}", self.declarations)
            step.names = dict(before.names)
            for slot, lane in enumerate(phase.state):
                step.bind(lane, f"%q{half}_s{slot}")
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
            for slot, lane in enumerate(phase.state):
                type = emitter.type(lane.type)
                start, then = initial[slot], following[half][slot]
                lines.append(f"  %q{half}_s{slot} = phi {type} [{start}, %pairs_enter], [{then}, %pair_last]")
        joined = Emitter(width, "vj", self.declarations)
        joined.names = dict(before.names)
        for lanes, values in ((phase.state, following[0]), (phase.other, following[1])):
            for lane, value in zip(lanes, values, strict=True):
                joined.bind(lane, value)
        for slot, (lane, value) in enumerate(zip(phase.state, joined.emit(phase.combined), strict=True)):
            store_slot(joined, "%state", slot, lane.type, value)
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
        initial = [load_slot(emitter, "%state", slot, lane.type) for slot, lane in enumerate(phase.state)]
        prefix = emitter.prefix
        inner = Emitter(emitter.width, f"{prefix}l", self.declarations)
        inner.names = emitter.names
        for slot, lane in enumerate(phase.state):
            inner.bind(lane, f"%{prefix}_s{slot}")
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
        for slot, (lane, old, new) in enumerate(zip(phase.state, initial, stepped, strict=True)):
            type = inner.type(lane.type)
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
        for slot, lane in enumerate(phase.state):
            store_slot(closing, "%state", slot, lane.type, stepped[slot])
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
        for part, lane in enumerate(phase.element):
            emitter.bind(lane, deinterleave(emitter, loaded, type, part))

    def _index(self, emitter: Emitter, phase: RecordedPhase, i: str, origin: str) -> None:
        if not any(lane is phase.index for lane in reachable(phase.stepped)):
            return
        if not origin:
            base = emitter.register(f"add i64 %index, {i}")
            emitter.bind(phase.index, emitter.splat(base, phase.index.type))
        elif emitter.width == 1:
            emitter.bind(phase.index, emitter.register(f"add i64 {origin}, {i}"))
        else:
            moved = emitter.splat(i, phase.index.type)
            emitter.bind(phase.index, emitter.register(f"add {emitter.type('i64')} {origin}, {moved}"))
