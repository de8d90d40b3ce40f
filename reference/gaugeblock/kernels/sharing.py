"""IR text that shares large loops out to the pool's threads, part by part; one text for every number of operands.

    @NAME_share_flat(row, pointers, numbers, n, itemsizes, many)
    @NAME_share_grid(drive, row, pointers, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, many)

The first splits one contiguous run, the second a box along one of its dims, from the one on that stands in the slot
after the driver behind the item sizes. A part has about PART elements: what it computes does not depend on how many
threads there are.
"""

from __future__ import annotations

from .code import Code

PART = 32768
MAX_DIMS = 64


def text(name: str) -> str:
    """The functions of this module; @NAME_run and @begin are the pool's."""
    return "\n".join([_share_flat(name), _flat_part(), _share_grid(name), _grid_part(), _DECLARATIONS])


_DECLARATIONS = "declare i64 @llvm.umax.i64(i64, i64)"


def first_row(operands: int, pointers: str, strides: str, ndim: str) -> list[str]:
    """Return what precedes the rows of a box: the step of each operand along the first dim is stored in %steps, and the
    dims' %counters are set to 0. It follows the block %entry and begins the block %rows."""
    lines = []
    for k in range(operands):
        lines += [
            f"  %at_{k} = getelementptr ptr, ptr {pointers}, i64 {k}",
            f"  %base_{k} = mul i64 {ndim}, {k}",
            f"  %row_{k} = getelementptr i64, ptr {strides}, i64 %base_{k}",
            f"  %step_{k} = load i64, ptr %row_{k}",
            f"  %step_place_{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  store i64 %step_{k}, ptr %step_place_{k}",
        ]
    return [
        *lines,
        "  br label %clear",
        "clear:",
        "  %c = phi i64 [0, %entry], [%c_next, %clear]",
        "  %c_place = getelementptr i64, ptr %counters, i64 %c",
        "  store i64 0, ptr %c_place",
        "  %c_next = add i64 %c, 1",
        f"  %c_more = icmp slt i64 %c_next, {ndim}",
        "  br i1 %c_more, label %clear, label %rows",
        "rows:",
    ]


def parts_of(code: Code, volume: str) -> str:
    """How many parts a volume is worth."""
    return code.register(f"udiv i64 {code.register(f'add i64 {volume}, {PART - 1}')}, {PART}")


def _share_flat(name: str) -> str:
    code = Code()
    code.line("call void @begin()")
    parts = parts_of(code, "%n")
    even = code.register(f"udiv i64 {code.register(f'add i64 %n, {parts}')}, {parts}")
    chunk = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
    fields = ("ptr %row", "ptr %pointers", "ptr %numbers", "i64 %n", "ptr %itemsizes", f"i64 {chunk}", "i64 %many")
    context = context_of(code, fields)
    failed = code.register(f"call i1 @{name}_run(ptr @flat_part, ptr {context}, i64 {parts})")
    arguments = "ptr %row, ptr %pointers, ptr %numbers, i64 %n, ptr %itemsizes, i64 %many"
    return code.function(f"define i1 @{name}_share_flat({arguments})", f"  ret i1 {failed}")


def _flat_part() -> str:
    code = Code()
    kinds = ("ptr", "ptr", "ptr", "i64", "ptr", "i64", "i64")
    row, pointers, numbers, n, itemsizes, size, many = fields_of(code, kinds)
    moved = code.register(f"alloca ptr, i64 {many}")
    fault = _no_fault(code)
    begin, count = range_of(code, n, size)
    with code.loop(0, many) as k:
        place = code.load("ptr", code.slot(pointers, k))
        code.store("ptr", code.at(place, begin, code.load("i64", code.slot(itemsizes, k))), code.slot(moved, k))
    with code.when(code.register(f"icmp sgt i64 {count}, 0")):
        found = code.register(f"call i1 {row}(ptr {moved}, ptr {numbers}, i64 {count}, ptr {itemsizes})")
        code.store("i1", found, fault, 1)
    return part_function("flat_part", code, code.load("i1", fault, 1))


def _share_grid(name: str) -> str:
    code = Code()
    code.line("call void @begin()")
    wanted, best, along, volume = (code.register("alloca i64") for _ in range(4))
    code.store("i64", 1, volume)
    with code.loop(0, "%ndim") as d:
        size = code.load("i64", code.slot("%sizes", d))
        code.store("i64", code.register(f"mul i64 {code.load('i64', volume)}, {size}"), volume)
    code.store("i64", parts_of(code, code.load("i64", volume)), wanted)
    code.store("i64", 0, best)
    code.store("i64", 0, along)
    first = code.load("i64", code.slot("%itemsizes", code.register("add i64 %many, 1")))
    with code.loop(first, "%ndim") as d:
        pieces = code.minimum(code.load("i64", code.slot("%sizes", d)), code.load("i64", wanted))
        better = code.register(f"icmp sge i64 {pieces}, {code.load('i64', best)}")
        with code.when(better):
            code.store("i64", pieces, best)
            code.store("i64", d, along)
    dim = code.load("i64", along)
    size = code.load("i64", code.slot("%sizes", dim))
    pieces = code.register(f"call i64 @llvm.umax.i64(i64 {code.load('i64', best)}, i64 1)")
    raised = code.register(f"add i64 {size}, {code.register(f'sub i64 {pieces}, 1')}")
    even = code.register(f"udiv i64 {raised}, {pieces}")
    inner = code.register(f"icmp eq i64 {dim}, 0")
    rounded = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
    chunk = code.register(f"select i1 {inner}, i64 {rounded}, i64 {even}")
    split = code.register(f"icmp sgt i64 %ndim, {first}")
    chunk = code.register(f"select i1 {split}, i64 {chunk}, i64 {size}")
    pieces = code.register(f"select i1 {split}, i64 {pieces}, i64 1")
    context = context_of(
        code,
        ("ptr %drive", "ptr %row", "ptr %pointers", "ptr %numbers", "i64 %ndim", "ptr %sizes", "ptr %strides",
         "ptr %itemsizes", "ptr %transfers", "i64 %outputs", f"i64 {dim}", f"i64 {size}", f"i64 {chunk}", "i64 %many"),
    )  # fmt: skip
    failed = code.register(f"call i1 @{name}_run(ptr @grid_part, ptr {context}, i64 {pieces})")
    arguments = (
        "ptr %drive, ptr %row, ptr %pointers, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides, ptr %itemsizes, "
        "ptr %transfers, i64 %outputs, i64 %many"
    )
    return code.function(f"define i1 @{name}_share_grid({arguments})", f"  ret i1 {failed}")


def _grid_part() -> str:
    code = Code()
    kinds = ("ptr",) * 4 + ("i64",) + ("ptr",) * 4 + ("i64",) * 5
    (drive, row, pointers, numbers, ndim, sizes, strides, itemsizes, transfers, outputs, dim, size, chunk,
     many) = fields_of(code, kinds)  # fmt: skip
    moved = code.register(f"alloca ptr, i64 {many}")
    own = code.register(f"alloca [{MAX_DIMS} x i64]")
    fault = _no_fault(code)
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


def _no_fault(code: Code) -> str:
    place = code.register("alloca i1")
    code.store("i1", "false", place, 1)
    return place


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
    """Where part %k begins and how many of `n` it has; none or fewer at the end."""
    begin = code.register(f"mul i64 %k, {chunk}")
    return begin, code.minimum(code.register(f"sub i64 {n}, {begin}"), chunk)


def part_function(name: str, code: Code, result: str) -> str:
    """The function of part %k."""
    return code.function(f"define internal i1 @{name}(ptr %context, i64 %k)", f"  ret i1 {result}")
