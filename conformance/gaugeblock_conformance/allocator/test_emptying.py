"""What emptying the cache gives back, and what it leaves alone."""

from __future__ import annotations

from hypothesis import strategies as hs

from ..backend_allocator import NAMES, Pointer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import BASIC, SIZES, STREAMS, Follower, programs
from .rules import MIB

LIVE, FREE = "active_allocated", "inactive"
TWO = 2 * MIB


@requirement("allocator/empty-cache-releases-free-segments")
def test_segment_with_one_live_block_stays(s: Session) -> None:
    g = Ground(s)
    a, b = g.malloc(512), g.malloc(512)
    c = g.malloc(3 * MIB)
    g.free(a, c)
    g.empty_cache()
    g.expect_blocks([(512, FREE), (512, LIVE), (TWO - 1024, FREE)])
    g.expect_figures(reserved_bytes=TWO, segment=1, num_device_free=1, allocated_bytes=512)
    g.free(b)
    g.expect_figures(reserved_bytes=TWO)
    g.empty_cache()
    g.expect_blocks()
    g.expect_figures(reserved_bytes=0, segment=0, num_device_free=2)


@requirement("allocator/empty-cache-releases-free-segments")
@forall(code=programs(), weight=0.5)
def test_programs_that_end_empty(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, (*BASIC, "empty_cache", "empty_cache"), follower.expect_blocks)


@requirement("allocator/empty-cache-keeps-live-memory")
@forall(sizes=hs.lists(hs.sampled_from(SIZES), min_size=1, max_size=8), freed=hs.integers(0, 255))
def test_bytes_in_use_stay(s: Session, sizes: list[int], freed: int) -> None:
    g = Ground(s)
    held = [g.malloc(size) for size in sizes]
    for k, pointer in enumerate(held):
        if freed >> k & 1:
            g.free(pointer)
    used = s.call("bytes_in_use", g.allocator)
    g.empty_cache()
    s.expect(s.call("bytes_in_use", g.allocator), used, "bytes in use after the cache was emptied")
    kept = [p for k, p in enumerate(held) if not freed >> k & 1]
    for pointer in kept:
        g.free(pointer)
    s.expect(s.call("bytes_in_use", g.allocator), 0, "bytes in use after all was freed")


@requirement("allocator/empty-cache-is-idempotent")
def test_empty_cache_of_a_fresh_allocator(s: Session) -> None:
    g = Ground(s)
    g.empty_cache()
    s.expect(s.call("bytes_held", g.allocator), 0, "bytes held")
    pointer = g.malloc(1000)
    g.empty_cache()
    held = s.call("bytes_held", g.allocator)
    g.empty_cache()
    s.expect(s.call("bytes_held", g.allocator), held, "bytes held after emptying twice")
    g.free(pointer)
    g.empty_cache()
    s.expect(s.call("bytes_held", g.allocator), 0, "bytes held with nothing in use")
    g.empty_cache()
    s.expect(s.call("bytes_held", g.allocator), 0, "bytes held with nothing in use")
    s.expect(s.call("bytes_in_use", g.allocator), 0, "bytes in use")


@requirement("allocator/empty-cache-frees-nothing-for-its-own-users")
@forall(code=programs(), weight=0.5)
def test_second_time_changes_no_figure(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: None)
    g = follower.ground
    g.empty_cache()
    before = g.stats()
    g.empty_cache()
    after = g.stats()
    for name in NAMES:
        if name != "num_sync_all_streams":
            what = f"figure {name} after emptying twice"
            g.expect(after.get(name), before.get(name), what, f"{{}}.get({name!r})")


@requirement("allocator/empty-cache-waits-for-other-streams")
def test_pending_block_goes_too(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(3 * MIB)
    g.record(pointer, stream)
    g.occupy(stream)
    g.free(pointer)
    g.expect_figures(active=1, allocation=0, segment=1)
    g.empty_cache()
    g.expect_figures(active=0, segment=0, reserved_bytes=0, num_device_free=1)


@requirement("allocator/empty-cache-waits-for-other-streams")
@forall(code=programs(), weight=0.5)
def test_emptying_with_streams(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)
    follower.run(code, (*STREAMS, "empty_cache"), lambda: None)
    follower.ground.empty_cache()
    follower.model.empty_cache()
    follower.expect_blocks()
    follower.expect_figures(("active", "reserved_bytes"))


@requirement("allocator/empty-cache-keeps-live-memory", needs=("alloc.caching",))
def test_freed_before_and_after(s: Session) -> None:
    g = Ground(s)
    held: list[Pointer] = [g.malloc(MIB) for _ in range(4)]
    g.free(held[0], held[1], held[2])
    g.empty_cache()
    g.expect_figures(allocation=1, allocated_bytes=MIB)
    g.expect_same(g.malloc(MIB), held[2], "address beside the block that stayed")
