"""IR text that shares reductions out to the pool's threads: outputs among parts, or the elements of one output.

    @NAME_share_kept(kept, fold, in, outs, nkeep, keep_sizes, keep_strides, out_strides, ndim, sizes, strides,
                     parameters, outputs) -> i1
    @NAME_split_run(run, merge, join, state, in, ndim, sizes, strides, parameters)
    @NAME_pieces_run(run, state, in, ndim, sizes, strides, parameters)
    @NAME_turned_fold(in, outs, n, in_stride, out_strides, ndim, sizes, strides, parameters)

The second folds the elements of one output into `state`. Many elements are folded part by part, along the outermost
dim, each part into a state of its own, and these are joined in order: the parts, and so the bits of the result, are
the same for every number of threads.

The third folds them in one go, as the function that walks over the reduced dims does, but piece by piece: this one and
the second look for signals after each piece, and leave the rest out once there was one.

The fourth stands in for a fold whose outputs each have few elements, side by side in one reduced dim: TURNED outputs at
a time are turned, so that the fold itself finds the elements of neighbouring outputs side by side.
"""

from __future__ import annotations

from .code import Code
from .fold import BLOCK_BYTES, FOLD_SLOT, ITEMSIZE_SLOT, SCALAR_BYTES, TURN_SLOT
from .sharing import MAX_DIMS, PART, context_of, fields_of, part_function, parts_of, range_of

STATE_BYTES = (BLOCK_BYTES + 63) // 64 * 64
MOST_PARTS = 64
PIECE, WIDE_PIECE = 1 << 24, 1 << 21
"""Elements of an output between two looks for signals, and where several outputs are folded at once."""
TURNED, FEW = 128, 16
"""Outputs that are turned at a time, and the most elements that each may have."""


def text(name: str) -> str:
    """The functions of this module; @NAME_run is the pool's, @NAME_each_run the walk over reduced dims."""
    memcpy = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
    runs = [_split_run(name), _run_part(), _walked(name), _pieces_run(name)]
    return "\n".join([_share_kept(name), _kept_part(), *runs, _turned_fold(name), memcpy])


def _share_kept(name: str) -> str:
    code = Code()
    code.line("call void @begin()")
    best, along, volume = (code.register("alloca i64") for _ in range(3))
    code.store("i64", code.load("i64", "%parameters"), volume)
    with code.loop(0, "%nkeep") as d:
        size = code.load("i64", code.slot("%keep_sizes", d))
        code.store("i64", code.register(f"mul i64 {code.load('i64', volume)}, {size}"), volume)
    wanted = parts_of(code, code.load("i64", volume))
    code.store("i64", 1, best)
    code.store("i64", 0, along)
    with code.loop(0, "%nkeep") as d:
        pieces = code.minimum(code.load("i64", code.slot("%keep_sizes", d)), wanted)
        with code.when(code.register(f"icmp sge i64 {pieces}, {code.load('i64', best)}")):
            code.store("i64", pieces, best)
            code.store("i64", d, along)
    dim, pieces = code.load("i64", along), code.load("i64", best)
    size = code.load("i64", code.slot("%keep_sizes", dim))
    even = code.register(f"udiv i64 {code.register(f'add i64 {size}, {pieces}')}, {pieces}")
    inner = code.register(f"icmp eq i64 {dim}, 0")
    rounded = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
    chunk = code.register(f"select i1 {inner}, i64 {rounded}, i64 {even}")
    given = ("ptr %kept", "ptr %fold", "ptr %in", "ptr %outs", "i64 %nkeep", "ptr %keep_sizes", "ptr %keep_strides",
             "ptr %out_strides", "i64 %ndim", "ptr %sizes", "ptr %strides", "ptr %parameters",
             "i64 %outputs")  # fmt: skip
    context = context_of(code, (*given, f"i64 {dim}", f"i64 {size}", f"i64 {chunk}"))
    failed = code.register("alloca i1")
    code.store("i1", "false", failed, 1)
    alone = code.register("icmp eq i64 %nkeep, 0")
    with code.when(alone):
        code.register(f"call i1 %kept({', '.join(given[1:-1])})")
    with code.when(code.register(f"xor i1 {alone}, true")):
        code.register(f"call i1 @{name}_run(ptr @kept_part, ptr {context}, i64 {pieces})")
    return code.function(f"define i1 @{name}_share_kept({', '.join(given)})", "  ret i1 false")


def _kept_part() -> str:
    code = Code()
    kinds = ("ptr",) * 4 + ("i64",) + ("ptr",) * 3 + ("i64",) + ("ptr",) * 3 + ("i64",) * 4
    (kept, fold, source, outs, nkeep, keep_sizes, keep_strides, out_strides, ndim, sizes, strides, parameters, outputs,
     dim, size, chunk) = fields_of(code, kinds)  # fmt: skip
    moved = code.register(f"alloca ptr, i64 {outputs}")
    own = code.register(f"alloca [{MAX_DIMS} x i64]")
    block = code.register(f"alloca [{BLOCK_BYTES} x i8], align 64")
    code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {block}, ptr {parameters}, i64 {SCALAR_BYTES}, i1 0)")
    begin, count = range_of(code, size, chunk)
    with code.loop(0, nkeep) as d:
        code.store("i64", code.load("i64", code.slot(keep_sizes, d)), code.slot(own, d))
    code.store("i64", count, code.slot(own, dim))
    with code.loop(0, outputs) as k:
        stride = code.slot(code.slot(out_strides, code.register(f"mul i64 {nkeep}, {k}")), dim)
        place = code.load("ptr", code.slot(outs, k))
        code.store("ptr", code.at(place, begin, code.load("i64", stride)), code.slot(moved, k))
    first = code.at(source, begin, code.load("i64", code.slot(keep_strides, dim)))
    with code.when(code.register(f"icmp sgt i64 {count}, 0")):
        code.register(
            f"call i1 {kept}(ptr {fold}, ptr {first}, ptr {moved}, i64 {nkeep}, ptr {own}, ptr {keep_strides}, "
            f"ptr {out_strides}, i64 {ndim}, ptr {sizes}, ptr {strides}, ptr {block})"
        )
    return part_function("kept_part", code, "false")


def _split_run(name: str) -> str:
    code = Code()
    volume = code.load("i64", "%parameters")
    large = code.register(f"icmp ugt i64 {volume}, {2 * PART}")
    deep = code.register("icmp sgt i64 %ndim, 0")
    big = code.register(f"and i1 {large}, {deep}")
    walk = "i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"
    with code.when(code.register(f"xor i1 {big}, true")):
        code.line(f"call void @{name}_each_run(ptr %run, ptr %state, ptr %in, {walk}, i64 0)")
        code.line("call void %merge(ptr %state)")
    with code.when(big):
        last = code.register("sub i64 %ndim, 1")
        size = code.load("i64", code.slot("%sizes", last))
        step = code.load("i64", code.slot("%strides", last))
        pieces = code.minimum(code.minimum(parts_of(code, volume), MOST_PARTS), size)
        even = code.register(f"udiv i64 {code.register(f'add i64 {size}, {pieces}')}, {pieces}")
        flat = code.register("icmp eq i64 %ndim, 1")
        rounded = code.register(f"and i64 {code.register(f'add i64 {even}, 63')}, -64")
        chunk = code.register(f"select i1 {flat}, i64 {rounded}, i64 {even}")
        inner = code.register(f"udiv i64 {volume}, {size}")
        states = code.register(f"alloca i8, i64 {MOST_PARTS * STATE_BYTES}, align 64")
        with code.loop(0, pieces) as k:
            place = code.at(states, k, STATE_BYTES)
            code.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {place}, ptr %state, i64 {BLOCK_BYTES}, i1 0)")
        context = context_of(
            code,
            ("ptr %run", "ptr %merge", f"ptr {states}", "ptr %in", "i64 %ndim", "ptr %sizes", "ptr %strides",
             "ptr %parameters", f"i64 {size}", f"i64 {chunk}", f"i64 {step}", f"i64 {inner}"),
        )  # fmt: skip
        code.register(f"call i1 @{name}_run(ptr @run_part, ptr {context}, i64 {pieces})")
        with code.loop(0, pieces) as k:
            code.line(f"call void %join(ptr %state, ptr {code.at(states, k, STATE_BYTES)})")
    arguments = f"ptr %run, ptr %merge, ptr %join, ptr %state, ptr %in, {walk}"
    return code.function(f"define void @{name}_split_run({arguments})", "  ret void")


def _run_part() -> str:
    code = Code()
    kinds = ("ptr",) * 4 + ("i64",) + ("ptr",) * 3 + ("i64",) * 4
    run, merge, states, source, ndim, sizes, strides, parameters, size, chunk, step, inner = fields_of(code, kinds)
    begin, count = range_of(code, size, chunk)
    state = code.at(states, "%k", STATE_BYTES)
    left = code.register(
        f"call i1 @walked(ptr {run}, ptr {state}, ptr {source}, i64 {ndim}, ptr {sizes}, ptr {strides}, "
        f"ptr {parameters}, i64 0, i64 {begin}, i64 {count}, i64 {step}, i64 {inner}, i64 {PIECE})"
    )
    code.line(f"call void {merge}(ptr {state})")
    return part_function("run_part", code, left)


def _walked(name: str) -> str:
    """@walked: `run` over `count` of the outermost dim from `begin` on, in pieces of about `most` elements; whether it
    was left. Elements are counted from `index` on."""
    code = Code()
    own = code.register(f"alloca [{MAX_DIMS} x i64]")
    with code.loop(0, "%ndim") as d:
        code.store("i64", code.load("i64", code.slot("%sizes", d)), code.slot(own, d))
    since, left = code.register("alloca i64"), code.register("alloca i1")
    code.store("i64", code.register("call i64 @clock()"), since)
    code.store("i1", code.register(f"call i1 @stopped(ptr {since})"), left, 1)
    within = code.register("call i64 @llvm.umax.i64(i64 %inner, i64 1)")
    few = code.register(f"udiv i64 %most, {within}")
    few = code.register(f"call i64 @llvm.umax.i64(i64 {few}, i64 1)")
    raised = code.register(f"add i64 %count, {few}")
    raised = code.register(f"sub i64 {raised}, 1")
    pieces = code.register(f"sdiv i64 {raised}, {few}")
    last = code.register("sub i64 %ndim, 1")
    place = code.slot(own, last)
    several = code.register("icmp sgt i64 %ndim, 1")
    wide = code.register("icmp ugt i64 %inner, %most")
    deeper = code.register(f"and i1 {several}, {wide}")
    with code.loop(0, pieces) as piece:
        first = code.register(f"mul i64 {piece}, {few}")
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


def _pieces_run(name: str) -> str:
    code = Code()
    volume = code.load("i64", "%parameters")
    large = code.register(f"icmp ugt i64 {volume}, {WIDE_PIECE}")
    deep = code.register("icmp sgt i64 %ndim, 0")
    big = code.register(f"and i1 {large}, {deep}")
    walk = "ptr %run, ptr %state, ptr %in, i64 %ndim, ptr %sizes, ptr %strides, ptr %parameters"
    with code.when(code.register(f"xor i1 {big}, true")):
        code.line(f"call void @{name}_each_run({walk}, i64 0)")
    with code.when(big):
        last = code.register("sub i64 %ndim, 1")
        size = code.load("i64", code.slot("%sizes", last))
        step = code.load("i64", code.slot("%strides", last))
        inner = code.register(f"udiv i64 {volume}, {size}")
        code.register(f"call i1 @walked({walk}, i64 0, i64 0, i64 {size}, i64 {step}, i64 {inner}, i64 {WIDE_PIECE})")
    return code.function(f"define void @{name}_pieces_run({walk})", "  ret void")


def _turned_fold(name: str) -> str:
    code = Code()
    buffer = code.register(f"alloca [{TURNED * FEW * 16} x i8], align 64")
    step = code.register("alloca i64")
    outputs = code.register("alloca ptr")
    itemsize = code.load("i64", code.slot("%parameters", ITEMSIZE_SLOT))
    routine, fold = (code.load("ptr", code.slot("%parameters", slot)) for slot in (TURN_SLOT, FOLD_SLOT))
    pitch = code.register(f"mul i64 {itemsize}, {TURNED}")
    code.store("i64", pitch, step)
    few, stride = code.load("i64", "%sizes"), code.load("i64", "%strides")
    out, out_step = code.load("ptr", "%outs"), code.load("i64", "%out_strides")
    with code.loop(0, "%n", TURNED) as i:
        count = code.minimum(code.register(f"sub i64 %n, {i}"), TURNED)
        place = code.at("%in", i, "%in_stride")
        code.line(
            f"call void {routine}(ptr {buffer}, i64 {pitch}, ptr {place}, i64 {count}, i64 {few}, i64 %in_stride, "
            f"i64 {stride})"
        )
        code.store("ptr", code.at(out, i, out_step), outputs)
        code.line(
            f"call void {fold}(ptr {buffer}, ptr {outputs}, i64 {count}, i64 {itemsize}, ptr %out_strides, i64 1, "
            f"ptr %sizes, ptr {step}, ptr %parameters)"
        )
    arguments = (
        "ptr %in, ptr %outs, i64 %n, i64 %in_stride, ptr %out_strides, i64 %ndim, ptr %sizes, ptr %strides, "
        "ptr %parameters"
    )
    return code.function(f"define void @{name}_turned_fold({arguments})", "  ret void")
