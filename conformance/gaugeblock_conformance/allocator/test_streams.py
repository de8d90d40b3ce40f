"""Blocks and streams: who may have a block again, and when."""

from __future__ import annotations

from hypothesis import strategies as hs

from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import STREAMS, Follower, programs
from .rules import MIB
from .state import ALLOCATED, INACTIVE, PENDING

TWO = 2 * MIB
SIZES = (512, 1000, MIB, MIB + 512, 3 * MIB, 30 * MIB)


@requirement("allocator/block-belongs-to-its-stream")
@forall(size=hs.sampled_from(SIZES), back=hs.booleans())
def test_other_streams_get_other_memory(s: Session, size: int, back: bool) -> None:
    g = Ground(s)
    one, two = (g.stream(), None) if back else (None, g.stream())
    pointer = g.malloc(size, one)
    g.free(pointer)
    other = g.malloc(size, two)
    g.expect_other(other, pointer, "another address on another stream")
    g.expect_figures(segment=2)
    g.expect_same(g.malloc(size, one), pointer)
    g.expect_figures(segment=2)


@requirement("allocator/block-belongs-to-its-stream")
def test_rest_of_a_segment_too(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    g.malloc(512)
    g.malloc(512, stream)
    g.malloc(512, stream)
    g.expect_figures(segment=2, reserved_bytes=2 * TWO)
    counts = sorted(len(seg["blocks"]) for seg in g.snapshot())
    g.expect(counts, [2, 3], "blocks of the two segments", "sorted(len(g['blocks']) for g in {})")


@requirement("allocator/own-stream-reuses-at-once")
@forall(size=hs.sampled_from(SIZES), named=hs.booleans())
def test_reuse_on_a_busy_stream(s: Session, size: int, named: bool) -> None:
    g = Ground(s)
    stream = g.stream() if named else None
    pointer = g.malloc(size, stream)
    if stream is not None:
        g.occupy(stream)
    g.free(pointer)
    g.expect_figures(active=0)
    g.expect_same(g.malloc(size, stream), pointer)


@requirement("allocator/recorded-stream-delays-reuse")
@forall(size=hs.sampled_from(SIZES))
def test_waits_for_the_recorded_stream(s: Session, size: int) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(size)
    g.record(pointer, stream)
    g.occupy(stream)
    g.free(pointer)
    second = g.malloc(size)
    g.expect_other(second, pointer, "another address while a recorded stream is busy")
    g.finish(stream)
    g.expect_same(g.malloc(size), pointer, "address of a block whose recorded stream has finished")


@requirement("allocator/recorded-stream-delays-reuse")
def test_work_queued_after_the_free_does_not_count(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(3 * MIB)
    g.record(pointer, stream)
    g.free(pointer)
    g.occupy(stream)
    g.expect_same(g.malloc(3 * MIB), pointer, "address of a block that was freed before the work was queued")


@requirement("allocator/recorded-stream-delays-reuse")
def test_use_ends_with_the_free(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(3 * MIB)
    g.record(pointer, stream)
    g.free(pointer)
    again = g.malloc(3 * MIB)
    g.expect_same(again, pointer)
    g.occupy(stream)
    g.free(again)
    g.expect_same(g.malloc(3 * MIB), pointer, "address of a block that this time no stream was recorded for")


@requirement("allocator/recorded-stream-delays-reuse")
@forall(code=programs(), weight=0.5)
def test_states_of_programs(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)
    follower.run(code, STREAMS, follower.expect_blocks)


@requirement("allocator/waiting-blocks-are-active-not-allocated")
def test_figures_of_a_waiting_block(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(1000)
    g.record(pointer, stream)
    g.occupy(stream)
    g.free(pointer)
    g.expect_figures(allocation=0, allocated_bytes=0, active=1, active_bytes=1024, requested_bytes=1000,
                     allocation__all__freed=1, active__all__freed=0)  # fmt: skip
    g.finish(stream)
    g.free(g.malloc(512))
    g.expect_figures(active=0, active_bytes=0, requested_bytes=0, active__all__freed=2)


@requirement("allocator/waiting-blocks-are-active-not-allocated")
@forall(code=programs(), weight=0.5)
def test_figures_of_programs_with_streams(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)
    families = ("allocation", "allocated_bytes", "active", "active_bytes", "requested_bytes")
    follower.run(code, STREAMS, lambda: follower.expect_figures(families))


@requirement("allocator/every-recorded-stream-counts")
def test_waits_for_both_streams(s: Session) -> None:
    for first in (0, 1):
        g = Ground(s)
        streams = [g.stream(), g.stream()]
        pointer = g.malloc(512)
        for stream in streams:
            g.record(pointer, stream)
        g.occupy(*streams)
        g.free(pointer)
        g.finish(streams[first])
        g.expect_other(g.malloc(512), pointer, "another address while a second recorded stream is busy")
        g.finish(streams[1 - first])
        g.expect_same(g.malloc(512), pointer, "address of a block after both recorded streams have finished")


@requirement("allocator/every-recorded-stream-counts")
@forall(order=hs.permutations(range(3)), again=hs.integers(0, 2))
def test_waits_for_three_streams(s: Session, order: list[int], again: int) -> None:
    g = Ground(s)
    streams = [g.stream() for _ in range(3)]
    pointer = g.malloc(512)
    for stream in (*streams, streams[again]):
        g.record(pointer, stream)
    g.occupy(*streams)
    g.free(pointer)
    for k in order:
        g.malloc(512, streams[0])
        g.expect_figures(active__small_pool=order.index(k) + 2)
        g.finish(streams[k])
    g.expect_same(g.malloc(512), pointer, "address of a block after all recorded streams have finished")


@requirement("allocator/finished-work-releases-at-the-next-request")
@forall(size=hs.sampled_from(SIZES), wait=hs.booleans())
def test_next_request_finds_it(s: Session, size: int, wait: bool) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(size)
    g.record(pointer, stream)
    if wait:
        g.occupy(stream)
    g.free(pointer)
    if wait:
        g.finish(stream)
    g.expect_same(g.malloc(size), pointer)
    g.expect_figures(segment=1, active=1)


@requirement("allocator/own-stream-needs-no-recording")
def test_own_stream_of_one_block(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(512, stream)
    g.record(pointer, stream)
    g.occupy(stream)
    g.free(pointer)
    g.expect_figures(active=0)


@requirement("allocator/own-stream-needs-no-recording")
@forall(size=hs.sampled_from(SIZES), others=hs.booleans())
def test_own_stream(s: Session, size: int, others: bool) -> None:
    g = Ground(s)
    stream, other = g.stream(), g.stream()
    pointer = g.malloc(size, stream)
    g.record(pointer, stream)
    if others:
        g.record(pointer, other)
    g.occupy(stream)
    g.free(pointer)
    g.expect_figures(active=int(others))
    g.expect_same(g.malloc(size, stream), pointer)


@requirement("allocator/streams-do-not-hold-each-other-up")
def test_two_blocks_and_two_streams(s: Session) -> None:
    g = Ground(s)
    one, two = g.stream(), g.stream()
    a, b = g.malloc(512), g.malloc(512)
    g.record(a, one)
    g.record(b, two)
    g.occupy(one, two)
    g.free(a, b)
    g.finish(two)
    g.expect_same(g.malloc(512), b, "address of the block whose stream has finished")
    g.expect_blocks([(512, PENDING), (512, ALLOCATED), (TWO - 1024, INACTIVE)])
    g.finish(one)
    g.expect_same(g.malloc(512), a)


@requirement("allocator/streams-do-not-hold-each-other-up")
@forall(count=hs.integers(2, 6), order=hs.permutations(range(6)))
def test_blocks_come_back_as_streams_finish(s: Session, count: int, order: list[int]) -> None:
    g = Ground(s)
    streams = [g.stream() for _ in range(count)]
    held = [g.malloc(3 * MIB) for _ in range(count)]
    for pointer, stream in zip(held, streams, strict=True):
        g.record(pointer, stream)
        g.occupy(stream)
        g.free(pointer)
    for k in (k for k in order if k < count):
        g.finish(streams[k])
        g.expect_same(g.malloc(3 * MIB), held[k], "address of the block whose stream has finished")
