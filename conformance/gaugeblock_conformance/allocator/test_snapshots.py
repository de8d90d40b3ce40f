"""What a snapshot lists, and that looking leaves no trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as hs

from ..backend_allocator import NAMES
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import AWAITING, Ground
from .programs import BASIC, STREAMS, Follower, programs
from .rules import MIB
from .state import ALLOCATED, INACTIVE, PENDING

STATES = (ALLOCATED, PENDING, INACTIVE)
TWO = 2 * MIB
_RISING = "[a['address'] < b['address'] for a, b in zip({}, {}[1:])]"
_SIZES = ("total_size", "allocated_size", "active_size", "requested_size")
_SUMS = (
    f"[tuple(g[k] for k in {_SIZES!r}) == (sum(b['size'] for b in g['blocks']), sum(b['size'] for b in g['blocks'] if "
    "b['state'] == 'active_allocated'), sum(b['size'] for b in g['blocks'] if b['state'] != 'inactive'), "
    "sum(b['requested_size'] for b in g['blocks'] if b['state'] != 'inactive')) for g in {}]"
)


@requirement("allocator/snapshot-lists-segments-by-address")
def test_four_segments(s: Session) -> None:
    g = Ground(s)
    g.expect(list(g.snapshot()), [], "snapshot of a fresh allocator", "list({})")
    g.malloc(512)
    g.malloc(3 * MIB)
    g.malloc(30 * MIB)
    g.malloc(TWO - 512)
    segments = g.snapshot()
    rising = [a["address"] < b["address"] for a, b in pairwise(segments)]
    g.expect(rising, [True] * 2, "whether each segment lies behind the one before", _RISING)
    found = [(seg["segment_type"], seg["total_size"]) for seg in segments]
    want = [("large", TWO * 10), ("large", 30 * MIB), ("small", TWO)]
    g.expect(sorted(found), want, "kinds and sizes", "sorted((g['segment_type'], g['total_size']) for g in {})")


@requirement("allocator/snapshot-lists-segments-by-address")
@forall(code=programs(), weight=0.5)
def test_order_of_segments(s: Session, code: bytes) -> None:
    follower = Follower(s)

    def look() -> None:
        segments = follower.ground.snapshot()
        addresses = [seg["address"] for seg in segments]
        rising = [a < b for a, b in pairwise(addresses)]
        follower.ground.expect(rising, [True] * len(rising), "whether each segment lies behind the one before", _RISING)
        kinds = sorted((seg["segment_type"], seg["total_size"]) for seg in segments)
        want = sorted((seg["segment_type"], seg["total_size"]) for seg in follower.model.snapshot())
        text = "sorted((g['segment_type'], g['total_size']) for g in {})"
        follower.ground.expect(kinds, want, "kinds and sizes of the segments", text)

    follower.run(code, BASIC, look)


@requirement("allocator/snapshot-lists-segments-by-address", needs=("alloc.streams",))
def test_stream_of_a_segment(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    g.malloc(512, stream)
    number = s.call("stream_number", stream)
    streams = [seg["stream"] for seg in g.snapshot()]
    g.expect(streams, [number], "streams of the segments", "[g['stream'] for g in {}]")


@requirement("allocator/segment-figures-are-sums-over-blocks")
def test_sums_of_one_segment(s: Session) -> None:
    g = Ground(s)
    a, _ = g.malloc(1000), g.malloc(513)
    g.free(a)
    found = [tuple(seg[k] for k in _SIZES) for seg in g.snapshot()]
    text = f"[tuple(g[k] for k in {_SIZES!r}) for g in {{}}]"
    g.expect(found, [(TWO, 1024, 1024, 513)], "sizes of the segment", text)


@requirement("allocator/segment-figures-are-sums-over-blocks", needs=("alloc.streams",))
@forall(code=programs(), weight=0.5)
def test_sums_of_programs(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)

    def look() -> None:
        segments = follower.ground.snapshot()
        right = [tuple(seg[k] for k in _SIZES) == _summed(seg["blocks"]) for seg in segments]
        follower.ground.expect(right, [True] * len(right), "whether each segment's sizes are sums", _SUMS)

    follower.run(code, STREAMS, look)


def _summed(blocks: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    active = [b for b in blocks if b["state"] != INACTIVE]
    allocated = sum(b["size"] for b in active if b["state"] == ALLOCATED)
    return (sum(b["size"] for b in blocks), allocated, sum(b["size"] for b in active),
            sum(b["requested_size"] for b in active))  # fmt: skip


@requirement("allocator/block-states-have-three-names", needs=("alloc.streams",))
def test_three_states(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    _, b = g.malloc(512), g.malloc(1024)
    g.record(b, stream)
    g.occupy(stream)
    g.free(b)
    g.expect_blocks([(512, ALLOCATED), (1024, PENDING), (TWO - 1536, INACTIVE)])


@requirement("allocator/block-states-have-three-names")
def test_request_of_a_block(s: Session) -> None:
    g = Ground(s)
    g.malloc(1000)
    found = [(b["size"], b["requested_size"], b["state"]) for seg in g.snapshot() for b in seg["blocks"][:1]]
    text = "[(b['size'], b['requested_size'], b['state']) for g in {} for b in g['blocks'][:1]]"
    g.expect(found, [(1024, 1000, ALLOCATED)], "size, request and state of the first block", text)


@requirement("allocator/block-states-have-three-names")
@forall(sizes=hs.lists(hs.integers(1, 3 * MIB), min_size=1, max_size=6), freed=hs.integers(0, 63))
def test_requests_of_blocks(s: Session, sizes: list[int], freed: int) -> None:
    g = Ground(s)
    held = [g.malloc(size) for size in sizes]
    for k, pointer in enumerate(held):
        if freed >> k & 1:
            g.free(pointer)
    blocks = [b for seg in g.snapshot() for b in seg["blocks"]]
    odd = [b["state"] for b in blocks if AWAITING.get(b["state"], b["state"]) not in STATES]
    text = f"[b['state'] for g in {{}} for b in g['blocks'] if b['state'] not in {(*STATES, *AWAITING)!r}]"
    g.expect(odd, [], "states that have no such name", text)
    got = sorted((b["requested_size"], b["size"]) for b in blocks if b["state"] == ALLOCATED)
    want = sorted(n for k, n in enumerate(sizes) if not freed >> k & 1)
    text = "sorted(b['requested_size'] for g in {} for b in g['blocks'] if b['state'] == 'active_allocated')"
    g.expect([asked for asked, _ in got], want, "requests of the allocated blocks", text)


@requirement("allocator/snapshot-agrees-with-the-figures")
@forall(code=programs(), weight=0.5)
def test_snapshot_and_figures(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: expect_agreement(follower.ground))


@requirement("allocator/snapshot-agrees-with-the-figures", needs=("alloc.streams",))
@forall(code=programs(), weight=0.5)
def test_snapshot_and_figures_with_streams(s: Session, code: bytes) -> None:
    follower = Follower(s, streams=2)
    follower.run(code, STREAMS, lambda: expect_agreement(follower.ground))


def expect_agreement(g: Ground) -> None:
    """Expect the sums of a snapshot in the figures of each pool."""
    segments, stats = g.snapshot(), g.stats()
    for kind in ("small", "large"):
        mine = [seg for seg in segments if seg["segment_type"] == kind]
        counts = {
            "reserved_bytes": sum(seg["total_size"] for seg in mine),
            "allocated_bytes": sum(seg["allocated_size"] for seg in mine),
            "active_bytes": sum(seg["active_size"] for seg in mine),
            "requested_bytes": sum(seg["requested_size"] for seg in mine),
            "segment": len(mine),
            "allocation": sum(b["state"] == ALLOCATED for seg in mine for b in seg["blocks"]),
            "active": sum(b["state"] != INACTIVE for seg in mine for b in seg["blocks"]),
        }
        for family, want in counts.items():
            name = f"{family}.{kind}_pool.current"
            g.expect(stats.get(name), want, f"figure {name}, by the snapshot", f"{{}}.get({name!r})")


@requirement("allocator/looking-changes-nothing")
@forall(code=programs(), weight=0.5)
def test_looking_twice(s: Session, code: bytes) -> None:
    follower = Follower(s)
    follower.run(code, BASIC, lambda: None)
    g = follower.ground
    before, blocks = g.stats(), [list(seg["blocks"]) for seg in g.snapshot()]
    s.call("memory_summary", g.allocator)
    again = [list(seg["blocks"]) for seg in g.snapshot()]
    cut = "[[(b['size'], b['state']) for b in g['blocks']] for g in {}]"
    got, want = ([[(b["size"], b["state"]) for b in seg] for seg in found] for found in (again, blocks))
    g.expect(got, want, "blocks of a second snapshot", cut)
    after = g.stats()
    for name in NAMES:
        g.expect(after.get(name), before.get(name), f"figure {name} after a look", f"{{}}.get({name!r})")


@requirement("allocator/looking-changes-nothing", needs=("alloc.streams",))
def test_looking_ends_no_waiting(s: Session) -> None:
    g = Ground(s)
    stream = g.stream()
    pointer = g.malloc(512)
    g.record(pointer, stream)
    g.occupy(stream)
    g.free(pointer)
    g.finish(stream)
    for _ in range(2):
        s.call("memory_summary", g.allocator)
        g.expect_blocks([(512, PENDING), (TWO - 512, INACTIVE)])
        g.expect_figures(active=1)
