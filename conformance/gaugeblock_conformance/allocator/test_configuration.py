"""What a configuration changes, and which texts are no configuration."""

from __future__ import annotations

from hypothesis import strategies as hs

from ..backend_allocator import Machine
from ..forall import forall
from ..requirement import requirement
from ..session import Session
from .ground import Ground
from .programs import BASIC, FULL, Follower, programs
from .rules import MIB, Rules, up
from .state import ALLOCATED, INACTIVE

TWO = 2 * MIB
LIMITED = "max_split_size_mb:40"

GOOD = (
    "", " ", "max_split_size_mb:40", "max_split_size_mb:40,", " max_split_size_mb : 40 , ",
    "max_split_size_mb:40,garbage_collection_threshold:0.5", "roundup_power2_divisions:4",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "roundup_power2_divisions: [ 256:1, >:8 ], max_split_size_mb:64",
    "max_non_split_rounding_mb:30,max_split_size_mb:64",
)  # fmt: skip
BAD = (
    "max_split_size:40", "max_split_size_mb", "max_split_size_mb:", "max_split_size_mb=40", "max_split_size_mb:many",
    "max_split_size_mb:10", "garbage_collection_threshold:1.5", "garbage_collection_threshold:0.0",
    "garbage_collection_threshold:half", "roundup_power2_divisions:3", "roundup_power2_divisions:[3:4]",
    "roundup_power2_divisions:[256:3,>:8]", "max_split_size_mb:40 garbage_collection_threshold:0.5",
    "no_such_key:1", ":", "40",
)  # fmt: skip


@requirement("allocator/configuration-is-a-list-of-pairs")
@forall(config=hs.sampled_from(GOOD))
def test_good_configurations(s: Session, config: str) -> None:
    g = Ground(s, Machine(config=config))
    g.malloc(512)
    g.expect_figures(allocation=1, allocated_bytes=512, reserved_bytes=TWO)


@requirement("allocator/configuration-is-a-list-of-pairs")
def test_blanks_and_a_last_comma(s: Session) -> None:
    for config in ("max_split_size_mb:40", " max_split_size_mb : 40 , "):
        g = Ground(s, Machine(config=config))
        g.free(g.malloc(50 * MIB))
        g.malloc(3 * MIB)
        g.expect_figures(reserved_bytes=70 * MIB)


@requirement("allocator/bad-configuration-is-refused")
def test_key_value_range_and_sign(s: Session) -> None:
    for config in ("no_such_key:1", "max_split_size_mb:many", "garbage_collection_threshold:1.5", "max_split_size_mb"):
        s.expect_raises((RuntimeError, ValueError), "allocator", Machine(config=config))


@requirement("allocator/bad-configuration-is-refused")
@forall(config=hs.sampled_from(BAD))
def test_bad_configurations(s: Session, config: str) -> None:
    s.expect_raises((RuntimeError, ValueError), "allocator", Machine(config=config))
    Ground(s).malloc(512)


@requirement("allocator/bad-configuration-is-refused", needs=("alloc.expandable",))
@forall(value=hs.sampled_from(("true", "false", "1", "yes", "")))
def test_bad_truth_values(s: Session, value: str) -> None:
    s.expect_raises((RuntimeError, ValueError), "allocator", Machine(config=f"expandable_segments:{value}"))
    Ground(s).malloc(512)


@requirement("allocator/max-split-size-keeps-large-blocks-whole")
def test_forty_mib(s: Session) -> None:
    g = Ground(s, Machine(config=LIMITED))
    a = g.malloc(60 * MIB)
    g.free(a)
    b = g.malloc(30 * MIB)
    g.expect_other(b, a, "memory outside of a block that may not be split")
    g.free(b)
    g.expect_same(g.malloc(50 * MIB), a)
    g.expect_figures(allocated_bytes=60 * MIB, inactive_split=0, oversize_allocations=1, oversize_segments=1)
    g.malloc(10 * MIB)
    g.expect_figures(allocated_bytes=70 * MIB, inactive_split_bytes=20 * MIB)


@requirement("allocator/max-split-size-keeps-large-blocks-whole")
def test_exactly_forty_mib(s: Session) -> None:
    g = Ground(s, Machine(config=LIMITED))
    a = g.malloc(50 * MIB)
    g.free(a)
    g.expect_same(g.malloc(40 * MIB), a)
    g.expect_blocks([(50 * MIB, ALLOCATED)])


@requirement("allocator/max-split-size-keeps-large-blocks-whole")
@forall(code=programs(), limit=hs.sampled_from((20, 21, 25, 39, 64)))
def test_programs_with_a_limit(s: Session, code: bytes, limit: int) -> None:
    follower = Follower(s, Rules(max_split=limit * MIB))
    follower.run(code, BASIC, follower.expect_blocks)


@requirement("allocator/rounding-of-unsplit-blocks-is-limited")
def test_twenty_mib_more(s: Session) -> None:
    g = Ground(s, Machine(config=LIMITED))
    a = g.malloc(64 * MIB)
    g.free(a)
    other = g.malloc(44 * MIB)
    g.expect_other(other, a, "memory outside of a block that is 20 MiB too large")
    g.expect_same(g.malloc(44 * MIB + 512), a, "address of a block that is less than 20 MiB too large")
    g.expect_figures(reserved_bytes=108 * MIB)


@requirement("allocator/rounding-of-unsplit-blocks-is-limited")
@forall(limit=hs.sampled_from((20, 24, 30, 64)), size=hs.integers(40, 120), wanted=hs.integers(40, 120))
def test_limits_of_rounding(s: Session, limit: int, size: int, wanted: int) -> None:
    g = Ground(s, Machine(config=f"{LIMITED},max_non_split_rounding_mb:{limit}"))
    held = up(size * MIB, TWO)
    g.free(g.malloc(size * MIB))
    g.malloc(wanted * MIB)
    served = wanted * MIB <= held < (wanted + limit) * MIB
    g.expect_figures(reserved_bytes=held if served else held + up(wanted * MIB, TWO))


@requirement("allocator/sizes-round-to-divisions-of-powers-of-two")
def test_four_divisions(s: Session) -> None:
    g = Ground(s, Machine(config="roundup_power2_divisions:4"))
    total = 0
    for size, rounded in (
        (1, 512), (1200, 1536), (2048, 2048), (2049, 2560), (2560, 2560), (4097, 5120), (65537, 81920),
        (3 * MIB + 1, 7 * MIB // 2), (4 * MIB, 4 * MIB),
    ):  # fmt: skip
        g.malloc(size)
        total += rounded
        g.expect_figures(allocated_bytes=total)


@requirement("allocator/sizes-round-to-divisions-of-powers-of-two")
@forall(power=hs.integers(1, 6), size=hs.integers(1, 9 * MIB))
def test_divisions(s: Session, power: int, size: int) -> None:
    steps = 2**power
    g = Ground(s, Machine(config=f"roundup_power2_divisions:{steps}"))
    g.malloc(size)
    grid = [low * (steps + k) // steps for low in (2**n for n in range(9, 25)) for k in range(steps)]
    want = min(n for n in grid if n >= size) if size > 512 * steps else up(size, 512)
    g.expect_figures(allocated_bytes=want)


@requirement("allocator/divisions-may-depend-on-the-size")
def test_list_of_divisions(s: Session) -> None:
    g = Ground(s, Machine(memory=2**40, config="roundup_power2_divisions:[128:8,256:16,512:1,2048:8,>:2]"))
    s.require("alloc.faults")
    total = 0
    for size, rounded in (
        (72 * MIB + 512, 80 * MIB), (65 * MIB, 72 * MIB), (129 * MIB, 144 * MIB), (257 * MIB, 272 * MIB),
        (514 * MIB, 514 * MIB), (1025 * MIB, 1026 * MIB), (2049 * MIB, 2304 * MIB), (4097 * MIB, 6144 * MIB),
        (3 * MIB + 1, 13 * MIB // 4),
    ):  # fmt: skip
        g.malloc(size)
        total += up(rounded, TWO) if rounded > 10 * MIB else rounded
        g.expect_figures(allocated_bytes=total)


def _whole_blocks(s: Session, sizes: list[int], threshold: float, memory: int) -> Ground:
    g = Ground(s, Machine(memory=memory * MIB, config=f"garbage_collection_threshold:{threshold}"))
    s.call("set_memory_fraction", g.allocator, 0.5)
    held = [g.malloc(size * MIB) for size in sizes]
    for pointer in held:
        g.free(pointer)
    return g


@requirement("allocator/garbage-is-collected-above-a-threshold")
def test_oldest_block_goes(s: Session) -> None:
    g = _whole_blocks(s, [20, 40], 0.5, 200)
    for _ in range(3):
        g.free(g.malloc(40 * MIB))
    g.expect_figures(num_device_free=0, reserved_bytes=60 * MIB)
    g.malloc(512)
    g.expect_figures(num_device_free=1, reserved_bytes=42 * MIB, num_alloc_retries=0)
    g.expect_blocks_of(large=[[(40 * MIB, INACTIVE)]])


@requirement("allocator/garbage-is-collected-above-a-threshold")
def test_use_without_a_fraction_is_use(s: Session) -> None:
    """The first block is used while nothing is collected, so that it is not the oldest when collection is on again."""
    g = _whole_blocks(s, [20, 40, 24], 0.5, 200)
    for size in (40, 24, 24, 24):
        g.free(g.malloc(size * MIB))
    s.call("set_memory_fraction", g.allocator, 1.0)
    g.free(g.malloc(20 * MIB))
    s.call("set_memory_fraction", g.allocator, 0.5)
    g.expect_figures(num_device_free=0, reserved_bytes=84 * MIB)
    g.malloc(512)
    g.expect_figures(num_device_free=1, reserved_bytes=46 * MIB, num_alloc_retries=0)
    g.expect_blocks_of(large=[[(20 * MIB, INACTIVE)], [(24 * MIB, INACTIVE)]])


@requirement("allocator/garbage-is-collected-above-a-threshold")
def test_nothing_goes_without_a_fraction(s: Session) -> None:
    g = Ground(s, Machine(memory=200 * MIB, config="garbage_collection_threshold:0.1"))
    g.free(g.malloc(100 * MIB))
    g.malloc(512)
    g.expect_figures(num_device_free=0, reserved_bytes=102 * MIB)


@requirement("allocator/garbage-is-collected-above-a-threshold")
@forall(code=programs(), threshold=hs.sampled_from((0.1, 0.3, 0.5, 0.9)), memory=hs.sampled_from((128, 256, 512)))
def test_programs_with_garbage(s: Session, code: bytes, threshold: float, memory: int) -> None:
    follower = Follower(s, Rules(threshold=threshold), memory=memory * MIB)
    s.call("set_memory_fraction", follower.ground.allocator, 0.5)
    follower.model.set_memory_fraction(0.5)
    follower.run(code, FULL, follower.expect_blocks)


@requirement("allocator/large-segments-may-have-another-size")
@forall(size=hs.sampled_from((20, 24, 32, 64)), code=programs())
def test_large_segments(s: Session, size: int, code: bytes) -> None:
    follower = Follower(s, Rules(large_segment=size * MIB))
    follower.run(code, BASIC, follower.expect_blocks)


@requirement("allocator/large-segments-may-have-another-size")
def test_thirty_two_mib(s: Session) -> None:
    g = Ground(s, Machine(config="large_segment_size_mb:32"))
    g.malloc(3 * MIB)
    g.expect_blocks([(3 * MIB, ALLOCATED), (29 * MIB, INACTIVE)])
    g.malloc(40 * MIB)
    g.malloc(512)
    g.expect_figures(reserved_bytes=32 * MIB + 40 * MIB + TWO)
