"""What a free gives back, what it refuses, and what no sequence of requests and frees may break."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as hs

from ..backend_allocator import Pointer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import BASIC, EVERYTHING, SIZES, STREAMS, Follower, programs
from .rules import MIB, up

LIVE, FREE = "active_allocated", "inactive"
TWO = 2 * MIB

_GAPS = "[[a['address'] + a['size'] - b['address'] for a, b in zip(g['blocks'], g['blocks'][1:])] for g in {}]"
_ENDS = (
    "[(g['blocks'][0]['address'] - g['address'], g['total_size'] - sum(b['size'] for b in g['blocks'])) for g in {}]"
)
_TWINS = "sum(a['state'] == b['state'] == 'inactive' for g in {} for a, b in zip(g['blocks'], g['blocks'][1:]))"


@requirement("allocator/free-neighbours-merge")
def test_neighbours_on_both_sides(s: Session) -> None:
    g = Ground(s)
    a, b, c, d = (g.malloc(512 * n) for n in (1, 2, 3, 4))
    tail = TWO - 5120
    g.free(a)
    g.expect_blocks([(512, FREE), (1024, LIVE), (1536, LIVE), (2048, LIVE), (tail, FREE)])
    g.free(c)
    g.expect_blocks([(512, FREE), (1024, LIVE), (1536, FREE), (2048, LIVE), (tail, FREE)])
    g.free(b)
    g.expect_blocks([(3072, FREE), (2048, LIVE), (tail, FREE)])
    g.free(d)
    g.expect_blocks([(TWO, FREE)])


@requirement("allocator/free-neighbours-merge")
@forall(
    counts=hs.lists(hs.integers(1, 300), min_size=1, max_size=7), order=hs.permutations(range(7)), large=hs.booleans()
)
def test_freed_in_any_order(s: Session, counts: list[int], order: list[int], large: bool) -> None:
    g = Ground(s)
    unit = MIB + 512 if large else 512
    held = [g.malloc(unit * (1 + n % 3) if large else unit * n) for n in counts]
    for k in order:
        if k < len(held):
            g.free(held[k])
    whole = [[(b["size"], b["state"]) for b in seg["blocks"]] for seg in g.snapshot()]
    text = "[len(g['blocks']) for g in {}]"
    g.expect([len(blocks) for blocks in whole], [1] * len(whole), "blocks of each segment", text)
    g.expect_figures(active=0, inactive_split=0, inactive_split_bytes=0)


@requirement("allocator/free-neighbours-merge")
@forall(code=programs(), weight=0.5)
def test_no_inactive_neighbours(s: Session, code: bytes) -> None:
    follower = Follower(s)

    def look() -> None:
        segments = follower.ground.snapshot()
        twins = sum(a["state"] == b["state"] == FREE for g in segments for a, b in _pairs(g))
        follower.ground.expect(twins, 0, "inactive blocks whose next block is inactive", _TWINS)

    follower.run(code, BASIC, look)


def _pairs(segment: Mapping[str, Any]) -> Any:
    return zip(segment["blocks"], segment["blocks"][1:], strict=False)


@requirement("allocator/blocks-tile-their-segment")
def test_tiles_of_two_segments(s: Session) -> None:
    g = Ground(s)
    held = [g.malloc(size) for size in (700, 3 * MIB, 1025, 5 * MIB, 100)]
    _expect_tiles(g)
    g.free(held[1], held[2])
    _expect_tiles(g)


@requirement("allocator/blocks-tile-their-segment")
@forall(code=programs(), weight=0.5)
def test_tiles_of_programs(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: _expect_tiles(follower.ground))


@requirement("allocator/blocks-tile-their-segment", needs=("alloc.streams", "alloc.faults"))
@forall(code=programs(), weight=0.5, memory=hs.sampled_from((22 * MIB, 42 * MIB, 64 * MIB, 4096 * MIB)))
def test_tiles_of_programs_with_all_actions(s: Session, code: bytes, memory: int) -> None:
    follower = Follower(s, memory=memory, streams=2)
    follower.run(code, EVERYTHING, lambda: _expect_tiles(follower.ground))


def _expect_tiles(g: Ground) -> None:
    segments = g.snapshot()
    gaps = [[a["address"] + a["size"] - b["address"] for a, b in _pairs(seg)] for seg in segments]
    g.expect(gaps, [[0] * len(row) for row in gaps], "bytes by which blocks overlap the next one", _GAPS)
    ends = [(e["blocks"][0]["address"] - e["address"], e["total_size"] - sum(b["size"] for b in e["blocks"]))
            for e in segments]  # fmt: skip
    g.expect(ends, [(0, 0)] * len(ends), "bytes before the first block and behind the last one", _ENDS)
    odd = sum(b["size"] % 512 or b["address"] % 512 for seg in segments for b in seg["blocks"])
    text = "sum(b['size'] % 512 or b['address'] % 512 for g in {} for b in g['blocks'])"
    g.expect(odd, 0, "bytes by which blocks miss multiples of 512", text)


@requirement("allocator/live-memory-does-not-overlap")
def test_three_pieces(s: Session) -> None:
    g = Ground(s)
    held = [(g.malloc(size), size) for size in (1000, 513, 3 * MIB)]
    _expect_apart(g, held)


@requirement("allocator/live-memory-does-not-overlap")
@forall(steps=hs.lists(hs.tuples(hs.booleans(), hs.integers(0, 255)), max_size=30))
def test_requests_and_frees(s: Session, steps: list[tuple[bool, int]]) -> None:
    g = Ground(s)
    held: list[tuple[Pointer, int]] = []
    for freed, number in steps:
        if freed and held:
            g.free(held.pop(number % len(held))[0])
            continue
        size = SIZES[number % len(SIZES)]
        held.append((g.malloc(size), size))
        _expect_apart(g, held)


@requirement("allocator/live-memory-does-not-overlap", needs=("alloc.streams",))
@forall(code=programs(), weight=0.5)
def test_apart_with_streams(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)

    def look() -> None:
        live = follower.model.live
        _expect_apart(follower.ground, [(p, live[int(p)].size) for p in follower.live])

    follower.run(code, STREAMS, look)


def _expect_apart(g: Ground, held: list[tuple[Pointer, int]]) -> None:
    s = g.s
    if not held:
        return
    pointer = held[-1][0]
    name = s.name_of(pointer)
    g.s.expect(int(pointer) % 512, 0, "address modulo 512", f"int({name}) % 512", g.names(pointer))
    for other, size in held[:-1]:
        distance = int(pointer) - int(other)
        if -up(held[-1][1], 512) < distance < up(size, 512):
            text = f"int({name}) - int({s.name_of(other)})"
            want = f"not {-held[-1][1]} < {text} < {size}"
            s.expect(False, True, f"live blocks of {size} and {held[-1][1]} bytes lie {distance} bytes apart", want,
                     g.names(pointer, other))  # fmt: skip


@requirement("allocator/foreign-pointers-are-refused")
def test_double_free(s: Session) -> None:
    g = Ground(s)
    kept, pointer = g.malloc(1000), g.malloc(2000)
    g.free(pointer)
    s.expect_raises(RuntimeError, "free", g.allocator, pointer)
    g.expect_figures(allocation=1, allocated_bytes=1024, active=1, allocation__all__freed=1)
    g.free(kept)
    g.expect_figures(allocation=0)
    s.expect_raises(RuntimeError, "free", g.allocator, kept)
    whole = g.malloc(4096)
    s.expect_raises(RuntimeError, "free", g.allocator, Pointer(int(whole) + 512))
    g.expect_figures(allocation=1, allocated_bytes=4096)


@requirement("allocator/foreign-pointers-are-refused")
@forall(offset=hs.sampled_from((1, 8, 511, 512, 1024, 4096, TWO - 512, TWO, -512, 2**40)), freed=hs.booleans())
def test_pointers_of_nobody(s: Session, offset: int, freed: bool) -> None:
    g = Ground(s)
    pointer = g.malloc(1024)
    other = g.malloc(512)
    if freed:
        g.free(other)
    foreign = Pointer(int(pointer) + offset)
    if int(foreign) == int(other) and not freed:
        return
    s.expect_raises(RuntimeError, "free", g.allocator, foreign)
    g.expect_figures(allocation=2 - freed, allocated_bytes=1024 if freed else 1536)
    g.expect_blocks([(1024, LIVE), (TWO - 1024, FREE)] if freed else [(1024, LIVE), (512, LIVE), (TWO - 1536, FREE)])


@requirement("allocator/fragmentation-shows")
@forall(count=hs.integers(2, 30))
def test_holes(s: Session, count: int) -> None:
    g = Ground(s)
    unit = 32 * 1024
    held = [g.malloc(unit) for _ in range(64)]
    holes = [k for k in range(0, 2 * count, 2) if k < 64]
    for k in holes:
        g.free(held[k])
    g.expect_figures(inactive_split=len(holes), inactive_split_bytes=unit * len(holes), segment=1)
    g.malloc(2 * unit)
    g.expect_figures(inactive_split_bytes=unit * len(holes) + TWO - 2 * unit, segment=2)
    for k in range(64):
        if k not in holes:
            g.free(held[k])
    g.expect_figures(inactive_split=1, inactive_split_bytes=TWO - 2 * unit, active=1)
