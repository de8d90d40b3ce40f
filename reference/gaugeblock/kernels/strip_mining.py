"""Vectors for row functions: those of a broadcast operand repeat one element, those of a strided one are packed.

    @repeated_row(row, pointers, numbers, n, strides, itemsizes, operands) -> i1
    @NAME_strip_mined(pointers, numbers, done, n, strides, row, layout) -> i1

The first copies each input of stride 0 into a buffer of one vector, and calls the row function with -n, which tells it
to read that buffer for every vector (see loops). The other operands must be contiguous.

The second serves rows that have a vector loop only. Elements from `done` on are computed. `layout` holds log2 of the
elements of a vector, the number of operands and of outputs among them, and the item sizes.

Elements that are not contiguous in memory, and the last ones, are packed into a vector, which the last element fills.
The last ones of a contiguous row are computed by a vector that overlaps the one before, unless an output is an input.
"""

from __future__ import annotations

from .code import Code

VECTOR_BYTES = 128
"""The most bytes of a vector of an operand: complex elements have two components."""


def text(name: str) -> str:
    """Return the functions of this module."""
    return "\n".join([_strip_mined(name), repeat(), _move()])


def repeated_row() -> str:
    """Return @repeated_row; attributes #0 of its module must give the vectors of the row functions."""
    code = Code()
    places = code.register("alloca ptr, i64 %operands")
    buffers = code.register(f"alloca [{VECTOR_BYTES} x i8], i64 %operands, align 64")
    with code.loop(0, "%operands") as k:
        place = code.load("ptr", code.slot("%pointers", k))
        code.store("ptr", place, code.slot(places, k))
        stride, size = (code.load("i64", code.slot(array, k)) for array in ("%strides", "%itemsizes"))
        with code.when(code.register(f"icmp eq i64 {stride}, 0")):
            buffer = code.at(buffers, k, VECTOR_BYTES)
            code.store("ptr", buffer, code.slot(places, k))
            code.line(f"call void @repeat(ptr {buffer}, ptr {place}, i64 {size})")
    count = code.register("sub i64 0, %n")
    failed = code.register(f"call i1 %row(ptr {places}, ptr %numbers, i64 {count}, ptr %strides)")
    arguments = "ptr %row, ptr %pointers, ptr %numbers, i64 %n, ptr %strides, ptr %itemsizes, i64 %operands"
    function = code.function(f"define internal i1 @repeated_row({arguments}) #0", f"  ret i1 {failed}")
    return f"{function}\n{repeat('#0')}"


_ELEMENTS = {4: "i32", 8: "i64", 2: "i16", 1: "i8", 16: "i128"}
"""Item sizes, the commonest first, and the types that hold elements of them."""


def repeat(attributes: str = "") -> str:
    """Return @repeat(buffer, place, size), which fills a buffer with an element."""
    code = Code()
    for itemsize, type in _ELEMENTS.items():
        count, align = VECTOR_BYTES // itemsize, min(itemsize, 4)
        with code.ending(code.register(f"icmp eq i64 %size, {itemsize}")):
            one = code.register(f"insertelement <1 x {type}> poison, {type} {code.load(type, '%place', align)}, i32 0")
            mask = f"<{count} x i32> zeroinitializer"
            many = code.register(f"shufflevector <1 x {type}> {one}, <1 x {type}> poison, {mask}")
            code.store(f"<{count} x {type}>", many, "%buffer", 64)
            code.line("ret void")
    arguments = "ptr %buffer, ptr %place, i64 %size"
    return code.function(f"define internal void @repeat({arguments}) {attributes}", "  ret void")


def _strip_mined(name: str) -> str:
    code = Code()
    shift, operands, outputs = (code.load("i64", code.slot("%layout", k)) for k in range(3))
    sizes, width = code.slot("%layout", 3), code.register(f"shl i64 1, {shift}")
    bases = code.register(f"alloca ptr, i64 {operands}")
    buffers = code.register(f"alloca [{VECTOR_BYTES} x i8], i64 {operands}, align 64")
    fault = code.variable("i1", "false", 1)

    def run() -> None:
        count = code.register(f"sub i64 0, {width}")
        failed = code.register(f"call i1 %row(ptr {bases}, ptr %numbers, i64 {count}, ptr %strides)")
        code.store("i1", code.register(f"or i1 {failed}, {code.load('i1', fault, 1)}"), fault, 1)

    def operand(k: str) -> tuple[str, str, str, str]:
        size, stride = code.load("i64", code.slot(sizes, k)), code.load("i64", code.slot("%strides", k))
        return size, stride, code.load("ptr", code.slot("%pointers", k)), code.at(buffers, k, VECTOR_BYTES)

    with code.when(code.register("icmp sgt i64 %done, 0")):
        final = code.register(f"sub i64 %n, {width}")
        with code.carry(0, operands, 1, [("i1", "false")]) as loop:
            _, stride, place, _ = operand(loop.index)
            code.store("ptr", code.at(place, final, stride), code.slot(bases, loop.index))
            written = code.register(f"icmp slt i64 {loop.index}, {outputs}")
            with code.carry(outputs, operands, 1, [("i1", loop.values[0])]) as inputs:
                read = code.load("ptr", code.slot("%pointers", inputs.index))
                same = code.register(f"and i1 {written}, {code.register(f'icmp eq ptr {place}, {read}')}")
                inputs.following = [code.register(f"or i1 {inputs.values[0]}, {same}")]
            loop.following = inputs.results
        with code.ending(code.register(f"xor i1 {loop.results[0]}, true")):
            run()
            code.line(f"ret i1 {code.load('i1', fault, 1)}")
    with code.loop("%done", "%n", width) as start:
        count = code.minimum(code.register(f"sub i64 %n, {start}"), width)
        with code.loop(0, operands) as k:
            size, stride, place, buffer = operand(k)
            code.store("ptr", buffer, code.slot(bases, k))
            with code.when(code.register(f"icmp sge i64 {k}, {outputs}")):
                last = code.register(f"add i64 {start}, {code.register(f'sub i64 {count}, 1')}")
                code.line(f"call void @repeat(ptr {buffer}, ptr {code.at(place, last, stride)}, i64 {size})")
                source, each = code.at(place, start, stride), f"i64 {stride}, i64 {count}, i64 {size}"
                code.line(f"call void @move_elements(ptr {buffer}, i64 {size}, ptr {source}, {each})")
        run()
        with code.loop(0, outputs) as k:
            size, stride, place, buffer = operand(k)
            target, each = code.at(place, start, stride), f"i64 {size}, i64 {count}, i64 {size}"
            code.line(f"call void @move_elements(ptr {target}, i64 {stride}, ptr {buffer}, {each})")
    arguments = "ptr %pointers, ptr %numbers, i64 %done, i64 %n, ptr %strides, ptr %row, ptr %layout"
    return code.function(f"define i1 @{name}_strip_mined({arguments})", f"  ret i1 {code.load('i1', fault, 1)}")


def _move() -> str:
    """@move_elements(to, to_stride, from, stride, count, size): to[i * to_stride] = from[i * stride]."""
    code = Code()
    for itemsize, type in _ELEMENTS.items():
        fits = code.register(f"icmp eq i64 %size, {itemsize}")
        with code.when(fits), code.carry(0, "%count", 1, [("ptr", "%to"), ("ptr", "%from")]) as loop:
            to, place = loop.values
            code.store(type, code.load(type, place, min(itemsize, 4)), to, min(itemsize, 4))
            loop.following = [code.move(to, "%to_stride"), code.move(place, "%stride")]
    arguments = "ptr %to, i64 %to_stride, ptr %from, i64 %stride, i64 %count, i64 %size"
    return code.function(f"define internal void @move_elements({arguments})", "  ret void")
