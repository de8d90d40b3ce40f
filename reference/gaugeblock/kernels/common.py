"""The module that all others share: the thread pool, the sharing of loops and of BLAS, strip mining, the walk over
reduced dims.

It is loaded once per process, and its functions are known to every other module by name.
"""

from __future__ import annotations

from . import blas_threads, pool, sharing, strip_mining
from .code import PLAIN, Code
from .reduction_phases import ITEMSIZE_SLOT, PACK_SLOT
from .sharing import each_row

PREFIX = "gb_common"
GATHERED = 512
"""Strided elements of a reduction that are brought together at a time."""
OWN = ("_set", "_forget", "_let_look")
"""Functions of the module that Python calls, by what follows its name."""
SUFFIXES = (
    "_share_flat", "_share_grid", "_split_run", "_each_run", "_strips_run", "_transposed_reduction", "_strip_mined",
    "_blas_parts", "_share_blas", "_leave_to_blas",
)  # fmt: skip
"""Functions that other modules call."""
(
    SHARE_FLAT, SHARE_GRID, SPLIT_RUN, EACH_RUN, STRIPS_RUN, TRANSPOSED_REDUCTION, STRIP_MINED, BLAS_PARTS, SHARE_BLAS,
    LEAVE_TO_BLAS,
) = (PREFIX + one for one in SUFFIXES)  # fmt: skip
_TYPES = {
    SHARE_FLAT: "i1 (ptr, ptr, ptr, i64, ptr, i64)",
    SHARE_GRID: "i1 (ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr, i64, i64, i64, i64)",
    SPLIT_RUN: "void (ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr)",
    EACH_RUN: "void (ptr, ptr, ptr, i64, ptr, ptr, ptr, i64)",
    STRIPS_RUN: "void (ptr, ptr, ptr, i64, ptr, ptr, ptr)",
    STRIP_MINED: "i1 (ptr, ptr, i64, i64, ptr, ptr, ptr)",
    BLAS_PARTS: "i64 (ptr, i64, i64)",
    SHARE_BLAS: "i1 (ptr, ptr, ptr, i64, i1)",
    LEAVE_TO_BLAS: "void (ptr, i1)",
}


def declaration(symbol: str) -> str:
    """The line that declares one of the functions in another module."""
    result, _, arguments = _TYPES[symbol].partition(" ")
    return f"declare {result} @{symbol}{arguments}"


def text(name: str) -> str:
    """LLVM IR of the module."""
    each_run = f"declare void @{name}_each_run{_TYPES[EACH_RUN].removeprefix('void ')}"
    shared = [pool.text(name), blas_threads.text(name), sharing.text(name), each_run, ""]
    return "\n".join([_gathered(), _each_run(name), strip_mining.text(name), PLAIN, *shared])


def _gathered() -> str:
    """@gathered(run, state, in, n, stride, index, parameters): `run` over elements brought together strip by strip."""
    code = Code()
    buffer = code.register(f"alloca [{GATHERED * 16} x i8], align 64")
    routine = code.load("ptr", code.slot("%parameters", PACK_SLOT))
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
    code = Code()
    some = code.register(f"icmp ne i64 {code.load('i64', '%parameters')}, 0")
    dims = code.register(f"select i1 {some}, i64 %ndim, i64 0")
    flat = code.register("icmp eq i64 %ndim, 0")
    n, stride = (
        code.register(f"select i1 {flat}, i64 {single}, i64 {code.load('i64', array)}")
        for single, array in ((1, "%sizes"), (0, "%strides"))
    )
    n = code.register(f"select i1 {some}, i64 {n}, i64 0")
    routine = code.load("ptr", code.slot("%parameters", PACK_SLOT))
    strided = code.register(f"icmp ne ptr {routine}, null")
    place = code.variable("ptr", "%in")
    with each_row(code, dims, "%sizes", [(place, "%strides")]) as row:
        at = code.load("ptr", place)
        index = code.register(f"add i64 %first, {code.register(f'mul i64 {row}, {n}')}")
        given = f"ptr %state, ptr {at}, i64 {n}, i64 {stride}, i64 {index}, ptr %parameters"
        with code.when(strided):
            code.line(f"call void @gathered(ptr %run, {given})")
        with code.when(code.register(f"xor i1 {strided}, true")):
            code.line(f"call void %run({given})")
    arguments = "ptr %run, ptr %state, ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters, i64 %first"
    return code.function(f"define void @{name}_each_run({arguments})", "  ret void")
