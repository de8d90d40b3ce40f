"""IR text that shares work out to the pool's threads: large loops, and reductions by outputs or by elements of one.

    @NAME_share_flat(row, pointers, numbers, n, itemsizes, many)
    @NAME_share_grid(drive, row, pointers, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, many, first,
                     each) -> i1
    @NAME_split_run(run, join, state, in, ndim, sizes, strides, parameters)
    @NAME_strips_run(run, state, in, ndim, sizes, strides, parameters)
    @NAME_transposed_reduction(in, outs, n, in_stride, out_strides, ndim, sizes, strides, parameters)

The first splits one contiguous run, the second a box along one of its dims, from the `first` on; an element of the box
stands for `each` elements, as the outputs of a reduction do. A part has about PART elements: what it computes does not
depend on how many threads there are.

`split_run` reduces the elements of one output into `state`. Many elements are reduced part by part, along the outermost
dim, each part into a state of its own, and these are joined in order: the parts, and so the bits of the result, are
the same for every number of threads. `strips_run` reduces them in one go, but strip by strip: both look for signals
after each strip, and leave the rest out once there was one.

`transposed_reduction` stands in for a reduction whose outputs each have few adjacent elements: TRANSPOSED outputs at a
time are transposed, so that the reduction itself finds the elements of neighbouring outputs side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .code import Code
from .reduction_phases import BLOCK_BYTES, ITEMSIZE_SLOT, REDUCTION_SLOT, TRANSPOSE_SLOT

PART = 32768
MAX_DIMS = 64


def text(name: str) -> str:
    """Return the functions of this module; @NAME_run is the pool's, @NAME_each_run the walk over reduced dims."""
    boxes = [_share_flat(name), _flat(), _share_grid(name), _grid_part()]
    reductions = [_split_run(name), _run_part(), _walked(name), _strips_run(name)]
    return "\n".join([*boxes, *reductions, _transposed_reduction(name), "declare i64 @llvm.umax.i64(i64, i64)"])


@contextmanager
def each_row(code: Code, ndim: str, sizes: str, cursors: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Write what is done for each row of a box, given its number; an odometer counts the other dims. A cursor is the
    place of a pointer, which is moved on from row to row, and the strides of what it points to."""
    counters = code.register(f"alloca [{MAX_DIMS} x i64]")
    with code.loop(0, ndim) as c:
        code.store("i64", 0, code.slot(counters, c))
    rows, advance, move, moved, done = (code.label() for _ in range(5))
    row, d = (f"%{name}_{rows}" for name in ("row", "d"))
    before = code.block
    code.jump(rows)
    code.begin(rows)
    code.line(f"{row} = phi i64 [0, %{before}], [{row}.next, %{moved}]")
    yield row
    code.line(f"{row}.next = add i64 {row}, 1")
    last = code.block
    code.jump(advance)
    code.begin(advance)
    code.line(f"{d} = phi i64 [1, %{last}], [{d}.next, %{moved}]")
    code.branch(code.register(f"icmp slt i64 {d}, {ndim}"), move, done)
    code.begin(move)
    counter = code.slot(counters, d)
    count, size = code.load("i64", counter), code.load("i64", code.slot(sizes, d))
    following = code.register(f"add i64 {count}, 1")
    room = code.register(f"icmp slt i64 {following}, {size}")
    for place, strides in cursors:
        stride = code.load("i64", code.slot(strides, d))
        back = code.register(f"sub i64 0, {code.register(f'mul i64 {count}, {stride}')}")
        step = code.register(f"select i1 {room}, i64 {stride}, i64 {back}")
        code.store("ptr", code.move(code.load("ptr", place), step), place)
    code.store("i64", code.register(f"select i1 {room}, i64 {following}, i64 0"), counter)
    code.jump(moved)
    code.begin(moved)
    code.line(f"{d}.next = add i64 {d}, 1")
    code.branch(room, rows, advance)
    code.begin(done)


def along_first(code: Code, many: int) -> tuple[str, list[tuple[str, str]], str]:
    """Return, of a box of `many` operands, the strides along its first dim, the cursors for rows, and their length."""
    steps, cursors = code.register(f"alloca [{many} x i64]"), []
    for k in range(many):
        own = code.slot("%strides", code.register(f"mul i64 %ndim, {k}"))
        code.store("i64", code.load("i64", own), code.slot(steps, k))
        cursors.append((code.slot("%pointers", k), own))
    single = code.register("icmp eq i64 %ndim, 0")
    return steps, cursors, code.register(f"select i1 {single}, i64 1, i64 {code.load('i64', '%sizes')}")


def parts_of(code: Code, volume: str) -> str:
    """Return how many parts a volume is worth."""
    return code.register(f"udiv i64 {code.register(f'add i64 {volume}, {PART - 1}')}, {PART}")


DRIVE = (
    "ptr %row, ptr %pointers, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides, ptr %itemsizes, ptr %transfers, "
    "i64 %outputs, i64 %many"
)
"""Parameters of the drivers of boxes."""


def _share_flat(name: str) -> str:
    """A contiguous run as a box of one dim, whose strides are the item sizes."""
    code = Code()
    size = code.variable("i64", "%n")
    failed = code.register(
        f"call i1 @{name}_share_grid(ptr @flat, ptr %row, ptr %pointers, ptr %numbers, i64 1, ptr {size}, "
        "ptr %itemsizes, ptr %itemsizes, ptr null, i64 0, i64 %many, i64 0, i64 1)"
    )
    arguments = "ptr %row, ptr %pointers, ptr %numbers, i64 %n, ptr %itemsizes, i64 %many"
    return code.function(f"define i1 @{name}_share_flat({arguments})", f"  ret i1 {failed}")


def _flat() -> str:
    code = Code()
    call = f"call i1 %row(ptr %pointers, ptr %numbers, i64 {code.load('i64', '%sizes')}, ptr %strides)"
    return code.function(f"define internal i1 @flat({DRIVE})", f"  ret i1 {code.register(call)}")


def _split(code: Code, each: str, sizes: str, ndim: str, first: str) -> tuple[str, str, str, str]:
    """The dim, from `first` on, that gives most parts of a box, its size, the size of a part, and their number. An
    element of the box stands for `each` elements."""
    best, along, volume = (code.variable("i64", value) for value in (1, 0, each))
    with code.loop(0, ndim) as d:
        size = code.load("i64", code.slot(sizes, d))
        code.store("i64", code.register(f"mul i64 {code.load('i64', volume)}, {size}"), volume)
    wanted = parts_of(code, code.load("i64", volume))
    with code.loop(first, ndim) as d:
        parts = code.minimum(code.load("i64", code.slot(sizes, d)), wanted)
        with code.when(code.register(f"icmp sge i64 {parts}, {code.load('i64', best)}")):
            code.store("i64", parts, best)
            code.store("i64", d, along)
    dim, parts = code.load("i64", along), code.load("i64", best)
    size = code.load("i64", code.slot(sizes, dim))
    return dim, size, _chunk(code, size, parts, code.register(f"icmp eq i64 {dim}, 0")), parts


def _chunk(code: Code, size: str, parts: str, inner: str) -> str:
    """The size of a part: whole lines of the cache where it is one of the innermost dim."""
    raised = code.register(f"add i64 {size}, {code.register(f'sub i64 {parts}, 1')}")
    even = code.register(f"udiv i64 {raised}, {parts}")
    rounded = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
    return code.register(f"select i1 {inner}, i64 {rounded}, i64 {even}")


def _share_grid(name: str) -> str:
    code = Code()
    code.line("call void @begin()")
    dim, size, chunk, strips = _split(code, "%each", "%sizes", "%ndim", "%first")
    split = code.register("icmp sgt i64 %ndim, %first")
    chunk = code.register(f"select i1 {split}, i64 {chunk}, i64 {size}")
    strips = code.register(f"select i1 {split}, i64 {strips}, i64 1")
    context = context_of(
        code,
        ("ptr %drive", "ptr %row", "ptr %pointers", "ptr %numbers", "i64 %ndim", "ptr %sizes", "ptr %strides",
         "ptr %itemsizes", "ptr %transfers", "i64 %outputs", f"i64 {dim}", f"i64 {size}", f"i64 {chunk}", "i64 %many"),
    )  # fmt: skip
    failed = code.register(f"call i1 @{name}_run(ptr @grid_part, ptr {context}, i64 {strips})")
    arguments = f"ptr %drive, {DRIVE}, i64 %first, i64 %each"
    return code.function(f"define i1 @{name}_share_grid({arguments})", f"  ret i1 {failed}")


def _grid_part() -> str:
    code = Code()
    kinds = ("ptr",) * 4 + ("i64",) + ("ptr",) * 4 + ("i64",) * 5
    (drive, row, pointers, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, dim, size, chunk,
     many) = fields_of(code, kinds)  # fmt: skip
    moved = code.register(f"alloca ptr, i64 {many}")
    own = code.register(f"alloca [{MAX_DIMS} x i64]")
    fault = code.variable("i1", "false", 1)
    begin, count = range_of(code, size, chunk)
    with code.loop(0, ndim) as d:
        code.store("i64", code.load("i64", code.slot(sizes, d)), code.slot(own, d))
    code.store("i64", count, code.slot(own, dim))
    with code.loop(0, many) as k:
        stride = code.slot(code.slot(strides, code.register(f"mul i64 {ndim}, {k}")), dim)
        place = code.load("ptr", code.slot(pointers, k))
        code.store("ptr", code.at(place, begin, code.load("i64", stride)), code.slot(moved, k))
    with code.when(code.register(f"icmp sgt i64 {count}, 0")):
        found = code.register(
            f"call i1 {drive}(ptr {row}, ptr {moved}, ptr {numbers}, i64 {ndim}, ptr {own}, ptr {strides}, "
            f"ptr {itemsizes}, ptr {transfers}, i64 {outputs}, i64 {many})"
        )
        code.store("i1", found, fault, 1)
    return part_function("grid_part", code, code.load("i1", fault, 1))


def context_of(code: Code, fields: tuple[str, ...]) -> str:
    """A block of 8-byte slots with the fields, given as type and value."""
    block = code.register(f"alloca [{len(fields)} x i64]")
    for k, field in enumerate(fields):
        type, value = field.split(" ")
        code.store(type, value, code.slot(block, k))
    return block


def fields_of(code: Code, types: tuple[str, ...]) -> list[str]:
    """The fields of %context, by their types."""
    return [code.load(type, code.slot("%context", k)) for k, type in enumerate(types)]


def range_of(code: Code, n: str, chunk: str) -> tuple[str, str]:
    """Return where part %k begins and how many of `n` it has; none or fewer at the end."""
    begin = code.register(f"mul i64 %k, {chunk}")
    return begin, code.minimum(code.register(f"sub i64 {n}, {begin}"), chunk)


def part_function(name: str, code: Code, result: str) -> str:
    """The function of part %k."""
    return code.function(f"define internal i1 @{name}(ptr %context, i64 %k)", f"  ret i1 {result}")


STATE_BYTES = (BLOCK_BYTES + 63) // 64 * 64
MOST_PARTS = 64
STRIP, WIDE_STRIP = 1 << 24, 1 << 21
"""Elements of an output between two looks for signals, and where several outputs are reduced at once."""
TRANSPOSED, FEW = 128, 16
"""Outputs that are turned at a time, and the most elements that each may have."""


def _volume(code: Code, most: int) -> tuple[str, str]:
    """The number of reduced elements, and whether they are more than `most` and have a dim."""
    volume = code.load("i64", "%parameters")
    large = code.register(f"icmp ugt i64 {volume}, {most}")
    return volume, code.register(f"and i1 {large}, {code.register('icmp sgt i64 %ndim, 0')}")


def _outermost(code: Code) -> tuple[str, str]:
    """Size and stride of the outermost dim."""
    last = code.register("sub i64 %ndim, 1")
    return code.load("i64", code.slot("%sizes", last)), code.load("i64", code.slot("%strides", last))


def _split_run(name: str) -> str:
    code = Code()
    volume, big = _volume(code, 2 * PART)
    walk = "i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"
    with code.when(code.register(f"xor i1 {big}, true")):
        code.line(f"call void @{name}_each_run(ptr %run, ptr %state, ptr %in, {walk}, i64 0)")
    with code.when(big):
        size, step = _outermost(code)
        strips = code.minimum(code.minimum(parts_of(code, volume), MOST_PARTS), size)
        chunk = _chunk(code, size, strips, code.register("icmp eq i64 %ndim, 1"))
        inner = code.register(f"udiv i64 {volume}, {size}")
        states = code.register(f"alloca i8, i64 {MOST_PARTS * STATE_BYTES}, align 64")
        with code.loop(0, strips) as k:
            place = code.at(states, k, STATE_BYTES)
            code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %state, i64 {BLOCK_BYTES}, i1 0)")
        context = context_of(
            code,
            ("ptr %run", f"ptr {states}", "ptr %in", "i64 %ndim", "ptr %sizes", "ptr %strides",
             "ptr %parameters", f"i64 {size}", f"i64 {chunk}", f"i64 {step}", f"i64 {inner}"),
        )  # fmt: skip
        code.register(f"call i1 @{name}_run(ptr @run_part, ptr {context}, i64 {strips})")
        with code.loop(0, strips) as k:
            code.line(f"call void %join(ptr %state, ptr {code.at(states, k, STATE_BYTES)})")
    arguments = f"ptr %run, ptr %join, ptr %state, ptr %in, {walk}"
    return code.function(f"define void @{name}_split_run({arguments})", "  ret void")


def _run_part() -> str:
    code = Code()
    kinds = ("ptr",) * 3 + ("i64",) + ("ptr",) * 3 + ("i64",) * 4
    run, states, source, ndim, sizes, strides, parameters, size, chunk, step, inner = fields_of(code, kinds)
    begin, count = range_of(code, size, chunk)
    state = code.at(states, "%k", STATE_BYTES)
    left = code.register(
        f"call i1 @walked(ptr {run}, ptr {state}, ptr {source}, i64 {ndim}, ptr {sizes}, ptr {strides}, "
        f"ptr {parameters}, i64 0, i64 {begin}, i64 {count}, i64 {step}, i64 {inner}, i64 {STRIP})"
    )
    return part_function("run_part", code, left)


def _walked(name: str) -> str:
    """@walked: `run` over `count` of the outermost dim from `begin` on, in strips of about `most` elements; whether it
    was left. Elements are counted from `index` on."""
    code = Code()
    own = code.register(f"alloca [{MAX_DIMS} x i64]")
    with code.loop(0, "%ndim") as d:
        code.store("i64", code.load("i64", code.slot("%sizes", d)), code.slot(own, d))
    since = code.variable("i64", code.register("call i64 @clock()"))
    left = code.variable("i1", code.register(f"call i1 @stopped(ptr {since})"), 1)
    within = code.register("call i64 @llvm.umax.i64(i64 %inner, i64 1)")
    few = code.register(f"udiv i64 %most, {within}")
    few = code.register(f"call i64 @llvm.umax.i64(i64 {few}, i64 1)")
    raised = code.register(f"add i64 %count, {few}")
    raised = code.register(f"sub i64 {raised}, 1")
    strips = code.register(f"sdiv i64 {raised}, {few}")
    last = code.register("sub i64 %ndim, 1")
    place = code.slot(own, last)
    several = code.register("icmp sgt i64 %ndim, 1")
    wide = code.register("icmp ugt i64 %inner, %most")
    deeper = code.register(f"and i1 {several}, {wide}")
    with code.loop(0, strips) as strip:
        first = code.register(f"mul i64 {strip}, {few}")
        code.store("i64", code.minimum(code.register(f"sub i64 %count, {first}"), few), place)
        begins = code.register(f"add i64 %begin, {first}")
        index = code.register(f"add i64 %index, {code.register(f'mul i64 {begins}, %inner')}")
        source = code.at("%in", begins, "%step")
        going = code.register(f"xor i1 {code.load('i1', left, 1)}, true")
        with code.when(code.register(f"and i1 {going}, {deeper}")):
            next_dim = code.register(f"sub i64 {last}, 1")
            size, step = (code.load("i64", code.slot(array, next_dim)) for array in ("%sizes", "%strides"))
            inner = code.register(f"udiv i64 %inner, {size}")
            found = code.register(
                f"call i1 @walked(ptr %run, ptr %state, ptr {source}, i64 {last}, ptr %sizes, ptr %strides, "
                f"ptr %parameters, i64 {index}, i64 0, i64 {size}, i64 {step}, i64 {inner}, i64 %most)"
            )
            code.store("i1", found, left, 1)
        shallow = code.register(f"xor i1 {deeper}, true")
        with code.when(code.register(f"and i1 {going}, {shallow}")):
            code.line(
                f"call void @{name}_each_run(ptr %run, ptr %state, ptr {source}, i64 %ndim, ptr {own}, ptr %strides, "
                f"ptr %parameters, i64 {index})"
            )
            code.store("i1", code.register(f"call i1 @stopped(ptr {since})"), left, 1)
    arguments = (
        "ptr %run, ptr %state, ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters, i64 %index, i64 %begin, "
        "i64 %count, i64 %step, i64 %inner, i64 %most"
    )
    return code.function(f"define internal i1 @walked({arguments})", f"  ret i1 {code.load('i1', left, 1)}")


def _strips_run(name: str) -> str:
    code = Code()
    volume, big = _volume(code, WIDE_STRIP)
    walk = "ptr %run, ptr %state, ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"
    with code.when(code.register(f"xor i1 {big}, true")):
        code.line(f"call void @{name}_each_run({walk}, i64 0)")
    with code.when(big):
        size, step = _outermost(code)
        inner = code.register(f"udiv i64 {volume}, {size}")
        code.register(f"call i1 @walked({walk}, i64 0, i64 0, i64 {size}, i64 {step}, i64 {inner}, i64 {WIDE_STRIP})")
    return code.function(f"define void @{name}_strips_run({walk})", "  ret void")


def _transposed_reduction(name: str) -> str:
    code = Code()
    buffer = code.register(f"alloca [{TRANSPOSED * FEW * 16} x i8], align 64")
    outputs = code.register("alloca ptr")
    itemsize = code.load("i64", code.slot("%parameters", ITEMSIZE_SLOT))
    routine, reduction = (code.load("ptr", code.slot("%parameters", slot)) for slot in (TRANSPOSE_SLOT, REDUCTION_SLOT))
    pitch = code.register(f"mul i64 {itemsize}, {TRANSPOSED}")
    step = code.variable("i64", pitch)
    few, stride = code.load("i64", "%sizes"), code.load("i64", "%strides")
    out, out_step = code.load("ptr", "%outs"), code.load("i64", "%out_strides")
    with code.loop(0, "%n", TRANSPOSED) as i:
        count = code.minimum(code.register(f"sub i64 %n, {i}"), TRANSPOSED)
        place = code.at("%in", i, "%in_stride")
        code.line(
            f"call void {routine}(ptr {buffer}, i64 {pitch}, ptr {place}, i64 {count}, i64 {few}, i64 %in_stride, "
            f"i64 {stride})"
        )
        code.store("ptr", code.at(out, i, out_step), outputs)
        code.line(
            f"call void {reduction}(ptr {buffer}, ptr {outputs}, i64 {count}, i64 {itemsize}, ptr %out_strides, i64 1, "
            f"ptr %sizes, ptr {step}, ptr %parameters)"
        )
    arguments = (
        "ptr %in, ptr %outs, i64 %n, i64 %in_stride, ptr %out_strides, i64 %ndim, ptr %sizes, ptr %strides, "
        "ptr %parameters"
    )
    return code.function(f"define void @{name}_transposed_reduction({arguments})", "  ret void")
