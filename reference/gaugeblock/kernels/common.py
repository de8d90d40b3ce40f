"""The module that all others share: the thread pool, the sharing of loops, the walk over reduced dims.

It is loaded once per process, and its functions are known to every other module by name.
"""

from __future__ import annotations

from . import pool, sharing
from .code import PLAIN, Code
from .reduction_phases import GATHER_SLOT, ITEMSIZE_SLOT
from .sharing import MAX_DIMS

PREFIX = "gb_common"
GATHERED = 512
"""Strided elements of a reduction that are brought together at a time."""
OWN = ("_set", "_forget", "_let_look")
"""Functions of the module that Python calls, by what follows its name."""
SUFFIXES = (
    "_share_flat", "_share_grid", "_share_kept", "_split_run", "_each_run", "_pieces_run", "_turned_fold",
)  # fmt: skip
"""Functions that other modules call."""
SHARE_FLAT, SHARE_GRID, SHARE_KEPT, SPLIT_RUN, EACH_RUN, PIECES_RUN, TURNED_FOLD = (PREFIX + one for one in SUFFIXES)
_TYPES = {
    SHARE_FLAT: "i1 (ptr, ptr, ptr, i64, ptr, i64)",
    SHARE_GRID: "i1 (ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, i64, i64)",
    SHARE_KEPT: "i1 (ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, i64, ptr, ptr, ptr, i64)",
    SPLIT_RUN: "void (ptr, ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr)",
    EACH_RUN: "void (ptr, ptr, ptr, i64, ptr, ptr, ptr, i64)",
    PIECES_RUN: "void (ptr, ptr, ptr, i64, ptr, ptr, ptr)",
}


def declaration(symbol: str) -> str:
    """The line that declares one of the functions in another module."""
    result, _, arguments = _TYPES[symbol].partition(" ")
    return f"declare {result} @{symbol}{arguments}"


def text(name: str) -> str:
    """LLVM IR of the module."""
    each_run = f"declare void @{name}_each_run{_TYPES[EACH_RUN].removeprefix('void ')}"
    shared = [pool.text(name), sharing.text(name), each_run, ""]
    return "\n".join([_gathered(), _each_run(name), PLAIN, *shared])


def _gathered() -> str:
    """@gathered(run, state, in, n, stride, index, parameters): `run` over elements brought together piece by piece."""
    code = Code()
    buffer = code.register(f"alloca [{GATHERED * 16} x i8], align 64")
    routine = code.load("ptr", code.slot("%parameters", GATHER_SLOT))
    itemsize = code.load("i64", code.slot("%parameters", ITEMSIZE_SLOT))
    with code.loop(0, "%n", GATHERED) as i:
        count = code.minimum(code.register(f"sub i64 %n, {i}"), GATHERED)
        place = code.at("%in", i, "%stride")
        code.line(f"call void {routine}(ptr {buffer}, i64 0, ptr {place}, i64 {count}, i64 1, i64 %stride, i64 0)")
        index = code.register(f"add i64 %index, {i}")
        given = f"ptr {buffer}, i64 {count}, i64 {itemsize}, i64 {index}"
        code.line(f"call void %run(ptr %state, {given}, ptr %parameters)")
    arguments = "ptr %run, ptr %state, ptr %in, i64 %n, i64 %stride, i64 %index, ptr %parameters"
    return code.function(f"define internal void @gathered({arguments})", "  ret void")


def _each_run(name: str) -> str:
    """@NAME_each_run(run, state, in, ndim, sizes, strides, parameters, index): `run` along the first dim, for all
    others; elements are counted from `index` on, and brought together first where the parameters name a routine."""
    return f"""define void @{name}_each_run(ptr %run, ptr %state, ptr %in, i64 %ndim, ptr %sizes, ptr %strides,
    ptr %parameters, i64 %first) {{
entry:
  %counters = alloca [{MAX_DIMS} x i64]
  %volume = load i64, ptr %parameters
  %nothing = icmp eq i64 %volume, 0
  br i1 %nothing, label %done, label %some
some:
  %flat = icmp eq i64 %ndim, 0
  br i1 %flat, label %single, label %clear
single:
  call void %run(ptr %state, ptr %in, i64 1, i64 0, i64 %first, ptr %parameters)
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
  %routine_place = getelementptr i64, ptr %parameters, i64 {GATHER_SLOT}
  %routine = load ptr, ptr %routine_place
  %apart = icmp ne ptr %routine, null
  br label %rows
rows:
  %at = phi ptr [%in, %start], [%ahead, %step]
  %index = phi i64 [%first, %start], [%index_next, %step]
  br i1 %apart, label %gather, label %direct
gather:
  call void @gathered(ptr %run, ptr %state, ptr %at, i64 %n, i64 %stride, i64 %index, ptr %parameters)
  br label %ran
direct:
  call void %run(ptr %state, ptr %at, i64 %n, i64 %stride, i64 %index, ptr %parameters)
  br label %ran
ran:
  %index_next = add i64 %index, %n
  br label %advance
advance:
  %d = phi i64 [1, %ran], [%d_next, %wrap]
  %now = phi ptr [%at, %ran], [%back, %wrap]
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
