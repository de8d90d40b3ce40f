"""Requests that the device refuses, and limits."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as hs

from ..backend_allocator import Machine
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import EVERYTHING, FULL, Follower, programs
from .rules import MIB, Rules
from .state import ALLOCATED, INACTIVE
from .test_figures import told
from .test_snapshots import expect_agreement

TWO = 2 * MIB
MEMORY = (4 * MIB, 22 * MIB, 24 * MIB, 42 * MIB, 64 * MIB, 128 * MIB)


@requirement("allocator/out-of-memory-is-an-error-of-its-own")
def test_more_than_there_is(s: Session) -> None:
    g = Ground(s, Machine(memory=64 * MIB))
    g.refused(65 * MIB)
    g.expect_figures(num_ooms=1, allocation=0, segment=0, num_device_alloc=0)
    g.malloc(64 * MIB)
    g.refused(1)
    g.expect_figures(num_ooms=2, allocation=1, reserved_bytes=64 * MIB)


@requirement("allocator/out-of-memory-is-an-error-of-its-own")
@forall(memory=hs.sampled_from(MEMORY), code=programs())
def test_refusals_of_programs(s: Session, memory: int, code: bytes) -> None:
    follower = Follower(s, memory=memory)
    follower.run(code, FULL, lambda: follower.expect_counts("num_ooms"))


@requirement("allocator/cache-is-released-before-giving-up")
def test_cached_segments_make_room(s: Session) -> None:
    g = Ground(s, Machine(memory=64 * MIB))
    a, b, c = g.malloc(20 * MIB), g.malloc(20 * MIB), g.malloc(512)
    g.free(a, c)
    s.call("device_log", g.allocator)
    g.malloc(30 * MIB)
    log = s.call("device_log", g.allocator)
    want = (("refused", 30 * MIB), ("free",), ("free",), ("malloc", 30 * MIB))
    kept = tuple(entry for entry in log if entry[0] != "wait")
    g.expect(kept, want, "what the device was asked", "tuple(e for e in {} if e[0] != 'wait')")
    g.expect_figures(num_alloc_retries=1, num_ooms=0, num_device_free=2, segment=2, reserved_bytes=50 * MIB)
    g.free(b)


@requirement("allocator/cache-is-released-before-giving-up")
def test_one_refusal_and_two(s: Session) -> None:
    g = Ground(s, Machine(memory=1024 * MIB))
    s.call("fail_mallocs", g.allocator, 1)
    g.malloc(3 * MIB)
    g.expect_figures(num_alloc_retries=1, num_ooms=0, allocation=1)
    s.call("fail_mallocs", g.allocator, 2)
    g.refused(30 * MIB)
    g.expect_figures(num_alloc_retries=2, num_ooms=1, allocation=1)
    g.malloc(30 * MIB)
    g.expect_figures(num_alloc_retries=2, num_ooms=1, allocation=2)


@requirement("allocator/cache-is-released-before-giving-up")
@forall(memory=hs.sampled_from(MEMORY), code=programs())
def test_segments_of_programs(s: Session, memory: int, code: bytes) -> None:
    follower = Follower(s, memory=memory)

    def look() -> None:
        follower.expect_blocks()
        follower.expect_counts("num_alloc_retries", "num_device_alloc", "num_device_free")

    follower.run(code, FULL, look)


@requirement("allocator/refused-request-leaves-all-valid")
def test_smaller_request_after_a_refusal(s: Session) -> None:
    g = Ground(s, Machine(memory=32 * MIB))
    a, b = g.malloc(3 * MIB), g.malloc(4 * MIB)
    g.free(a)
    g.refused(40 * MIB)
    g.expect_blocks([(3 * MIB, INACTIVE), (4 * MIB, ALLOCATED), (13 * MIB, INACTIVE)])
    g.expect_figures(allocation=1, allocated_bytes=4 * MIB, reserved_bytes=20 * MIB)
    g.expect_same(g.malloc(2 * MIB), a)
    g.malloc(12 * MIB)
    g.expect_figures(reserved_bytes=20 * MIB, segment=1, allocation=3)
    g.free(b)


@requirement("allocator/refused-request-leaves-all-valid")
@forall(memory=hs.sampled_from(MEMORY), code=programs(), streams=hs.booleans())
def test_agreement_after_refusals(s: Session, memory: int, code: bytes, streams: bool) -> None:
    with_streams = streams and "alloc.streams" in s.capabilities
    follower = Follower(s, memory=memory, streams=2 if with_streams else 0)
    follower.run(code, EVERYTHING if with_streams else FULL, lambda: expect_agreement(follower.ground))


@requirement("allocator/oversize-blocks-are-released-first")
def test_one_that_suffices(s: Session) -> None:
    g = Ground(s, Machine(memory=140 * MIB, config="max_split_size_mb:20"))
    held = [g.malloc(size) for size in (60 * MIB, 40 * MIB, 24 * MIB, 512)]
    g.free(*held)
    g.expect_figures(oversize_segments=3, oversize_allocations=0)
    g.malloc(30 * MIB)
    g.expect_figures(num_device_free=0, oversize_allocations=1)
    g.malloc(39 * MIB)
    g.expect_figures(num_device_free=1, reserved_bytes=106 * MIB, num_alloc_retries=0)


@requirement("allocator/oversize-blocks-are-released-first")
@forall(memory=hs.sampled_from((64, 90, 128)), code=programs())
def test_programs_with_a_largest_split(s: Session, memory: int, code: bytes) -> None:
    follower = Follower(s, Rules(max_split=20 * MIB), memory=memory * MIB)

    def look() -> None:
        follower.expect_blocks()
        follower.expect_counts("num_alloc_retries", "num_device_free")
        follower.expect_figures(("oversize_allocations", "oversize_segments"))

    follower.run(code, FULL, look)


@requirement("allocator/out-of-memory-says-how-much")
def test_message(s: Session) -> None:
    g = Ground(s, Machine(memory=100 * MIB))
    a, _ = g.malloc(6 * MIB), g.malloc(5 * MIB)
    g.free(a)
    text = str(g.refused(91 * MIB))
    missing = lacking(text)
    if missing:
        call = s.dialect.statement(s.steps().pop())  # type: ignore[arg-type]
        how = "__import__('gaugeblock_conformance.allocator.test_out_of_memory', fromlist=['lacking']).lacking(got)"
        lines = ["got = ''", "try:", f"    {call}", "except RuntimeError as error:", "    got = str(error)",
                 f"assert not {how}, got"]  # fmt: skip
        raise s.failure(f"the message lacks {', '.join(missing)}", "all sizes in the message", text, lines,
                        {s.name_of(g.allocator)}, cause="message without sizes")  # fmt: skip


def lacking(text: str) -> list[str]:
    """What the message of the test's refused request does not say."""
    sizes = {"asked for": 92, "in total": 100, "free": 80, "allocated": 5, "reserved but unallocated": 15}
    missing = [name for name, size in sizes.items() if not told(text, size * MIB)]
    words = ("out of memory", r"\b0\b", "allocated", "reserved", "free")
    return [*missing, *(word for word in words if not re.search(word, text))]


@requirement("allocator/waiting-blocks-are-searched-before-giving-up")
def test_block_that_waited(s: Session) -> None:
    g = Ground(s, Machine(memory=20 * MIB))
    stream = g.stream()
    a, b = g.malloc(6 * MIB), g.malloc(5 * MIB)
    g.record(a, stream)
    g.occupy(stream)
    g.free(a)
    g.malloc(9 * MIB)
    again = g.malloc(6 * MIB)
    g.expect_same(again, a, "address of a block that the allocator had to wait for")
    g.expect_figures(num_ooms=0, allocation=3)
    g.free(b)


@requirement("allocator/waiting-blocks-are-searched-before-giving-up")
@forall(sizes=hs.lists(hs.integers(2, 9), min_size=2, max_size=6), which=hs.integers(0, 5))
def test_any_block_that_waited(s: Session, sizes: list[int], which: int) -> None:
    s.require("alloc.streams")
    g = Ground(s, Machine(memory=20 * MIB))
    stream = g.stream()
    chosen: list[int] = []
    while sum(chosen) + 2 <= 20:
        chosen.append(min(sizes[len(chosen) % len(sizes)], 20 - sum(chosen)))
    if sum(chosen) < 20:
        chosen[-1] += 20 - sum(chosen)
    held = [g.malloc(size * MIB) for size in chosen]
    which %= len(held)
    g.record(held[which], stream)
    g.occupy(stream)
    g.free(held[which])
    g.expect_same(g.malloc(chosen[which] * MIB), held[which], "address of a block that had to be waited for")


@requirement("allocator/absurd-request-is-out-of-memory")
@forall(size=hs.sampled_from((2**60, 2**60 + 1, 2**62, 2**63 - 1, 2**60 + 2**40)))
def test_more_bytes_than_any_device_has(s: Session, size: int) -> None:
    g = Ground(s)
    g.malloc(512)
    g.refused(size)
    g.expect_figures(allocation=1, segment=1, allocated_bytes=512, reserved_bytes=TWO)
    g.malloc(512)
    g.expect_figures(allocation=2, segment=1)


@requirement("allocator/memory-fraction-is-a-limit", needs=("alloc.faults",))
def test_half_of_the_memory(s: Session) -> None:
    g = Ground(s, Machine(memory=100 * MIB))
    s.call("set_memory_fraction", g.allocator, 0.5)
    a = g.malloc(40 * MIB)
    s.call("device_log", g.allocator)
    g.refused(11 * MIB)
    log = s.call("device_log", g.allocator)
    asked = [entry for entry in log if entry[0] in ("malloc", "refused")]
    g.expect(asked, [], "requests to the device beyond the limit", "[e for e in {} if e[0] in ('malloc', 'refused')]")
    g.malloc(512)
    g.expect_figures(reserved_bytes=42 * MIB, num_ooms=1, num_alloc_retries=1)
    s.call("set_memory_fraction", g.allocator, 1.0)
    g.malloc(50 * MIB)
    g.expect_figures(reserved_bytes=92 * MIB, num_ooms=1)
    g.free(a)


@requirement("allocator/memory-fraction-is-a-limit", needs=("alloc.faults",))
@forall(
    fraction=hs.sampled_from((0.0, 0.25, 0.5, 0.75, 1.0)), sizes=hs.lists(hs.integers(1, 40), min_size=1, max_size=8)
)
def test_limits(s: Session, fraction: float, sizes: list[int]) -> None:
    g = Ground(s, Machine(memory=160 * MIB))
    s.call("set_memory_fraction", g.allocator, fraction)
    held = 0
    for size in sizes:
        total = 10 + 2 * size
        if held + total <= fraction * 160:
            g.malloc(total * MIB)
            held += total
        else:
            g.refused(total * MIB)
        g.expect_figures(reserved_bytes=held * MIB)


@requirement("allocator/memory-fraction-is-a-limit", needs=("alloc.faults",))
def test_cache_makes_room_below_the_limit(s: Session) -> None:
    g = Ground(s, Machine(memory=100 * MIB))
    s.call("set_memory_fraction", g.allocator, 0.5)
    g.free(g.malloc(40 * MIB))
    g.malloc(50 * MIB)
    g.expect_figures(reserved_bytes=50 * MIB, num_alloc_retries=1, num_ooms=0, num_device_free=1)


BAD_FRACTIONS: tuple[tuple[Any, type[Exception]], ...] = (
    (-0.1, ValueError), (1.5, ValueError), (2.0, ValueError), ("0.5", TypeError), (1, TypeError), (None, TypeError),
)  # fmt: skip


@requirement("allocator/memory-fraction-is-checked")
def test_bad_fractions(s: Session) -> None:
    g = Ground(s)
    for fraction, error in BAD_FRACTIONS:
        s.expect_raises(error, "set_memory_fraction", g.allocator, fraction)
    g.malloc(512)
    g.expect_figures(allocation=1)
