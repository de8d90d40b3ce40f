"""What a request gets: its size, its pool, its segment, and which free block."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as hs

from ..backend_allocator import Pointer
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import BASIC, EVERYTHING, STREAMS, Follower, programs
from .rules import KIB, MIB, Rules, up

LIVE, FREE = "active_allocated", "inactive"
TWO = 2 * MIB
# Sizes on both sides of every limit.
SIZES = (
    1, 2, 511, 512, 513, 1023, 1024, 1025, 100 * KIB + 1, MIB - 513, MIB - 512, MIB - 511, MIB - 1, MIB, MIB + 1,
    MIB + 512, 2 * MIB, 4_000_000, 10 * MIB - 513, 10 * MIB - 512, 10 * MIB - 511, 10 * MIB - 1, 10 * MIB, 10 * MIB + 1,
    12 * MIB, 12 * MIB + 1, 20 * MIB, 33 * MIB - 1, 64 * MIB,
)  # fmt: skip
sizes = hs.one_of(hs.sampled_from(SIZES), hs.integers(1, 40 * MIB))


def segment_size(size: int) -> int:
    """The chapter's sentence, in numbers."""
    if size <= MIB:
        return TWO
    return 20 * MIB if size < 10 * MIB else up(size, TWO)


def block_size(size: int) -> int:
    """The block that the first request of an allocator gets: rounded, or the segment where no rest is split off."""
    rounded = up(size, 512)
    rest = segment_size(rounded) - rounded
    return rounded if rest > MIB or (rounded <= MIB and rest) else rounded + rest


@requirement("allocator/request-is-rounded-up-to-512")
def test_four_million_bytes(s: Session) -> None:
    g = Ground(s)
    g.malloc(4_000_000)
    g.expect_figures(allocated_bytes=4_000_256, requested_bytes=4_000_000, allocation=1)
    g.malloc(1)
    g.expect_figures(allocated_bytes=4_000_768, requested_bytes=4_000_001, allocation=2)
    g.malloc(512)
    g.expect_figures(allocated_bytes=4_001_280)
    g.malloc(513)
    g.expect_figures(allocated_bytes=4_002_304)


@requirement("allocator/request-is-rounded-up-to-512")
@forall(size=sizes)
def test_rounding(s: Session, size: int) -> None:
    g = Ground(s)
    pointer = g.malloc(size)
    taken = block_size(size)
    g.expect_figures(allocated_bytes=taken, active_bytes=taken, requested_bytes=size)
    g.free(pointer)
    g.expect_figures(allocated_bytes=0, active_bytes=0, allocated_bytes__all__freed=taken)


@requirement("allocator/zero-bytes-take-nothing")
def test_zero_bytes(s: Session) -> None:
    g = Ground(s)
    pointer = g.malloc(0)
    s.expect(int(pointer), 0, "pointer to zero bytes", f"int({s.name_of(pointer)})")
    s.expect(s.call("bytes_in_use", g.allocator), 0, "bytes in use")
    s.expect(s.call("bytes_held", g.allocator), 0, "bytes held")
    g.free(pointer)
    g.free(Pointer(0))
    s.expect(s.call("bytes_in_use", g.allocator), 0, "bytes in use")


@requirement("allocator/zero-bytes-take-nothing", needs=("alloc.caching",))
def test_zero_bytes_in_the_figures(s: Session) -> None:
    g = Ground(s)
    g.free(g.malloc(0))
    g.expect_figures(allocation=0, segment=0, num_device_alloc=0, allocation__all__allocated=0)


@requirement("allocator/freed-memory-is-reused")
@forall(size=sizes, other=sizes)
def test_same_size_same_address(s: Session, size: int, other: int) -> None:
    g = Ground(s)
    g.malloc(other)
    pointer = g.malloc(size)
    held = s.call("bytes_held", g.allocator)
    g.free(pointer)
    again = g.malloc(size)
    g.expect_same(again, pointer)
    s.expect(s.call("bytes_held", g.allocator), held, "bytes held after a block was used again")


@requirement("allocator/hit-asks-the-device-for-nothing")
@forall(size=sizes, smaller=hs.integers(1, 512))
def test_hits_and_frees_take_no_segment(s: Session, size: int, smaller: int) -> None:
    g = Ground(s)
    pointer = g.malloc(size)
    g.expect_figures(segment=1, num_device_alloc=1)
    g.free(pointer)
    g.expect_figures(segment=1, num_device_alloc=1, num_device_free=0, reserved_bytes=segment_size(up(size, 512)))
    again = g.malloc(max(1, size - smaller) if size > MIB + 512 or size <= MIB else size)
    g.expect_same(again, pointer)
    g.expect_figures(segment=1, num_device_alloc=1, num_device_free=0, segment__all__allocated=1)


@requirement("allocator/miss-takes-one-segment")
def test_each_miss_takes_one_segment(s: Session) -> None:
    g = Ground(s)
    for count, size in enumerate((MIB, MIB + 1, 30 * MIB, 30 * MIB), 1):
        g.malloc(size)
        g.expect_figures(num_device_alloc=count, segment=count)
    g.malloc(MIB)
    g.expect_figures(num_device_alloc=4, segment=4)
    g.malloc(1)
    g.expect_figures(num_device_alloc=5, segment=5, segment__small_pool=2, segment__large_pool=3)


@requirement("allocator/small-and-large-requests-have-own-pools")
@forall(size=sizes)
def test_pool_of_a_size(s: Session, size: int) -> None:
    g = Ground(s)
    g.malloc(size)
    small = up(size, 512) <= MIB
    g.expect_figures(allocation__small_pool=int(small), allocation__large_pool=int(not small))
    kinds = [segment["segment_type"] for segment in g.snapshot()]
    g.expect(kinds, ["small" if small else "large"], "kind of the segment", "[g['segment_type'] for g in {}]")


@requirement("allocator/small-and-large-requests-have-own-pools")
def test_pools_do_not_serve_each_other(s: Session) -> None:
    g = Ground(s)
    g.free(g.malloc(MIB + 512))
    g.malloc(MIB)
    g.expect_blocks_of(small=[[(MIB, LIVE), (MIB, FREE)]], large=[[(20 * MIB, FREE)]])
    g.malloc(MIB + 1)
    g.expect_figures(segment__small_pool=1, segment__large_pool=1, allocated_bytes__large_pool=MIB + 512)


@requirement("allocator/segment-size-follows-the-request")
def test_segment_sizes(s: Session) -> None:
    g = Ground(s)
    held = 0
    for size in (1, MIB + 1, 20 * MIB + 1, 10 * MIB - 512, 10 * MIB):
        g.malloc(size)
        held += segment_size(up(size, 512)) if size != 10 * MIB - 512 else 0
        g.expect_figures(reserved_bytes=held)


@requirement("allocator/segment-size-follows-the-request")
@forall(size=sizes)
def test_segment_size(s: Session, size: int) -> None:
    g = Ground(s)
    g.malloc(size)
    totals = [segment["total_size"] for segment in g.snapshot()]
    g.expect(totals, [segment_size(up(size, 512))], "sizes of the segments", "[g['total_size'] for g in {}]")
    g.expect_figures(reserved_bytes=segment_size(up(size, 512)))


@requirement("allocator/best-fit-wins")
def test_smallest_that_fits(s: Session) -> None:
    g = Ground(s)
    held = [g.malloc(size) for size in (8192, 512, 2048, 512, 4096, 512)]
    g.free(held[0], held[2], held[4])
    g.expect_same(g.malloc(2000), held[2], "address of 2,000 bytes among free 8,192, 2,048, 4,096 bytes")
    g.expect_same(g.malloc(2049), held[4], "address of 2,049 bytes among free 8,192 and 4,096 bytes")
    g.expect_distance(g.malloc(512), held[4], 2560, "address of 512 bytes among free 8,192 and 1,536 bytes")


@requirement("allocator/best-fit-wins")
def test_lowest_address_among_equals(s: Session) -> None:
    g = Ground(s)
    held = [g.malloc(1024) for _ in range(8)]
    for k in (5, 1, 3):
        g.free(held[k])
    for k in (1, 3, 5):
        g.expect_same(g.malloc(1024), held[k], "address of 1,024 bytes: the lowest of those free")


@requirement("allocator/best-fit-wins")
@forall(sizes=hs.lists(hs.integers(1, 64), min_size=1, max_size=9), wanted=hs.integers(1, 64))
def test_best_fit_among_free_blocks(s: Session, sizes: list[int], wanted: int) -> None:
    g = Ground(s)
    held = [(g.malloc(512 * n), g.malloc(512))[0] for n in sizes]
    order = sorted(range(len(sizes)), key=lambda k: -int(held[k]))
    for k in order:
        g.free(held[k])
    fitting = [(n, int(p), p) for n, p in zip(sizes, held, strict=True) if n >= wanted]
    got = g.malloc(512 * wanted)
    if fitting:
        g.expect_same(got, min(fitting)[2], "address of the best fit")
    else:
        g.expect_distance(got, held[0], 512 * (sum(sizes) + len(sizes)), "address behind all blocks")


@requirement("allocator/best-fit-wins")
@forall(code=programs(), weight=0.5)
def test_addresses_of_programs(s: Session, code: bytes) -> None:
    Follower(s).run(code, BASIC, lambda: None)


@requirement("allocator/best-fit-wins", needs=("alloc.streams",))
@forall(code=programs(), weight=0.5)
def test_addresses_of_programs_with_streams(s: Session, code: bytes) -> None:
    Follower(s, streams=2).run(code, STREAMS, lambda: None)


@requirement("allocator/best-fit-wins", needs=("alloc.streams", "alloc.faults"), slow=True)
@forall(weight=0.02, seed=hs.integers(0, 10**6), memory=hs.sampled_from((200, 2000)))
def test_addresses_of_long_programs(s: Session, seed: int, memory: int) -> None:
    follower = Follower(s, memory=memory * MIB, streams=2)
    follower.run(Random(seed).randbytes(3 * 400), EVERYTHING, lambda: None)
    follower.expect_blocks()


@requirement("allocator/small-remainder-is-split-off")
def test_whole_small_block_or_not(s: Session) -> None:
    g = Ground(s)
    first, _ = g.malloc(2048), g.malloc(TWO - 2048 - 1024 * KIB)
    g.free(first)
    again = g.malloc(1537)
    g.expect_figures(allocated_bytes=TWO - MIB)
    g.free(again)
    g.malloc(1536)
    g.expect_figures(allocated_bytes=TWO - MIB - 512)
    g.expect_blocks([(1536, LIVE), (512, FREE), (MIB - 2048, LIVE), (MIB, FREE)])


@requirement("allocator/small-remainder-is-split-off")
@forall(held=hs.integers(2, 2047), wanted=hs.integers(1, 2047))
def test_small_splits(s: Session, held: int, wanted: int) -> None:
    g = Ground(s)
    wanted = min(wanted, held)
    first = g.malloc(512 * held)
    g.malloc(512)
    g.free(first)
    g.malloc(512 * wanted)
    rest = [(512 * (held - wanted), FREE)] if wanted < held else []
    tail = TWO - 512 * (held + 1)
    g.expect_blocks([(512 * wanted, LIVE), *rest, (512, LIVE), (tail, FREE)])


@requirement("allocator/large-remainder-is-split-off-above-1-mib")
def test_large_splits_around_1_mib(s: Session) -> None:
    for size, blocks in (
        (19 * MIB, [(20 * MIB, LIVE)]),
        (19 * MIB - 512, [(19 * MIB - 512, LIVE), (MIB + 512, FREE)]),
        (19 * MIB + 512, [(20 * MIB, LIVE)]),
    ):
        g = Ground(s)
        g.free(g.malloc(20 * MIB))
        g.malloc(size)
        g.expect_blocks(blocks)


@requirement("allocator/large-remainder-is-split-off-above-1-mib")
@forall(held=hs.integers(2, 60), extra=hs.integers(0, 3), sign=hs.sampled_from((-512, 0, 512)))
def test_large_splits(s: Session, held: int, extra: int, sign: int) -> None:
    g = Ground(s)
    total = segment_size(max(MIB + 512, held * MIB))
    size = total - extra * MIB + sign
    if not MIB < size <= total:
        return
    g.free(g.malloc(max(MIB + 512, held * MIB)))
    g.malloc(size)
    rest = total - size
    g.expect_blocks([(size, LIVE), (rest, FREE)] if rest > MIB else [(total, LIVE)])


@requirement("allocator/low-end-is-handed-out")
@forall(counts=hs.lists(hs.integers(1, 200), min_size=1, max_size=8))
def test_requests_lie_behind_each_other(s: Session, counts: list[int]) -> None:
    g = Ground(s)
    first, place = None, 0
    for n in counts:
        pointer = g.malloc(512 * n)
        first = first or pointer
        g.expect_distance(pointer, first, place, "distance from the start of the segment")
        place += 512 * n


@requirement("allocator/low-end-is-handed-out")
@forall(code=programs(), weight=0.5)
def test_blocks_of_programs(s: Session, code: bytes) -> None:
    follower = Follower(s, Rules())
    follower.run(code, BASIC, follower.expect_blocks)
