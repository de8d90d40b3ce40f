"""The driver of strided kernels that takes rows as they lie: one module for each number of operands in memory.

    @NAME(row, cursors, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, operands) -> i1

It is called as the one over tiles is; the last four arguments are for that one.
"""

from __future__ import annotations

import functools

from .code import NAME
from .compiler import compiler
from .sharing import MAX_DIMS


@functools.cache
def rows_driver(operands: int) -> int:
    """The address of the driver for a number of operands in memory."""
    return compiler().load(f"rows {operands}", lambda: _text(operands))


def _text(operands: int) -> str:
    """Rows over the first dimension, an odometer over the others."""
    many = range(operands)
    lines = [
        f"define i1 @{NAME}(ptr %row, ptr %cursors, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides, ptr %itemsizes, "
        "ptr %transfers, i64 %outputs, i64 %operands) {",
        "entry:",
        f"  %counters = alloca [{MAX_DIMS} x i64]",
        f"  %steps = alloca [{operands} x i64]",
        "  %flat = icmp eq i64 %ndim, 0",
        "  %first_size = load i64, ptr %sizes",
        "  %n = select i1 %flat, i64 1, i64 %first_size",
    ]
    for k in many:
        lines += [
            f"  %at_{k} = getelementptr ptr, ptr %cursors, i64 {k}",
            f"  %base_{k} = mul i64 %ndim, {k}",
            f"  %row_{k} = getelementptr i64, ptr %strides, i64 %base_{k}",
            f"  %step_{k} = load i64, ptr %row_{k}",
            f"  %step_place_{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  store i64 %step_{k}, ptr %step_place_{k}",
        ]
    lines += [
        "  br label %clear",
        "clear:",
        "  %c = phi i64 [0, %entry], [%c_next, %clear]",
        "  %c_place = getelementptr i64, ptr %counters, i64 %c",
        "  store i64 0, ptr %c_place",
        "  %c_next = add i64 %c, 1",
        "  %c_more = icmp slt i64 %c_next, %ndim",
        "  br i1 %c_more, label %clear, label %rows",
        "rows:",
        "  %fault = phi i1 [false, %clear], [%fault_next, %step]",
        "  %failed = call i1 %row(ptr %cursors, ptr %numbers, i64 %n, ptr %steps)",
        "  %fault_next = or i1 %fault, %failed",
        "  br label %advance",
        "advance:",
        "  %d = phi i64 [1, %rows], [%d_next, %wrap]",
        "  %inside = icmp slt i64 %d, %ndim",
        "  br i1 %inside, label %move, label %done",
        "move:",
        "  %d_counter = getelementptr i64, ptr %counters, i64 %d",
        "  %d_size = getelementptr i64, ptr %sizes, i64 %d",
        "  %count = load i64, ptr %d_counter",
        "  %size = load i64, ptr %d_size",
        "  %next = add i64 %count, 1",
        "  %room = icmp slt i64 %next, %size",
    ]
    for k in many:
        lines += [
            f"  %d_place_{k} = getelementptr i64, ptr %row_{k}, i64 %d",
            f"  %d_stride_{k} = load i64, ptr %d_place_{k}",
            f"  %d_now_{k} = load ptr, ptr %at_{k}",
        ]
    lines += ["  br i1 %room, label %step, label %wrap", "step:", "  store i64 %next, ptr %d_counter"]
    for k in many:
        lines += [
            f"  %ahead_{k} = getelementptr i8, ptr %d_now_{k}, i64 %d_stride_{k}",
            f"  store ptr %ahead_{k}, ptr %at_{k}",
        ]
    lines += ["  br label %rows", "wrap:", "  store i64 0, ptr %d_counter"]
    for k in many:
        lines += [
            f"  %span_{k} = mul i64 %count, %d_stride_{k}",
            f"  %undo_{k} = sub i64 0, %span_{k}",
            f"  %back_{k} = getelementptr i8, ptr %d_now_{k}, i64 %undo_{k}",
            f"  store ptr %back_{k}, ptr %at_{k}",
        ]
    lines += ["  %d_next = add i64 %d, 1", "  br label %advance", "done:", "  ret i1 %fault_next", "}", ""]
    return "\n".join(lines)
