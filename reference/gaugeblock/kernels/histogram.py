"""Kernels that count elements by bins: equal parts of a range, or what lies between edges.

    bins_kernel(...)(counts_ptr, source_ptr, weights_ptr, edges_ptr, low, high, bins, ndim, sizes..., byte strides...)
    edges_kernel(...)(edges_ptr, low, high, step, bins, 1, bins + 1, itemsize)
    ints_kernel(...)(counts_ptr, source_ptr, weights_ptr, bins, 1, n, byte strides...)     counts of ints below `bins`
    limits_kernel(...)(cells_ptr, source_ptr, 1, n, 0, byte stride)         the largest and the smallest int, or 0

The counts of floats are float64, to which 1 or the weight of each element is added. Elements outside of the bins and
NaN count nowhere; the last bin has its right edge. Weights and edges are read only where there are any. The `bins` + 1
edges ascend; of even ones the first guess of an element's bin is wrong by one at most.
"""

from __future__ import annotations

import functools
from enum import Enum

from ..core.dtype import DType
from .code import Declarations, row_module
from .compiler import Builtin, compiler
from .conversion import SCALAR_TYPES
from .expression import F64, INT, Expr, select
from .functions import cast
from .isa import Level, current_level
from .lower import Emitter
from .pointwise import rows_builtin
from .pointwise_entry import Signature
from .selection import vector_type
from .sharing import MAX_DIMS


class Bins(Enum):
    """Equal parts of a range without edges, those between even edges, and those between any edges."""

    EQUAL = "equal"
    EVEN = "even"
    ANY = "any"


@functools.cache
def bins_kernel(dtype: DType, bins: Bins, weighted: bool) -> Builtin:
    """Return the builtin for elements and edges of float32 or float64; memoised."""
    level = current_level()
    description = f"bins {dtype.name} {bins.value} {weighted} {level.name}"
    row = compiler().load(description, lambda: _counting(dtype, bins, weighted, level))
    return rows_builtin("bins", Signature(1, "mmmddi"), row, [8, *[dtype.itemsize] * 3], MAX_DIMS)


@functools.cache
def edges_kernel(dtype: DType) -> Builtin:
    """Return the builtin of even edges, by equal steps from both ends; memoised."""
    level = current_level()
    row = compiler().load(f"even edges {dtype.name} {level.name}", lambda: _edges(dtype, level))
    return rows_builtin("edges", Signature(1, "dddi"), row, [dtype.itemsize], 1)


@functools.cache
def limits_kernel(dtype: DType) -> Builtin:
    """Return the builtin for signed ints or bytes; memoised."""
    level = current_level()
    row = compiler().load(f"limits of ints {dtype.name} {level.name}", lambda: _limits(dtype, level))
    return rows_builtin("limits", Signature(1, "m"), row, [8, dtype.itemsize], 1)


@functools.cache
def ints_kernel(dtype: DType, weight: DType | None) -> Builtin:
    """Return the builtin for signed ints or bytes, which counts in int64, or adds up weights of float64; memoised."""
    level = current_level()
    description = f"counts of ints {dtype.name} {weight and weight.name} {level.name}"
    row = compiler().load(description, lambda: _ints(dtype, weight is not None, level))
    return rows_builtin("ints", Signature(1, "mmi"), row, [8, dtype.itemsize, 8], 1)


def _int(code: Emitter, dtype: DType, place: str, lanes: int = 1) -> str:
    """Return an int in memory as an i64, or as many of them in a row."""
    stored, wide = (vector_type(type, lanes) for type in (f"i{8 * dtype.itemsize}", "i64"))
    one = code.load(stored, place, dtype.itemsize)
    if dtype.itemsize == 8:
        return one
    return code.register(f"{'sext' if dtype.is_signed else 'zext'} {stored} {one} to {wide}")


def _limits(dtype: DType, level: Level) -> str:
    code, lanes = Emitter(1, "x", Declarations(level.vector_bytes)), level.vector_bytes // 8
    cells, source = (code.load("ptr", code.slot("%pointers", k)) for k in range(2))
    step, limits = code.load("i64", code.slot("%strides", 1)), ["0", "0"]
    adjacent = code.register(f"icmp eq i64 {step}, {dtype.itemsize}")
    whole = code.register(f"select i1 {adjacent}, i64 {code.register(f'and i64 %n, {-lanes}')}, i64 0")
    for width, begin, end in ((lanes, "0", whole), (1, whole, "%n")):
        type, suffix = vector_type("i64", width), f"v{width}i64" if width > 1 else "i64"
        start = [(type, one if width == 1 else "zeroinitializer") for one in limits]
        with code.carry(begin, end, width, [*start, ("ptr", code.at(source, begin, step))]) as loop:
            one = _int(code, dtype, loop.values[2], width)
            for kind, limit in zip(("smax", "smin"), loop.values, strict=False):
                code.declarations[f"{kind} {suffix}"] = f"declare {type} @llvm.{kind}.{suffix}({type}, {type})"
                loop.following.append(code.register(f"call {type} @llvm.{kind}.{suffix}({type} {limit}, {type} {one})"))
            loop.following.append(code.at(loop.values[2], width, step))
        limits = loop.results[:2]
        for place, kind in enumerate(("smax", "smin") if width > 1 else ()):
            name = f"llvm.vector.reduce.{kind}.{suffix}"
            code.declarations[name] = f"declare i64 @{name}({type})"
            limits[place] = code.register(f"call i64 @{name}({type} {limits[place]})")
    for k, limit in enumerate(limits):
        code.store("i64", limit, code.slot(cells, k))
    return row_module(code, code.declarations, level.attributes)


def _ints(dtype: DType, weighted: bool, level: Level) -> str:
    code = Emitter(1, "x", Declarations(level.vector_bytes))
    counts, source, weights = (code.load("ptr", code.slot("%pointers", k)) for k in range(3))
    steps = [code.load("i64", code.slot("%strides", k)) for k in (1, 2)]
    bins = code.load("i64", "%numbers")
    with code.carry(0, "%n", 1, [("ptr", source), ("ptr", weights)]) as loop:
        place, weight = loop.values
        one = _int(code, dtype, place)
        with code.when(code.register(f"icmp ult i64 {one}, {bins}")):  # unless another thread has changed it
            at = code.slot(counts, one)
            if weighted:
                more = code.load("double", weight)
                code.store("double", code.register(f"fadd double {code.load('double', at)}, {more}"), at)
            else:
                code.store("i64", code.register(f"add i64 {code.load('i64', at)}, 1"), at)
        loop.following = [code.move(at, by) for at, by in zip(loop.values, steps, strict=True)]
    return row_module(code, code.declarations, level.attributes)


def _numbers(code: Emitter, dtype: DType, doubles: int) -> tuple[list[Expr], str]:
    """Return the numbers of the call as expressions of a dtype, and the last, an int."""
    given = [Expr("argument", F64) for _ in range(doubles)]
    code.bind_all(given, [code.load("double", code.slot("%numbers", k)) for k in range(doubles)])
    return [cast(one, SCALAR_TYPES[dtype]) for one in given], code.load("i64", code.slot("%numbers", doubles))


def _whole(code: Emitter, name: str) -> Expr:
    found = Expr("argument", INT[64])
    code.bind(found, name)
    return found


def _edges(dtype: DType, level: Level) -> str:
    code, type = Emitter(1, "x", Declarations(level.vector_bytes)), SCALAR_TYPES[dtype]
    out = code.load("ptr", "%pointers")
    (low, high, step), count = _numbers(code, dtype, 3)
    bins = _whole(code, count)
    with code.loop(0, "%n") as i, code.scope():
        k = _whole(code, i)
        edge = select(k + k < bins + 1, low + step * cast(k, type), high - step * cast(bins - k, type))
        code.store(type.ir, code.emit([edge])[0], code.at(out, i, dtype.itemsize), dtype.itemsize)
    return row_module(code, code.declarations, level.attributes)


def _counting(dtype: DType, bins: Bins, weighted: bool, level: Level) -> str:
    code, type, size = Emitter(1, "x", Declarations(level.vector_bytes)), SCALAR_TYPES[dtype], dtype.itemsize
    counts, source, weights, edges = (code.load("ptr", code.slot("%pointers", k)) for k in range(4))
    step, weight_step = (code.load("i64", code.slot("%strides", k)) for k in (1, 2))
    (low, high), count = _numbers(code, dtype, 2)
    many, last = _whole(code, count), code.register(f"sub i64 {count}, 1")
    span, scale = high - low, cast(many, type)

    def loaded(base: str, index: str) -> Expr:
        found = Expr("argument", type)
        code.bind(found, code.load(type.ir, code.at(base, index, size), size))
        return found

    def clamped(place: str) -> str:
        code.declarations["smax"] = "declare i64 @llvm.smax.i64(i64, i64)"
        return code.minimum(code.register(f"call i64 @llvm.smax.i64(i64 {place}, i64 0)"), last)

    code.emit([low, high, span, scale])
    if bins is not Bins.EQUAL:
        first, end = loaded(edges, "0"), loaded(edges, count)
    else:
        first, end = low, high
    with code.carry(0, "%n", 1, [("ptr", source), ("ptr", weights)]) as loop, code.scope():
        here, weight_at = loop.values
        x = Expr("argument", type)
        code.bind(x, code.load(type.ir, here, size))
        (inside,) = code.emit([(x >= first) & (x <= end)])
        with code.when(inside):
            if bins is Bins.ANY:
                place = _searched(code, x, edges, count, size)
            else:
                place = clamped(code.emit([cast((x - low) * scale / span, INT[64])])[0])
            if bins is Bins.EVEN:
                for near, off in ((place, "-1"), (code.register(f"add i64 {place}, 1"), "1")):
                    edge = loaded(edges, near)
                    (wrong,) = code.emit([x < edge if off == "-1" else x >= edge])
                    place = code.register(f"add i64 {place}, {code.register(f'select i1 {wrong}, i64 {off}, i64 0')}")
            place = clamped(place)
            at = code.slot(counts, place)
            more = "1.0"
            if weighted:
                weight = loaded(weight_at, "0")
                (more,) = code.emit([cast(weight, F64)])
            code.store("double", code.register(f"fadd double {code.load('double', at)}, {more}"), at)
        loop.following = [code.move(here, step), code.move(weight_at, weight_step)]
    return row_module(code, code.declarations, level.attributes)


def _searched(code: Emitter, x: Expr, edges: str, count: str, size: int) -> str:
    """Return the number of the last edge but the first so many that is not above x, by halves."""
    declarations = code.declarations
    declarations["ctlz"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
    zeros = code.register(f"call i64 @llvm.ctlz.i64(i64 {code.register(f'sub i64 {count}, 1')}, i1 false)")
    with code.carry(0, code.register(f"sub i64 64, {zeros}"), 1, [("i64", "0"), ("i64", count)]) as loop:
        begin, many = loop.values
        half = code.register(f"lshr i64 {many}, 1")
        middle = code.register(f"add i64 {begin}, {half}")
        edge = Expr("argument", x.type)
        code.bind(edge, code.load(x.type.ir, code.at(edges, middle, size), size))
        (above,) = code.emit([x >= edge])
        begin = code.register(f"select i1 {above}, i64 {middle}, i64 {begin}")
        loop.following = [begin, code.register(f"sub i64 {many}, {half}")]
    return loop.results[0]
