"""The module that all others share: the thread pool, the sharing of loops, the walk over reduced dims.

It is loaded once per process, and its functions are known to every other module by name.
"""

from __future__ import annotations

from . import pool, sharing
from .sharing import MAX_DIMS

PREFIX = "gb_common"
SHARE_FLAT, SHARE_GRID, EACH_RUN = (f"{PREFIX}_{name}" for name in ("share_flat", "share_grid", "each_run"))
_TYPES = {
    SHARE_FLAT: "i1 (ptr, ptr, ptr, i64, ptr, i64)",
    SHARE_GRID: "i1 (ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, i64)",
    EACH_RUN: "void (ptr, ptr, ptr, i64, ptr, ptr, ptr)",
}


def declaration(symbol: str) -> str:
    """The line that declares one of the functions in another module."""
    result, _, arguments = _TYPES[symbol].partition(" ")
    return f"declare {result} @{symbol}{arguments}"


SUFFIXES = ("_set", "_forget", "_share_flat", "_share_grid", "_each_run")
"""Functions of the module, by what follows its name; those after the first two are called from other modules."""


def text(name: str) -> str:
    """LLVM IR of the module."""
    return "\n".join([pool.text(name), sharing.text(name), _each_run(name), ""])


def _each_run(name: str) -> str:
    """@NAME_each_run(run, state, in, ndim, sizes, strides, parameters): `run` along the first dim, for all others."""
    return f"""define void @{name}_each_run(ptr %run, ptr %state, ptr %in, i64 %ndim, ptr %sizes, ptr %strides,
    ptr %parameters) {{
entry:
  %counters = alloca [{MAX_DIMS} x i64]
  %volume = load i64, ptr %parameters
  %nothing = icmp eq i64 %volume, 0
  br i1 %nothing, label %done, label %some
some:
  %flat = icmp eq i64 %ndim, 0
  br i1 %flat, label %single, label %clear
single:
  call void %run(ptr %state, ptr %in, i64 1, i64 0, i64 0, ptr %parameters)
  ret void
clear:
  %c = phi i64 [0, %some], [%c_next, %clear]
  %c_place = getelementptr i64, ptr %counters, i64 %c
  store i64 0, ptr %c_place
  %c_next = add i64 %c, 1
  %c_more = icmp slt i64 %c_next, %ndim
  br i1 %c_more, label %clear, label %start
start:
  %n = load i64, ptr %sizes
  %stride = load i64, ptr %strides
  br label %rows
rows:
  %at = phi ptr [%in, %start], [%ahead, %step]
  %index = phi i64 [0, %start], [%index_next, %step]
  call void %run(ptr %state, ptr %at, i64 %n, i64 %stride, i64 %index, ptr %parameters)
  %index_next = add i64 %index, %n
  br label %advance
advance:
  %d = phi i64 [1, %rows], [%d_next, %wrap]
  %now = phi ptr [%at, %rows], [%back, %wrap]
  %inside = icmp slt i64 %d, %ndim
  br i1 %inside, label %move, label %done
move:
  %d_counter = getelementptr i64, ptr %counters, i64 %d
  %d_size = getelementptr i64, ptr %sizes, i64 %d
  %d_stride = getelementptr i64, ptr %strides, i64 %d
  %count = load i64, ptr %d_counter
  %size = load i64, ptr %d_size
  %move_by = load i64, ptr %d_stride
  %next = add i64 %count, 1
  %room = icmp slt i64 %next, %size
  br i1 %room, label %step, label %wrap
step:
  store i64 %next, ptr %d_counter
  %ahead = getelementptr i8, ptr %now, i64 %move_by
  br label %rows
wrap:
  store i64 0, ptr %d_counter
  %span = mul i64 %count, %move_by
  %undo = sub i64 0, %span
  %back = getelementptr i8, ptr %now, i64 %undo
  %d_next = add i64 %d, 1
  br label %advance
done:
  ret void
}}"""
