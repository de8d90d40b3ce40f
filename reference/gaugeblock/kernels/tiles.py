"""Operands that are not contiguous along the rows: tile by tile, through small contiguous buffers.

    @NAME(row, cursors, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, operands) -> i1
    @NAME(buffer, pitch, place, n, rows, stride, row_stride)

The first drives a loop over tiles; one module serves all kernels of an instruction set. A tile is a few long rows over
the two innermost dims, so that operands that are contiguous in rows are streams; it has more rows where they are short,
of BUFFER_BYTES in all. `transfers` holds for each operand the address of the routine between its tile and a buffer, or
0 where the row function takes it in place: inputs are packed into their buffers first, outputs unpacked afterwards.
Rows of a buffer are up to two cache lines further apart than they are long, lest those of a power of two fall into one
set of the cache. Dims beyond the second are counted through.

The second packs or unpacks a tile of `rows` rows of `n` elements, for an item size. In the buffer a row is contiguous
and `pitch` bytes after the one before, in its place in memory elements are `stride` and rows `row_stride` bytes apart.
A tile whose rows are adjacent in memory (row_stride is the item size) is transposed square by square, in registers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from .code import NAME, PLAIN, Code
from .compiler import compiler
from .isa import Level
from .sharing import DRIVE, each_row
from .strip_mining import repeated_row

LANES = 8
"""Rows and columns of the squares that are turned in registers."""
_UNROLLED = 4
_SMAX = "declare i64 @llvm.smax.i64(i64, i64)"


@functools.cache
def transfer_routine(itemsize: int, level: Level, *, filling: bool) -> int:
    """Address of the routine that fills a buffer, or that writes it to its place."""
    name = "pack" if filling else "unpack"
    return compiler().load(f"{name} {itemsize} {level.name}", lambda: _module(itemsize, level, filling=filling))


def _module(itemsize: int, level: Level, *, filling: bool) -> str:
    move = _line(itemsize, level.vector_bytes) if filling else _spread(itemsize)
    parts = [move, _turn(itemsize, level.vector_bytes, filling=filling)]
    if "@llvm.smax" in move:
        parts.append(_SMAX)
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
    done = code.variable("i64", 0)
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
        with code.loop(0, stop, lanes) as i:
            _chosen(code, itemsize, whole, code.at("%place", i, 2 * itemsize), range(0, 2 * lanes, 2), i)
        code.store("i64", stop, done)


def _backward(code: Code, itemsize: int, lanes: int, done: str) -> None:
    """Step minus one: vectors reversed."""
    type = f"<{lanes} x {element_type(itemsize)}>"
    with code.when(code.register(f"icmp eq i64 %stride, {-itemsize}")):
        stop = code.register(f"and i64 %n, {-lanes}")
        with code.loop(0, stop, lanes) as i:
            last = code.at("%place", code.register(f"add i64 {i}, {lanes - 1}"), -itemsize)
            _chosen(code, itemsize, type, last, range(lanes - 1, -1, -1), i)
        code.store("i64", stop, done)


def _chosen(code: Code, itemsize: int, type: str, place: str, lanes: range, i: str) -> None:
    """Some lanes of a vector, from the i-th element of the line on."""
    read = code.load(type, place, _align(itemsize))
    mask = f"<{len(lanes)} x i32> <{', '.join(f'i32 {k}' for k in lanes)}>"
    kept = code.register(f"shufflevector {type} {read}, {type} poison, {mask}")
    code.store(f"<{len(lanes)} x {element_type(itemsize)}>", kept, code.at("%line", i, itemsize), _align(itemsize))


def _spread(itemsize: int) -> str:
    """@move(line, place, n, stride): place[i * stride] = line[i]."""
    code = Code()
    type, align = element_type(itemsize), _align(itemsize)
    with code.loop(0, "%n") as i:
        value = code.load(type, code.at("%line", i, itemsize), align)
        code.store(type, value, code.at("%place", i, "%stride"), align)
    return code.function(f"define void @{NAME}_move(ptr %line, ptr %place, i64 %n, i64 %stride) #0", "  ret void")


def _turn(itemsize: int, vector_bytes: int, *, filling: bool) -> str:
    """@turn(dst, dst_pitch, src, src_pitch, rows, n): dst[j][i] = src[i][j] for i < rows, j < n. Lines in memory are
    gone through one after another, those of the buffer, which is near, again and again."""
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


BUFFER_BYTES = 1 << 16
COLUMNS = 512
ROWS = 16
"""The fewest, so that lines of the cache are used whole, or a quarter at least for elements of one byte."""
MOST_ROWS = 8 * ROWS
MAX_OPERANDS = 16
_LINE = 64


@functools.cache
def tiled_driver(level: Level) -> int:
    """The address of the driver for an instruction set."""
    return compiler().load(f"tiles {level.name}", lambda: _text(level))


def _text(level: Level) -> str:
    attributes = f"attributes #0 = {{ {level.attributes} }}"
    plane = f"declare i1 @{NAME}_plane(ptr, ptr, ptr, i64, i64, ptr, ptr, ptr, ptr, i64, i64)"
    return "\n".join([_plane(), _SMAX, repeated_row(), attributes, PLAIN, plane, _grid(), attributes, ""])


def _plane() -> str:
    """@NAME_plane: all tiles over the two innermost dims; `inner` and `outer` hold the strides of the operands."""
    code = Code()
    fault, total, widest = code.variable("i8", 0, 1), code.variable("i64", 0), code.variable("i64", 1)
    places, pointers, steps, pitches, buffers = (code.register(f"alloca [{MAX_OPERANDS} x i64]") for _ in range(5))
    with code.loop(0, "%operands") as k, code.when(_is_strided(code, k)):
        own, before = code.load("i64", code.slot("%itemsizes", k)), code.load("i64", widest)
        code.store("i64", code.register(f"call i64 @llvm.smax.i64(i64 {own}, i64 {before})"), widest)
    fitting = code.register(f"udiv i64 {BUFFER_BYTES}, {code.load('i64', widest)}")
    broad = code.minimum(code.minimum("%width", COLUMNS), code.register(f"udiv i64 {fitting}, {ROWS}"))
    rows = code.register(f"udiv i64 {fitting}, {broad}")
    tall = code.minimum(code.register(f"and i64 {rows}, {-ROWS}"), MOST_ROWS)
    with code.loop(0, "%operands") as k:
        itemsize = code.load("i64", code.slot("%itemsizes", k))
        strided = _is_strided(code, k)
        stride, far = code.load("i64", code.slot("%inner", k)), code.load("i64", code.slot("%outer", k))
        code.store("i64", code.register(f"select i1 {strided}, i64 {itemsize}, i64 {stride}"), code.slot(steps, k))
        long = code.register(f"add i64 {code.register(f'mul i64 {itemsize}, {broad}')}, {2 * _LINE - 1}")
        pitch = code.register(f"and i64 {long}, {-_LINE}")
        code.store("i64", code.register(f"select i1 {strided}, i64 {pitch}, i64 {far}"), code.slot(pitches, k))
        with code.when(strided):
            before = code.load("i64", total)
            code.store("i64", before, code.slot(buffers, k))
            code.store("i64", code.register(f"add i64 {before}, {code.register(f'mul i64 {pitch}, {tall}')}"), total)
    with code.carry(0, "%operands", 1, [("i1", "false")]) as zeros:
        zero = code.register(f"icmp eq i64 {code.load('i64', code.slot(steps, zeros.index))}, 0")
        zeros.following = [code.register(f"or i1 {zeros.values[0]}, {zero}")]
    repeated = zeros.results[0]
    memory = code.register(f"alloca i8, i64 {code.load('i64', total)}, align {_LINE}")
    with code.loop(0, "%operands") as k, code.when(_is_strided(code, k)):
        code.store("ptr", code.move(memory, code.load("i64", code.slot(buffers, k))), code.slot(buffers, k))
    with code.loop(0, "%height", tall) as j, code.loop(0, "%width", broad) as i:
        rows = code.minimum(code.register(f"sub i64 %height, {j}"), tall)
        columns = code.minimum(code.register(f"sub i64 %width, {i}"), broad)
        with code.loop(0, "%operands") as k:
            place = code.load("ptr", code.slot("%cursors", k))
            place = code.at(place, i, code.load("i64", code.slot("%inner", k)))
            place = code.at(place, j, code.load("i64", code.slot("%outer", k)))
            code.store("ptr", place, code.slot(places, k))
            code.store("ptr", place, code.slot(pointers, k))
            with code.when(_is_strided(code, k)):
                buffer = code.load("ptr", code.slot(buffers, k))
                code.store("ptr", buffer, code.slot(pointers, k))
                with code.when(code.register(f"icmp sge i64 {k}, %outputs")):
                    _transfer(code, buffer, place, columns, rows, k, pitches)
        with code.loop(0, rows):
            given = f"ptr {pointers}, ptr %numbers, i64 {columns}, ptr {steps}"
            with code.when(repeated):
                call = f"call i1 @repeated_row(ptr %row, {given}, ptr %itemsizes, i64 %operands)"
                _note(code, fault, code.register(call))
            with code.when(code.register(f"xor i1 {repeated}, true")):
                _note(code, fault, code.register(f"call i1 %row({given})"))
            with code.loop(0, "%operands") as k:
                pitch = code.load("i64", code.slot(pitches, k))
                ahead = code.move(code.load("ptr", code.slot(pointers, k)), pitch)
                code.store("ptr", ahead, code.slot(pointers, k))
        with code.loop(0, "%outputs") as k, code.when(_is_strided(code, k)):
            buffer, place = code.load("ptr", code.slot(buffers, k)), code.load("ptr", code.slot(places, k))
            _transfer(code, buffer, place, columns, rows, k, pitches)
    result = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    arguments = (
        "ptr %row, ptr %cursors, ptr %numbers, i64 %width, i64 %height, ptr %inner, ptr %outer, ptr %itemsizes, "
        "ptr %transfers, i64 %outputs, i64 %operands"
    )
    return code.function(f"define i1 @{NAME}_plane({arguments}) #0", f"  ret i1 {result}")


def _is_strided(code: Code, k: str) -> str:
    """Return whether operand `k` goes through a buffer."""
    return code.register(f"icmp ne i64 {code.load('i64', code.slot('%transfers', k))}, 0")


def _note(code: Code, fault: str, failed: str) -> None:
    """Remember that a guard failed."""
    old, new = code.load("i8", fault, 1), code.register(f"zext i1 {failed} to i8")
    code.store("i8", code.register(f"or i8 {old}, {new}"), fault, 1)


def _transfer(code: Code, buffer: str, place: str, columns: str, rows: str, k: str, pitches: str) -> None:
    routine = code.load("ptr", code.slot("%transfers", k))
    stride, far = code.load("i64", code.slot("%inner", k)), code.load("i64", code.slot("%outer", k))
    pitch = code.load("i64", code.slot(pitches, k))
    code.line(
        f"call void {routine}(ptr {buffer}, i64 {pitch}, ptr {place}, i64 {columns}, i64 {rows}, i64 {stride}, "
        f"i64 {far})"
    )


def _grid() -> str:
    """@NAME: planes over the first two dims, an odometer over the others."""
    code = Code()
    inner, outer, cursors = (code.register(f"alloca [{MAX_OPERANDS} x i64]") for _ in range(3))
    fault, height = code.variable("i8", 0, 1), code.variable("i64", 1)
    deep = code.register("icmp sgt i64 %ndim, 1")
    with code.when(deep):
        code.store("i64", code.load("i64", code.slot("%sizes", 1)), height)
    with code.loop(0, "%many") as k:
        own = code.slot("%strides", code.register(f"mul i64 {k}, %ndim"))
        code.store("i64", code.load("i64", own), code.slot(inner, k))
        code.store("i64", 0, code.slot(outer, k))
        code.store("ptr", code.load("ptr", code.slot("%pointers", k)), code.slot(cursors, k))
        with code.when(deep):
            code.store("i64", code.load("i64", code.slot(own, 1)), code.slot(outer, k))

    def moved() -> Iterator[tuple[str, str]]:
        with code.loop(0, "%many") as k:
            own = code.slot("%strides", code.register(f"mul i64 {k}, %ndim"))
            yield code.slot(cursors, k), code.slot(own, 1)

    with each_row(code, code.register("sub i64 %ndim, 1"), code.slot("%sizes", 1), moved()):
        width, tall = code.load("i64", "%sizes"), code.load("i64", height)
        failed = code.register(
            f"call i1 @{NAME}_plane(ptr %row, ptr {cursors}, ptr %numbers, i64 {width}, i64 {tall}, ptr {inner}, "
            f"ptr {outer}, ptr %itemsizes, ptr %transfers, i64 %outputs, i64 %many)"
        )
        _note(code, fault, failed)
    result = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    return code.function(f"define i1 @{NAME}({DRIVE}) #0", f"  ret i1 {result}")
