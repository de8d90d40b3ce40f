"""Rows of kernels that have a vector loop only: vectors run in place, or are packed into buffers first.

    @NAME_strip_mined(pointers, numbers, done, n, strides, row, layout) -> i1

Elements from `done` on are computed. `row` is the row function, which takes a negative `n` for that many vectors, with
their strides. `layout` holds log2 of the elements of a vector, the number of operands and of outputs among them, and
the item sizes.

Elements that are not contiguous in memory, and the last ones, are packed into a vector, which the last element fills.
The last ones of a contiguous row are computed by a vector that overlaps the one before, unless an output is an input.
Inputs of stride 0 are repeated in a buffer, which each vector reads again.
"""

from __future__ import annotations

from .code import Code

VECTOR_BYTES = 128
"""The most bytes of a vector of an operand: complex elements have two components."""


def text(name: str) -> str:
    """Return the functions of this module."""
    return "\n".join([_strip_mined(name), _move()])


def _strip_mined(name: str) -> str:
    code = Code()
    shift, operands, outputs = (code.load("i64", code.slot("%layout", k)) for k in range(3))
    sizes, width = code.slot("%layout", 3), code.register(f"shl i64 1, {shift}")
    bases, steps = (code.register(f"alloca i64, i64 {operands}") for _ in range(2))
    buffers = code.register(f"alloca [{VECTOR_BYTES} x i8], i64 {operands}, align 64")
    fault = code.variable("i1", "false", 1)

    def run(vectors: str) -> None:
        count = code.register(f"sub i64 0, {vectors}")
        failed = code.register(f"call i1 %row(ptr {bases}, ptr %numbers, i64 {count}, ptr {steps})")
        code.store("i1", code.register(f"or i1 {failed}, {code.load('i1', fault, 1)}"), fault, 1)

    def operand(k: str) -> tuple[str, str, str, str]:
        size, stride = code.load("i64", code.slot(sizes, k)), code.load("i64", code.slot("%strides", k))
        return size, stride, code.load("ptr", code.slot("%pointers", k)), code.at(buffers, k, VECTOR_BYTES)

    def repeated(k: str, stride: str) -> str:
        given = code.register(f"icmp sge i64 {k}, {outputs}")
        return code.register(f"and i1 {given}, {code.register(f'icmp eq i64 {stride}, 0')}")

    with code.carry(0, operands, 1, [("i1", "true")]) as loop:
        size, stride, _, _ = operand(loop.index)
        adjacent = code.register(f"icmp eq i64 {stride}, {size}")
        fits = code.register(f"or i1 {adjacent}, {repeated(loop.index, stride)}")
        loop.following = [code.register(f"and i1 {loop.values[0]}, {fits}")]
    begun = code.register("icmp sgt i64 %done, 0")
    apart = code.register(f"or i1 {begun}, {code.register(f'xor i1 {loop.results[0]}, true')}")
    vectors = code.register(f"select i1 {apart}, i64 0, i64 {code.register(f'lshr i64 %n, {shift}')}")
    with code.when(code.register(f"icmp sgt i64 {vectors}, 0")):
        with code.loop(0, operands) as k:
            size, stride, place, buffer = operand(k)
            again = repeated(k, stride)
            with code.when(again):
                _call_move(code, buffer, size, place, "0", width, size)
            code.store("ptr", code.register(f"select i1 {again}, ptr {buffer}, ptr {place}"), code.slot(bases, k))
            code.store("i64", code.register(f"shl i64 {stride}, {shift}"), code.slot(steps, k))
        run(vectors)
    with code.when(begun):
        final = code.register(f"sub i64 %n, {width}")
        with code.carry(0, operands, 1, [("i1", "false")]) as loop:
            size, _, place, _ = operand(loop.index)
            code.store("ptr", code.at(place, final, size), code.slot(bases, loop.index))
            written = code.register(f"icmp slt i64 {loop.index}, {outputs}")
            with code.carry(outputs, operands, 1, [("i1", loop.values[0])]) as inputs:
                read = code.load("ptr", code.slot("%pointers", inputs.index))
                same = code.register(f"and i1 {written}, {code.register(f'icmp eq ptr {place}, {read}')}")
                inputs.following = [code.register(f"or i1 {inputs.values[0]}, {same}")]
            loop.following = inputs.results
        with code.ending(code.register(f"xor i1 {loop.results[0]}, true")):
            run("1")
            code.line(f"ret i1 {code.load('i1', fault, 1)}")
    computed = code.register(f"add i64 %done, {code.register(f'shl i64 {vectors}, {shift}')}")
    with code.loop(computed, "%n", width) as start:
        count = code.minimum(code.register(f"sub i64 %n, {start}"), width)
        with code.loop(0, operands) as k:
            size, stride, place, buffer = operand(k)
            code.store("ptr", buffer, code.slot(bases, k))
            with code.when(code.register(f"icmp sge i64 {k}, {outputs}")):
                _call_move(code, buffer, size, code.at(place, start, stride), stride, count, size)
                rest, last = code.register(f"sub i64 {width}, {count}"), code.register(f"sub i64 {count}, 1")
                free, final = code.at(buffer, count, size), code.at(buffer, last, size)
                _call_move(code, free, size, final, "0", rest, size)
        run("1")
        with code.loop(0, outputs) as k:
            size, stride, place, buffer = operand(k)
            _call_move(code, code.at(place, start, stride), stride, buffer, size, count, size)
    arguments = "ptr %pointers, ptr %numbers, i64 %done, i64 %n, ptr %strides, ptr %row, ptr %layout"
    return code.function(f"define i1 @{name}_strip_mined({arguments})", f"  ret i1 {code.load('i1', fault, 1)}")


def _call_move(code: Code, to: str, to_stride: str, place: str, stride: str, count: str, size: str) -> None:
    given = f"ptr {to}, i64 {to_stride}, ptr {place}, i64 {stride}, i64 {count}, i64 {size}"
    code.line(f"call void @move_elements({given})")


def _move() -> str:
    """@move_elements(to, to_stride, from, stride, count, size): to[i * to_stride] = from[i * stride]."""
    code = Code()
    for itemsize, type in ((1, "i8"), (2, "i16"), (4, "i32"), (8, "i64"), (16, "<2 x i64>")):
        fits = code.register(f"icmp eq i64 %size, {itemsize}")
        with code.when(fits), code.carry(0, "%count", 1, [("ptr", "%to"), ("ptr", "%from")]) as loop:
            to, place = loop.values
            code.store(type, code.load(type, place, min(itemsize, 4)), to, min(itemsize, 4))
            loop.following = [code.move(to, "%to_stride"), code.move(place, "%stride")]
    arguments = "ptr %to, i64 %to_stride, ptr %from, i64 %stride, i64 %count, i64 %size"
    return code.function(f"define internal void @move_elements({arguments})", "  ret void")
