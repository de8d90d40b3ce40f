"""Expandable segments, private pools, and the history of an allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as hs

from ..backend_allocator import Machine
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import SIZES
from .rules import MIB, up
from .test_snapshots import expect_agreement

TWO = 2 * MIB
EXPANDABLE = Machine(config="expandable_segments:True")
_RUNS = "[(g['is_expandable'], g['total_size']) for g in {}]"


@requirement("allocator/expandable-segments-grow")
def test_large_blocks_behind_each_other(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    a = g.malloc(15 * MIB)
    g.expect_figures(reserved_bytes=20 * MIB, allocated_bytes=15 * MIB)
    b = g.malloc(15 * MIB)
    g.expect_distance(b, a, 15 * MIB, "distance of two blocks in a growing segment")
    g.expect_figures(reserved_bytes=40 * MIB)
    g.free(a, b)
    c = g.malloc(30 * MIB)
    g.expect_same(c, a, "address of a block as large as two freed ones")
    g.expect_figures(reserved_bytes=40 * MIB)


@requirement("allocator/expandable-segments-grow")
def test_empty_pages_go_back(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    held = [g.malloc(20 * MIB) for _ in range(4)]
    g.free(held[1], held[3])
    g.empty_cache()
    g.expect_figures(reserved_bytes=40 * MIB, allocated_bytes=40 * MIB)
    g.free(held[0], held[2])
    g.empty_cache()
    g.expect_figures(reserved_bytes=0)


@requirement("allocator/expandable-segments-grow")
def test_small_pages(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    held = [g.malloc(MIB) for _ in range(3)]
    g.expect_distance(held[2], held[0], TWO, "distance of the third MiB from the first")
    g.expect_figures(reserved_bytes=4 * MIB, reserved_bytes__small_pool=4 * MIB)


@requirement("allocator/expandable-segments-grow")
def test_gap_that_is_too_small(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    held = [g.malloc(20 * MIB) for _ in range(3)]
    g.free(held[1])
    g.empty_cache()
    g.expect_distance(g.malloc(30 * MIB), held[0], 60 * MIB, "distance of 30 MiB behind a gap of 20 MiB")
    g.expect_distance(g.malloc(20 * MIB), held[0], 20 * MIB, "distance of 20 MiB that fill the gap")
    g.expect_figures(reserved_bytes=100 * MIB, allocated_bytes=90 * MIB)


@requirement("allocator/expandable-segments-grow")
@forall(size=hs.integers(MIB + 1, 60 * MIB))
def test_large_sizes_are_not_kept_whole(s: Session, size: int) -> None:
    g = Ground(s, EXPANDABLE)
    g.malloc(size)
    g.expect_figures(allocated_bytes=up(size, 512), reserved_bytes=up(size, 20 * MIB))


@requirement("allocator/expandable-segments-grow", needs=("alloc.streams",))
def test_streams_have_segments_of_their_own(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    stream = g.stream()
    a, b = g.malloc(3 * MIB), g.malloc(3 * MIB, stream)
    g.expect_figures(reserved_bytes=40 * MIB)
    g.expect_distance(g.malloc(3 * MIB), a, 3 * MIB, "distance of two blocks of the first stream")
    g.expect_distance(g.malloc(3 * MIB, stream), b, 3 * MIB, "distance of two blocks of the second stream")
    g.free(a)
    g.expect_other(g.malloc(3 * MIB, stream), a, "memory of the second stream")


@requirement("allocator/expandable-segments-are-never-split-for-good")
def test_figures_of_growing_segments(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    a, _ = g.malloc(15 * MIB), g.malloc(3 * MIB)
    g.free(a)
    g.expect_figures(segment=0, inactive_split=0, inactive_split_bytes=0, reserved_bytes=20 * MIB)
    runs = [(seg["is_expandable"], seg["total_size"]) for seg in g.snapshot()]
    g.expect(runs, [(True, 20 * MIB)], "mapped runs", _RUNS)


@requirement("allocator/expandable-segments-are-never-split-for-good")
def test_runs_with_a_gap(s: Session) -> None:
    g = Ground(s, EXPANDABLE)
    held = [g.malloc(20 * MIB) for _ in range(3)]
    g.free(held[1])
    g.empty_cache()
    runs = [(seg["is_expandable"], seg["total_size"]) for seg in g.snapshot()]
    g.expect(runs, [(True, 20 * MIB)] * 2, "mapped runs", _RUNS)
    again = g.malloc(20 * MIB)
    g.expect_same(again, held[1], "address in the gap")


@requirement("allocator/expandable-segments-are-never-split-for-good")
@forall(steps=hs.lists(hs.tuples(hs.sampled_from(("malloc", "malloc", "free", "free", "empty")), hs.integers(0, 255)),
                       max_size=20))  # fmt: skip
def test_snapshots_of_growing_segments(s: Session, steps: list[tuple[str, int]]) -> None:
    g = Ground(s, EXPANDABLE)
    held: list[Any] = []
    for action, number in steps:
        if action == "malloc":
            held.append(g.malloc(SIZES[number % len(SIZES)]))
        elif action == "free" and held:
            g.free(held.pop(number % len(held)))
        elif action == "empty":
            g.empty_cache()
        _expect_runs(g)


def _expect_runs(g: Ground) -> None:
    """Reserved bytes are the mapped runs, which blocks tile."""
    segments = g.snapshot()
    stats = g.stats()
    sizes = {name: sum(seg[name] for seg in segments) for name in ("total_size", "allocated_size", "active_size")}
    for name, family in zip(sizes, ("reserved_bytes", "allocated_bytes", "active_bytes"), strict=True):
        key = f"{family}.all.current"
        g.expect(stats.get(key), sizes[name], f"figure {key}, by the snapshot", f"{{}}.get({key!r})")
    again = g.snapshot()
    gaps = [seg["total_size"] - sum(b["size"] for b in seg["blocks"]) for seg in again]
    g.expect(gaps, [0] * len(gaps), "bytes of runs that no block covers",
             "[g['total_size'] - sum(b['size'] for b in g['blocks']) for g in {}]")  # fmt: skip


@requirement("allocator/private-pool-keeps-to-itself")
def test_two_pools(s: Session) -> None:
    g = Ground(s)
    pool = s.call("create_pool", g.allocator)
    outside = g.malloc(3 * MIB)
    g.free(outside)
    s.call("enter_pool", g.allocator, pool)
    inside = g.malloc(3 * MIB)
    s.call("leave_pool", g.allocator, pool)
    g.expect_other(inside, outside, "memory of its own in a private pool")
    g.expect_figures(segment=2)
    g.free(inside)
    g.expect_same(g.malloc(3 * MIB), outside, "address outside of the private pool")
    other = g.malloc(18 * MIB)
    g.expect_figures(segment=3)
    s.call("enter_pool", g.allocator, pool)
    g.expect_same(g.malloc(3 * MIB), inside, "address in the private pool")
    s.call("leave_pool", g.allocator, pool)
    g.free(other)
    expect_agreement(g)


@requirement("allocator/private-pool-outlives-the-cache")
def test_pool_is_released(s: Session) -> None:
    g = Ground(s)
    pool = s.call("create_pool", g.allocator)
    s.call("enter_pool", g.allocator, pool)
    pointer = g.malloc(3 * MIB)
    s.call("leave_pool", g.allocator, pool)
    g.free(pointer)
    g.empty_cache()
    g.expect_figures(segment=1, reserved_bytes=20 * MIB)
    s.call("release_pool", g.allocator, pool)
    g.empty_cache()
    g.expect_figures(segment=0, reserved_bytes=0)


_TOLD = "[(e['action'], e['size']) for e in {}]"


def _entries(entries: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    return [(entry["action"], entry["size"]) for entry in entries]


@requirement("allocator/history-tells-what-happened")
def test_six_actions(s: Session) -> None:
    s.require("alloc.faults")
    g = Ground(s, Machine(memory=64 * MIB))
    s.call("record_history", g.allocator, True)
    pointer = g.malloc(1000)
    g.free(pointer)
    g.refused(100 * MIB)
    entries = s.call("memory_history", g.allocator)
    want = [("segment_alloc", TWO), ("alloc", 1000), ("free_requested", 1000), ("free_completed", 1000),
            ("segment_free", TWO), ("oom", 100 * MIB)]  # fmt: skip
    g.expect(_entries(entries), want, "actions and sizes", _TOLD)
    addresses = [entry.get("addr") == int(pointer) for entry in entries[:5]]
    name = s.name_of(pointer)
    text = f"[e.get('addr') == int({name}) for e in {{}}[:5]]"
    g.expect(addresses, [True] * 5, "whether entries name the address", text)


@requirement("allocator/history-tells-what-happened", needs=("alloc.streams",))
def test_completion_comes_later(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    s.call("record_history", g.allocator, True)
    pointer = g.malloc(700)
    g.record(pointer, stream)
    g.occupy(stream)
    g.free(pointer)
    g.finish(stream)
    g.malloc(300)
    entries = s.call("memory_history", g.allocator)
    want = [("segment_alloc", TWO), ("alloc", 700), ("free_requested", 700), ("free_completed", 700), ("alloc", 300)]
    g.expect(_entries(entries), want, "actions and sizes", _TOLD)


@requirement("allocator/history-can-be-switched-off")
def test_before_and_after(s: Session) -> None:
    g = Ground(s)
    g.free(g.malloc(512))
    s.call("record_history", g.allocator, True)
    g.malloc(600)
    s.call("record_history", g.allocator, False)
    g.malloc(700)
    entries = _entries(s.call("memory_history", g.allocator))
    seen = [size for action, size in entries if action == "alloc" and size != 600]
    g.expect(seen, [], "requests recorded while nothing was recorded",
             "[e['size'] for e in {} if e['action'] == 'alloc' and e['size'] != 600]")  # fmt: skip
