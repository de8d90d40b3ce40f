"""IR text that shares large loops out to the pool's threads, part by part, for the entry points of pointwise kernels.

    @share_flat(row, pointers, numbers, n, itemsizes)                           one contiguous run
    @share_grid(row, pointers, numbers, ndim, sizes, strides, itemsizes)  a box, split along one of its dims

A part has about PART elements. What a part computes does not depend on how many threads there are.
"""

from __future__ import annotations

from .code import Code
from .pool import SYMBOL

PART = 32768
MAX_DIMS = 64
RUN = f"declare i1 @{SYMBOL}(ptr, ptr, i64)"


def parts_of(code: Code, volume: str) -> str:
    """How many parts a volume is worth."""
    return code.register(f"udiv i64 {code.register(f'add i64 {volume}, {PART - 1}')}, {PART}")


def share_flat(many: int) -> str:
    """@share_flat and the function of its parts, for `many` operands in memory."""
    code = Code()
    parts = parts_of(code, "%n")
    even = code.register(f"udiv i64 {code.register(f'add i64 %n, {parts}')}, {parts}")
    chunk = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
    context = _context(code, ("ptr %row", "ptr %pointers", "ptr %numbers", "i64 %n", "ptr %itemsizes", f"i64 {chunk}"))
    failed = code.register(f"call i1 @{SYMBOL}(ptr @flat_part, ptr {context}, i64 {parts})")
    head = "define internal i1 @share_flat(ptr %row, ptr %pointers, ptr %numbers, i64 %n, ptr %itemsizes)"
    part = Code()
    row, pointers, numbers, n, itemsizes, size = _fields(part, ("ptr", "ptr", "ptr", "i64", "ptr", "i64"))
    moved = part.register(f"alloca [{many} x ptr]")
    begin, count = _range(part, n, size)
    for k in range(many):
        place = part.load("ptr", part.slot(pointers, k))
        part.store("ptr", part.at(place, begin, part.load("i64", part.slot(itemsizes, k))), part.slot(moved, k))
    fault = part.register("alloca i1")
    part.store("i1", "false", fault, 1)
    with part.when(part.register(f"icmp sgt i64 {count}, 0")):
        found = part.register(f"call i1 {row}(ptr {moved}, ptr {numbers}, i64 {count}, ptr {itemsizes})")
        part.store("i1", found, fault, 1)
    done = part.load("i1", fault, 1)
    return "\n".join([code.function(head, f"  ret i1 {failed}"), _part("flat_part", part, done)])


def share_grid(many: int) -> str:
    """@share_grid and the function of its parts, which call @drive."""
    code = Code()
    wanted, best, along, volume = (code.register("alloca i64") for _ in range(4))
    code.store("i64", 1, volume)
    with code.loop(0, "%ndim") as d:
        size = code.load("i64", code.slot("%sizes", d))
        code.store("i64", code.register(f"mul i64 {code.load('i64', volume)}, {size}"), volume)
    parts = parts_of(code, code.load("i64", volume))
    code.store("i64", parts, wanted)
    code.store("i64", 0, best)
    code.store("i64", 0, along)
    first = code.load("i64", code.slot("%itemsizes", many + 1))
    with code.loop(first, "%ndim") as d:
        pieces = code.minimum(code.load("i64", code.slot("%sizes", d)), code.load("i64", wanted))
        better = code.register(f"icmp sge i64 {pieces}, {code.load('i64', best)}")
        with code.when(better):
            code.store("i64", pieces, best)
            code.store("i64", d, along)
    dim = code.load("i64", along)
    pieces = code.register(f"call i64 @llvm.umax.i64(i64 {code.load('i64', best)}, i64 1)")
    size = code.load("i64", code.slot("%sizes", dim))
    raised = code.register(f"add i64 {size}, {code.register(f'sub i64 {pieces}, 1')}")
    even = code.register(f"udiv i64 {raised}, {pieces}")
    inner = code.register(f"icmp eq i64 {dim}, 0")
    rounded = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
    chunk = code.register(f"select i1 {inner}, i64 {rounded}, i64 {even}")
    split = code.register(f"icmp sgt i64 %ndim, {first}")
    chunk = code.register(f"select i1 {split}, i64 {chunk}, i64 {size}")
    pieces = code.register(f"select i1 {split}, i64 {pieces}, i64 1")
    context = _context(
        code,
        ("ptr %row", "ptr %pointers", "ptr %numbers", "i64 %ndim", "ptr %sizes", "ptr %strides", "ptr %itemsizes",
         f"i64 {dim}", f"i64 {size}", f"i64 {chunk}"),
    )  # fmt: skip
    failed = code.register(f"call i1 @{SYMBOL}(ptr @grid_part, ptr {context}, i64 {pieces})")
    given = "ptr %row, ptr %pointers, ptr %numbers, i64 %ndim, ptr %sizes, ptr %strides, ptr %itemsizes"
    head = f"define internal i1 @share_grid({given})"
    text = code.function(head, f"  ret i1 {failed}")
    return "\n".join([text, _grid_part(many), "declare i64 @llvm.umax.i64(i64, i64)"])


def _grid_part(many: int) -> str:
    part = Code()
    kinds = ("ptr", "ptr", "ptr", "i64", "ptr", "ptr", "ptr", "i64", "i64", "i64")
    row, pointers, numbers, ndim, sizes, strides, itemsizes, dim, size, chunk = _fields(part, kinds)
    moved = part.register(f"alloca [{many} x ptr]")
    own = part.register(f"alloca [{MAX_DIMS} x i64]")
    fault = part.register("alloca i1")
    part.store("i1", "false", fault, 1)
    begin, count = _range(part, size, chunk)
    with part.loop(0, ndim) as d:
        part.store("i64", part.load("i64", part.slot(sizes, d)), part.slot(own, d))
    part.store("i64", count, part.slot(own, dim))
    for k in range(many):
        stride = part.slot(part.slot(strides, part.register(f"mul i64 {ndim}, {k}")), dim)
        place = part.load("ptr", part.slot(pointers, k))
        part.store("ptr", part.at(place, begin, part.load("i64", stride)), part.slot(moved, k))
    with part.when(part.register(f"icmp sgt i64 {count}, 0")):
        found = part.register(
            f"call i1 @drive(ptr {row}, ptr {moved}, ptr {numbers}, i64 {ndim}, ptr {own}, ptr {strides}, "
            f"ptr {itemsizes})"
        )
        part.store("i1", found, fault, 1)
    return _part("grid_part", part, part.load("i1", fault, 1))


def _context(code: Code, fields: tuple[str, ...]) -> str:
    """A block of 8-byte slots with the fields, given as type and value."""
    block = code.register(f"alloca [{len(fields)} x i64]")
    for k, field in enumerate(fields):
        type, value = field.split(" ")
        code.store(type, value, code.slot(block, k))
    return block


def _fields(code: Code, types: tuple[str, ...]) -> list[str]:
    return [code.load(type, code.slot("%context", k)) for k, type in enumerate(types)]


def _range(code: Code, n: str, chunk: str) -> tuple[str, str]:
    """Where part %k begins and how many of `n` it has; none or fewer at the end."""
    begin = code.register(f"mul i64 %k, {chunk}")
    return begin, code.minimum(code.register(f"sub i64 {n}, {begin}"), chunk)


def _part(name: str, code: Code, result: str) -> str:
    return code.function(f"define internal i1 @{name}(ptr %context, i64 %k)", f"  ret i1 {result}")
