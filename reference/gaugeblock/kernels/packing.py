"""Routines that bring the elements of a strided tile together, or back; compiled per item size when first needed.

    @NAME(buffer, pitch, place, n, rows, stride, row_stride)

A tile has `rows` rows of `n` elements; in the buffer a row is contiguous and `pitch` bytes after the one before, in
its place in memory elements are `stride` and rows `row_stride` bytes apart. A tile whose rows lie side by side in
memory (row_stride is the item size) is turned square by square, in registers.
"""

from __future__ import annotations

import functools

from .code import NAME, PLAIN, Code
from .compiler import compiler
from .isa import Level

LANES = 8
"""Rows and columns of the squares that are turned in registers."""
_UNROLLED = 4


@functools.cache
def gather(itemsize: int, level: Level) -> int:
    """Address of the routine that fills a buffer."""
    return compiler().load(f"gather {itemsize} {level.name}", lambda: _module(itemsize, level, filling=True))


@functools.cache
def scatter(itemsize: int, level: Level) -> int:
    """Address of the routine that writes a buffer to its place."""
    return compiler().load(f"scatter {itemsize} {level.name}", lambda: _module(itemsize, level, filling=False))


def _module(itemsize: int, level: Level, *, filling: bool) -> str:
    move = _line(itemsize, level.vector_bytes) if filling else _spread(itemsize)
    parts = [move, _turn(itemsize, level.vector_bytes, filling=filling)]
    if "@llvm.smax" in move:
        parts.append("declare i64 @llvm.smax.i64(i64, i64)")
    attributes = f"attributes #0 = {{ {level.attributes} }}"
    turn, move = f"@{NAME}_turn(ptr, i64, ptr, i64, i64, i64)", f"@{NAME}_move(ptr, ptr, i64, i64)"
    parts += [attributes, PLAIN, f"declare void {turn}", f"declare void {move}", _tile(filling=filling), attributes, ""]
    return "\n".join(parts).replace("%ITEMSIZE", str(itemsize))


def _tile(*, filling: bool) -> str:
    code = Code()
    beside = code.register("icmp eq i64 %row_stride, %ITEMSIZE")
    several = code.register(f"icmp sge i64 %rows, {LANES}")
    turned = code.register(f"and i1 {beside}, {several}")
    with code.when(turned):
        if filling:
            code.line(f"call void @{NAME}_turn(ptr %buffer, i64 %pitch, ptr %place, i64 %stride, i64 %n, i64 %rows)")
        else:
            code.line(f"call void @{NAME}_turn(ptr %place, i64 %stride, ptr %buffer, i64 %pitch, i64 %rows, i64 %n)")
    with code.when(code.register(f"xor i1 {turned}, true")), code.loop(0, "%rows") as t:
        line, place = code.at("%buffer", t, "%pitch"), code.at("%place", t, "%row_stride")
        code.line(f"call void @{NAME}_move(ptr {line}, ptr {place}, i64 %n, i64 %stride)")
    arguments = "ptr %buffer, i64 %pitch, ptr %place, i64 %n, i64 %rows, i64 %stride, i64 %row_stride"
    return code.function(f"define void @{NAME}({arguments}) #0", "  ret void")


def element_type(itemsize: int) -> str:
    """The IR type that moves one element."""
    return "<2 x i64>" if itemsize == 16 else f"i{8 * itemsize}"


def _align(itemsize: int) -> int:
    return min(itemsize, 4)


def _line(itemsize: int, vector_bytes: int) -> str:
    """@move(line, place, n, stride): line[i] = place[i * stride]; vectors for steps of two and of minus one."""
    code = Code()
    type, align = element_type(itemsize), _align(itemsize)
    done = code.register("alloca i64")
    code.store("i64", 0, done)
    if itemsize < 16:
        _every_other(code, itemsize, vector_bytes // itemsize, done)
        _backward(code, itemsize, vector_bytes // itemsize, done)
    most = code.register(f"sub i64 %n, {_UNROLLED - 1}")
    with code.loop(code.load("i64", done), most, _UNROLLED) as i:
        source, target = code.at("%place", i, "%stride"), code.at("%line", i, itemsize)
        for k in range(_UNROLLED):
            code.store(type, code.load(type, source, align), target, align)
            if k < _UNROLLED - 1:
                source, target = code.move(source, "%stride"), code.move(target, itemsize)
        code.store("i64", code.register(f"add i64 {i}, {_UNROLLED}"), done)
    with code.loop(code.load("i64", done), "%n") as i:
        value = code.load(type, code.at("%place", i, "%stride"), align)
        code.store(type, value, code.at("%line", i, itemsize), align)
    return code.function(f"define void @{NAME}_move(ptr %line, ptr %place, i64 %n, i64 %stride) #0", "  ret void")


def _every_other(code: Code, itemsize: int, lanes: int, done: str) -> None:
    """Step two: the even lanes of two vectors; the last element is left over, so that nothing behind it is read."""
    whole = f"<{2 * lanes} x {element_type(itemsize)}>"
    with code.when(code.register(f"icmp eq i64 %stride, {2 * itemsize}")):
        rounded = code.register(f"and i64 {code.register('sub i64 %n, 1')}, {-lanes}")
        stop = code.register(f"call i64 @llvm.smax.i64(i64 {rounded}, i64 0)")
        even = ", ".join(f"i32 {2 * k}" for k in range(lanes))
        with code.loop(0, stop, lanes) as i:
            pair = code.load(whole, code.at("%place", i, 2 * itemsize), _align(itemsize))
            kept = code.register(f"shufflevector {whole} {pair}, {whole} poison, <{lanes} x i32> <{even}>")
            code.store(f"<{lanes} x {element_type(itemsize)}>", kept, code.at("%line", i, itemsize), _align(itemsize))
        code.store("i64", stop, done)


def _backward(code: Code, itemsize: int, lanes: int, done: str) -> None:
    """Step minus one: vectors reversed."""
    type = f"<{lanes} x {element_type(itemsize)}>"
    with code.when(code.register(f"icmp eq i64 %stride, {-itemsize}")):
        stop = code.register(f"and i64 %n, {-lanes}")
        backward = ", ".join(f"i32 {lanes - 1 - k}" for k in range(lanes))
        with code.loop(0, stop, lanes) as i:
            last = code.at("%place", code.register(f"add i64 {i}, {lanes - 1}"), -itemsize)
            forward = code.load(type, last, _align(itemsize))
            turned = code.register(f"shufflevector {type} {forward}, {type} poison, <{lanes} x i32> <{backward}>")
            code.store(type, turned, code.at("%line", i, itemsize), _align(itemsize))
        code.store("i64", stop, done)


def _spread(itemsize: int) -> str:
    """@move(line, place, n, stride): place[i * stride] = line[i]."""
    code = Code()
    type, align = element_type(itemsize), _align(itemsize)
    with code.loop(0, "%n") as i:
        value = code.load(type, code.at("%line", i, itemsize), align)
        code.store(type, value, code.at("%place", i, "%stride"), align)
    return code.function(f"define void @{NAME}_move(ptr %line, ptr %place, i64 %n, i64 %stride) #0", "  ret void")


def _turn(itemsize: int, vector_bytes: int, *, filling: bool) -> str:
    """@turn(dst, dst_pitch, src, src_pitch, rows, n): dst[j][i] = src[i][j] for i < rows, j < n.

    Lines in memory are gone through one after another, those of the buffer, which is near, again and again.
    """
    code = Code()
    lanes = min(LANES, vector_bytes // itemsize) if itemsize < 16 else 1
    whole_rows, whole_n = (code.register(f"and i64 {count}, {-lanes}") for count in ("%rows", "%n"))
    outer, inner = (whole_rows, whole_n) if filling else (whole_n, whole_rows)
    with code.loop(0, outer, lanes) as far, code.loop(0, inner, lanes) as near:
        i, j = (far, near) if filling else (near, far)
        source = code.move(code.at("%src", i, "%src_pitch"), code.register(f"mul i64 {j}, {itemsize}"))
        target = code.move(code.at("%dst", j, "%dst_pitch"), code.register(f"mul i64 {i}, {itemsize}"))
        turn_square(code, itemsize, [code.at(source, k, "%src_pitch") for k in range(lanes)], target)
    if lanes > 1:
        _turn_singly(code, itemsize, ("0", whole_n), (whole_rows, "%rows"))
        _turn_singly(code, itemsize, (whole_n, "%n"), ("0", "%rows"))
    arguments = "ptr %dst, i64 %dst_pitch, ptr %src, i64 %src_pitch, i64 %rows, i64 %n"
    return code.function(f"define void @{NAME}_turn({arguments}) #0", "  ret void")


def turn_square(code: Code, itemsize: int, lines: list[str], target: str) -> None:
    """A square of rows that begin at `lines`, %dst_pitch apart in `target`; log2 rounds interleave their two halves."""
    lanes = len(lines)
    element = element_type(itemsize)
    type, align = f"<{lanes} x {element}>" if lanes > 1 else element, _align(itemsize)
    rows = [code.load(type, line, align) for line in lines]
    low = ", ".join(f"i32 {k // 2 + (lanes if k % 2 else 0)}" for k in range(lanes))
    high = ", ".join(f"i32 {lanes // 2 + k // 2 + (lanes if k % 2 else 0)}" for k in range(lanes))
    rounds = lanes.bit_length() - 1
    for _ in range(rounds):
        rows = [
            code.register(
                f"shufflevector {type} {rows[k // 2]}, {type} {rows[k // 2 + lanes // 2]}, <{lanes} x i32> "
                f"<{high if k % 2 else low}>"
            )
            for k in range(lanes)
        ]
    for k, row in enumerate(rows):
        code.store(type, row, code.at(target, k, "%dst_pitch"), align)


def _turn_singly(code: Code, itemsize: int, columns: tuple[str, str], rows: tuple[str, str]) -> None:
    type, align = element_type(itemsize), _align(itemsize)
    with code.loop(*rows) as i, code.loop(*columns) as j:
        value = code.load(type, code.at(code.at("%src", i, "%src_pitch"), j, itemsize), align)
        code.store(type, value, code.at(code.at("%dst", j, "%dst_pitch"), i, itemsize), align)
