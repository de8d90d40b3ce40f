"""IR text of a row whose body is long: one loop over vectors, each computed where it lies or in small buffers.

Compiling takes as long as the text is, so that such a body is written once only. Vectors that do not lie side by side
in memory, and the last elements, are brought into buffers first, the last element repeated to fill one.
"""

from __future__ import annotations

from .loops import RowWriter
from .lower import Emitter
from .operand import Memory
from .packing import element_type

LONG = 100
"""Instructions of a vector's computation from which on it is written once only."""


def row_text(row: RowWriter, name: str) -> str:
    """The row function of a body, in the form that its length asks for."""
    if row.body.width > 1 and len(row.vector.emitter.lines) > LONG:
        return row.function(name, _pieces(row))
    return row.text(name)


def _pieces(row: RowWriter) -> list[str]:
    """One loop over vectors, each computed where it lies or in buffers."""
    body, width = row.body, row.body.width
    begin, prepare, emitter = row.vector
    check = Emitter(1, "k", row.declarations)
    lying = row.lying(check, "true")
    lines = row.buffers(body.memory)
    lines += ["  %some = icmp sgt i64 %n, 0", "  br i1 %some, label %prepare, label %done", "prepare:"]
    lines += [*check.lines, *prepare.lines, "  br label %piece", "piece:"]
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
        f"  %direct = and i1 %whole, {lying}",
        "  br i1 %direct, label %compute, label %gather",
        "gather:",
    ]
    block = "gather"
    for operand in body.inputs:
        lines += _moved(operand, block, str(width), gathering=True)
        block = f"in_{operand.name}_done"
    lines += ["  br label %compute", "compute:"]
    for name in begin:
        lines.append(f"  %w_{name} = phi ptr [%at_{name}, %piece], [%buffer_{name}, %{block}]")
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
        "  br i1 %more, label %piece, label %done",
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
