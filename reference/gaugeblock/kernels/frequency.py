"""LLVM IR that finds the most frequent of the keys of a row, by a hash table of those that have been seen.

A slot of the table holds the place of the first element with a key, counted from 1, or 0. Beside the table there is a
counter for each place. The table is at least twice as long as the row, and looked through from the slot of a key on.
"""

from __future__ import annotations

from .code import Code, Declarations

_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)


def table_words(size: int) -> int:
    """Return the 64-bit words of the counters and the table for rows of `size` elements, at least one."""
    return size + (1 << (2 * size - 1).bit_length())


def most_frequent(
    code: Code, declarations: Declarations, keys: str, bits: int, memory: str, *, with_nan: bool
) -> str:
    """Return the last place of the most frequent of %n keys of so many bits, the smallest of several. `with_nan` the
    largest key equals nothing: it is found at the first place, if there is no other."""
    type = f"i{bits}"
    declarations["memset"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    declarations["ctlz"] = "declare i64 @llvm.ctlz.i64(i64, i1)"
    table = code.slot(memory, "%n")
    most = code.register(f"sub i64 {code.register('shl i64 %n, 1')}, 1")
    shift = code.register(f"call i64 @llvm.ctlz.i64(i64 {most}, i1 false)")
    last = code.register(f"lshr i64 -1, {shift}")
    nbytes = code.register(f"shl i64 {code.register(f'add i64 {last}, 1')}, 3")
    code.line(f"call void @llvm.memset.p0.i64(ptr {table}, i8 0, i64 {nbytes}, i1 false)")
    with code.carry(0, "%n", 1, [("i64", "0"), (type, "-1")]) as loop:
        best, found = loop.values
        key = code.load(type, code.at(keys, loop.index, bits // 8), bits // 8)
        wide = key if bits == 64 else code.register(f"zext {type} {key} to i64")
        if bits == 64:
            wide = code.register(f"xor i64 {wide}, {code.register(f'lshr i64 {wide}, 32')}")
        start = code.register(f"lshr i64 {code.register(f'mul i64 {wide}, {_GOLDEN}')}, {shift}")
        before, look, done = code.block, code.label(), code.label()
        code.jump(look)
        code.begin(look)
        slot, following = f"%{look}.slot", f"%{look}.next"
        code.line(f"{slot} = phi i64 [{start}, %{before}], [{following}, %{look}]")
        place = code.load("i64", code.slot(table, slot))
        unseen = code.register(f"icmp eq i64 {place}, 0")
        first = code.register(f"select i1 {unseen}, i64 {loop.index}, i64 {code.register(f'sub i64 {place}, 1')}")
        held = code.load(type, code.at(keys, first, bits // 8), bits // 8)
        code.line(f"{following} = and i64 {code.register(f'add i64 {slot}, 1')}, {last}")
        code.branch(code.register(f"icmp eq {type} {held}, {key}"), done, look)
        code.begin(done)
        code.store("i64", code.register(f"add i64 {first}, 1"), code.slot(table, slot))
        counter = code.slot(memory, first)
        count = code.register(f"select i1 {unseen}, i64 0, i64 {code.load('i64', counter)}")
        count = code.register(f"add i64 {count}, 1")
        code.store("i64", count, counter)
        if with_nan:
            nan = code.register(f"icmp eq {type} {key}, -1")
            count = code.register(f"select i1 {nan}, i64 0, i64 {count}")
        tied = code.register(f"icmp eq i64 {count}, {best}")
        tied = code.register(f"and i1 {tied}, {code.register(f'icmp ult {type} {key}, {found}')}")
        more = code.register(f"or i1 {tied}, {code.register(f'icmp sgt i64 {count}, {best}')}")
        loop.following = [
            code.register(f"select i1 {more}, i64 {count}, i64 {best}"),
            code.register(f"select i1 {more}, {type} {key}, {type} {found}"),
        ]
    best, found = loop.results
    return _last_place(code, keys, bits, found, best)


def _last_place(code: Code, keys: str, bits: int, key: str, count: str) -> str:
    """Return the last place of a key that is there; the first of all if its count is 0."""
    before, look, done = code.block, code.label(), code.label()
    code.jump(look)
    code.begin(look)
    end, place = f"%{look}.end", f"%{look}.place"
    code.line(f"{end} = phi i64 [%n, %{before}], [{place}, %{look}]")
    code.line(f"{place} = sub i64 {end}, 1")
    held = code.load(f"i{bits}", code.at(keys, place, bits // 8), bits // 8)
    code.branch(code.register(f"icmp eq i{bits} {held}, {key}"), done, look)
    code.begin(done)
    some = code.register(f"icmp ne i64 {count}, 0")
    return code.register(f"select i1 {some}, i64 {place}, i64 0")
