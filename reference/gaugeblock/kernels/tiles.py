"""The driver for operands that are not contiguous along the rows: tile by tile, through small contiguous buffers.

    @NAME(row, cursors, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, operands) -> i1

A tile is a few long rows over the two innermost dims, so that operands that lie in rows are streams; it has more rows
where they are short, of BUFFER_BYTES in all. `transfers` holds for each operand the address of the routine between its
tile and a buffer (see packing), or 0 where the row function takes it as it lies: inputs are brought into their buffers
first, outputs brought home afterwards. Rows of a buffer are up to two cache lines further apart than they are long,
lest those of a power of two fall into one set of the cache. Dims beyond the second are counted through. One module
serves all kernels of an instruction set.
"""

from __future__ import annotations

import functools

from .code import NAME, PLAIN, Code
from .compiler import compiler
from .isa import Level

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
    return "\n".join([_plane(), attributes, PLAIN, plane, _grid(), attributes, ""])


def _plane() -> str:
    """@NAME_plane: all tiles over the two innermost dims; `inner` and `outer` hold the strides of the operands."""
    code = Code()
    fault = code.register("alloca i8")
    code.store("i8", 0, fault, 1)
    total = code.register("alloca i64")
    code.store("i64", 0, total)
    places, pointers, steps, pitches, buffers = (code.register(f"alloca [{MAX_OPERANDS} x i64]") for _ in range(5))
    widest = code.register("alloca i64")
    code.store("i64", 1, widest)
    with code.loop(0, "%operands") as k, code.when(_apart(code, k)):
        code.store("i64", code.maximum(code.load("i64", widest), code.load("i64", code.slot("%itemsizes", k))), widest)
    fitting = code.register(f"udiv i64 {BUFFER_BYTES}, {code.load('i64', widest)}")
    broad = code.minimum(code.minimum("%width", COLUMNS), code.register(f"udiv i64 {fitting}, {ROWS}"))
    rows = code.register(f"udiv i64 {fitting}, {broad}")
    tall = code.minimum(code.register(f"and i64 {rows}, {-ROWS}"), MOST_ROWS)
    with code.loop(0, "%operands") as k:
        itemsize = code.load("i64", code.slot("%itemsizes", k))
        apart = _apart(code, k)
        stride, far = code.load("i64", code.slot("%inner", k)), code.load("i64", code.slot("%outer", k))
        code.store("i64", code.register(f"select i1 {apart}, i64 {itemsize}, i64 {stride}"), code.slot(steps, k))
        long = code.register(f"add i64 {code.register(f'mul i64 {itemsize}, {broad}')}, {2 * _LINE - 1}")
        pitch = code.register(f"and i64 {long}, {-_LINE}")
        code.store("i64", code.register(f"select i1 {apart}, i64 {pitch}, i64 {far}"), code.slot(pitches, k))
        with code.when(apart):
            before = code.load("i64", total)
            code.store("i64", before, code.slot(buffers, k))
            code.store("i64", code.register(f"add i64 {before}, {code.register(f'mul i64 {pitch}, {tall}')}"), total)
    memory = code.register(f"alloca i8, i64 {code.load('i64', total)}, align {_LINE}")
    with code.loop(0, "%operands") as k, code.when(_apart(code, k)):
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
            with code.when(_apart(code, k)):
                buffer = code.load("ptr", code.slot(buffers, k))
                code.store("ptr", buffer, code.slot(pointers, k))
                with code.when(code.register(f"icmp sge i64 {k}, %outputs")):
                    _transfer(code, buffer, place, columns, rows, k, pitches)
        with code.loop(0, rows):
            failed = code.register(f"call i1 %row(ptr {pointers}, ptr %numbers, i64 {columns}, ptr {steps})")
            _note(code, fault, failed)
            with code.loop(0, "%operands") as k:
                pitch = code.load("i64", code.slot(pitches, k))
                ahead = code.move(code.load("ptr", code.slot(pointers, k)), pitch)
                code.store("ptr", ahead, code.slot(pointers, k))
        with code.loop(0, "%outputs") as k, code.when(_apart(code, k)):
            buffer, place = code.load("ptr", code.slot(buffers, k)), code.load("ptr", code.slot(places, k))
            _transfer(code, buffer, place, columns, rows, k, pitches)
    result = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    arguments = (
        "ptr %row, ptr %cursors, ptr %numbers, i64 %width, i64 %height, ptr %inner, ptr %outer, ptr %itemsizes, "
        "ptr %transfers, i64 %outputs, i64 %operands"
    )
    return code.function(f"define i1 @{NAME}_plane({arguments}) #0", f"  ret i1 {result}")


def _apart(code: Code, k: str) -> str:
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
    """@NAME: planes over the first two dims, positions counted out over the others."""
    code = Code()
    inner, outer, cursors = (code.register(f"alloca [{MAX_OPERANDS} x i64]") for _ in range(3))
    fault = code.register("alloca i8")
    code.store("i8", 0, fault, 1)
    planes, height, left = (code.register("alloca i64") for _ in range(3))
    code.store("i64", 1, planes)
    with code.loop(2, "%ndim") as d:
        size = code.load("i64", code.slot("%sizes", d))
        code.store("i64", code.register(f"mul i64 {code.load('i64', planes)}, {size}"), planes)
    deep = code.register("icmp sgt i64 %ndim, 1")
    code.store("i64", 1, height)
    with code.when(deep):
        code.store("i64", code.load("i64", code.slot("%sizes", 1)), height)
    with code.loop(0, "%operands") as k:
        own = code.slot("%strides", code.register(f"mul i64 {k}, %ndim"))
        code.store("i64", code.load("i64", own), code.slot(inner, k))
        code.store("i64", 0, code.slot(outer, k))
        with code.when(deep):
            code.store("i64", code.load("i64", code.slot(own, 1)), code.slot(outer, k))
    count = code.load("i64", planes)
    with code.loop(0, count) as p:
        with code.loop(0, "%operands") as k:
            code.store("ptr", code.load("ptr", code.slot("%cursors", k)), code.slot(cursors, k))
        code.store("i64", p, left)
        with code.loop(2, "%ndim") as d:
            size = code.load("i64", code.slot("%sizes", d))
            now = code.load("i64", left)
            index = code.register(f"urem i64 {now}, {size}")
            code.store("i64", code.register(f"udiv i64 {now}, {size}"), left)
            with code.loop(0, "%operands") as k:
                own = code.slot("%strides", code.register(f"mul i64 {k}, %ndim"))
                stride = code.load("i64", code.slot(own, d))
                place = code.slot(cursors, k)
                code.store("ptr", code.at(code.load("ptr", place), index, stride), place)
        width, tall = code.load("i64", "%sizes"), code.load("i64", height)
        failed = code.register(
            f"call i1 @{NAME}_plane(ptr %row, ptr {cursors}, ptr %numbers, i64 {width}, i64 {tall}, ptr {inner}, "
            f"ptr {outer}, ptr %itemsizes, ptr %transfers, i64 %outputs, i64 %operands)"
        )
        _note(code, fault, failed)
    result = code.register(f"icmp ne i8 {code.load('i8', fault, 1)}, 0")
    arguments = (
        "ptr %row, ptr %cursors, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides, ptr %itemsizes, ptr %transfers, "
        "i64 %outputs, i64 %operands"
    )
    return code.function(f"define i1 @{NAME}({arguments}) #0", f"  ret i1 {result}")

